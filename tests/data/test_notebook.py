"""The example notebook: its cells run in their order, and their last values show themselves."""

import ast
import json
from typing import Any

import pytest

from tests.shared import ROOT

NOTEBOOK = ROOT / "docs" / "using" / "datasets.ipynb"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last expression is what is shown."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - a cell of ours
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307 - the same


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan and the difference are tables, the bad row has an error, and the frame is what a batch gives."""
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    shown = [run_cell("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    _, plan, difference, rows, same = shown
    assert "keeps the Skerrow Light" in plan._repr_html_()
    assert "<table>" in difference._repr_html_()
    assert [(row["id"], row["error"] is None) for row in rows] == [("ferry", True), ("reef", True), ("bad", False)]
    assert same is True
