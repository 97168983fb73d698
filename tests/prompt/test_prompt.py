"""The lowest floor as a whole."""

import ast
import re
from pathlib import Path

import pytest

import innkeeper.prompt

SOURCES = sorted(Path(innkeeper.prompt.__file__).parent.glob("**/*.py"))
ALLOWED = re.compile(r"innkeeper\.(prompt|version|lazy)(\.\w+)*")
MODULE = re.compile(r"innkeeper(\.\w+)+")


def _modules(tree: ast.AST) -> set[str]:
    """Every module that a source imports, type-only imports included, and every text that spells one."""
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.add("." * node.level + (node.module or ""))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            named.add(node.value)
    return named


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_lowest_floor_names_no_other(path: Path) -> None:
    """No module of ``prompt`` imports another package of ours, by an import, lazily, or by its name as text."""
    modules = _modules(ast.parse(path.read_text()))
    assert not [name for name in modules if name.partition(".")[0] == "innkeeper" and not ALLOWED.fullmatch(name)]
    assert not modules & {"importlib", "importlib.util"}
    assert not [name for name in modules if name.startswith(".")]
