"""No test says how long something may take on the clock of a wall: it compares, counts, or has a clock of its own."""

import ast
import re
from collections.abc import Iterator

from tests.shared import ROOT

WALL = re.compile(r"\b(?:monotonic|perf_counter)(?:_ns)?\(\)|\btime\.time\(\)")
DEADLINES = frozenset({"until", "end", "LONG", "OTHER_SECONDS"})
"""When who waits for something else gives up, minutes later; and a figure of `make endurance`, which has a machine of its own."""


def _bounds(tree: ast.AST) -> Iterator[ast.Assert]:
    """The assertions that a reading of the clock, or a difference of two, is below something."""
    nodes = list(ast.walk(tree))
    taken = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and WALL.search(ast.unparse(node.value))
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.op, ast.Sub)
    }
    for node in nodes:
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            left, [order, *_], [right, *_] = node.test.left, node.test.ops, node.test.comparators
            timed = WALL.search(ast.unparse(left)) or (isinstance(left, ast.Name) and left.id in taken)
            if timed and isinstance(order, (ast.Lt, ast.LtE)) and ast.unparse(right) not in DEADLINES:
                yield node


def test_no_test_asserts_the_clock_of_a_wall() -> None:
    """A busy machine is slow; its tests are green all the same."""
    texts = {path: path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")}
    clocked = {path: ast.parse(text) for path, text in texts.items() if WALL.search(text)}
    assert [f"{path}:{node.lineno}" for path, tree in clocked.items() for node in _bounds(tree)] == []
    assert (
        len([*_bounds(ast.parse("took = monotonic() - began\nassert took < 2\nassert time.time() - began <= 2"))]) == 2
    )
