"""The pages are short, and in short sentences of common words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import prose

LONG = "A sentence of words " + "and words " * 12 + "ends."


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("A short one. Another.", [], id="short"),
        pytest.param(LONG, [["29 words"]], id="long"),
        pytest.param(f"Short.\n- {LONG}\n- Short.", [["29 words"]], id="an item of a list"),
        pytest.param(f"| {LONG} |\n\n```text\n{LONG}\n```\n", [], id="tables and code"),
        pytest.param(f"<!-- x: begin -->\n\n{LONG}\n\n<!-- x: end -->", [], id="a part that a program writes"),
        pytest.param("`what is told` is what is told here.", [["what is told"]], id="an invented word, code apart"),
    ],
)
def test_faults(tmp_path: Path, text: str, faults: list[list[str]]) -> None:
    """Sentences of paragraphs and lists are measured, and nothing else."""
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    assert [one.faults for one in prose.sentences(page) if one.faults] == faults


def test_pages_stay_short(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither long sentences nor words of all pages grow beyond the bars."""
    monkeypatch.setattr(sys, "argv", ["prose.py", "--check"])
    assert prose.main() == 0, capsys.readouterr().out
