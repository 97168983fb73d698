"""The counts of `scripts/house.py` see what each is for, and nothing else; `make check` holds them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from scripts.house import MEASURES, Module, comment_share


@dataclass(frozen=True)
class Case:
    id: str
    measure: str
    text: str
    names: tuple[str, ...]
    path: str = "service/example.py"


CASES = (
    Case("twins", "class names", "class A: ...\nclass B:\n    class A: ...\n", ("A",)),
    Case("no twins", "class names", "class A: ...\nclass B: ...\n", ()),
    Case(
        "vague", "vague", "def f(found, more):\n    kept_one = more\n    self.told = 1\n", ("found", "kept_one", "told")
    ),
    Case("vague class", "vague", "class FoundRow: ...\n", ("FoundRow",)),
    Case("not vague", "vague", "def founder(replaced):\n    placement = founder.place\n", ()),
    Case("short", "one-use helpers that are c", "def _a(x):\n    '''Docs.'''\n    return x\n\n_a(1)\n", ("_a",)),
    Case("value", "one-use helpers that are v", "def _a(x):\n    return x\n\nT = {1: _a}\n", ("_a",)),
    Case("a value is not called", "one-use helpers that are c", "def _a(x):\n    return x\n\nT = {1: _a}\n", ()),
    Case("operation", "declarations", "class AOperation: ...\nclass B(AOperation): ...\n", ("AOperation",)),
    Case("protocol", "declarations", "class AOperation(Protocol[T]): ...\n", ()),
    Case("guard elsewhere", "guards", "class Guard: ...\n", (), "budget/example.py"),
    Case("stack", "stacks", "retried(call)\nretried(call)\n", ("retried",)),
    Case("used twice", "one-use helpers that are c", "def _a(x):\n    return x\n\n_a(_a(1))\n", ()),
    Case("long", "one-use helpers that are c", "def _a(x):\n    x\n    x\n    x\n    return x\n\n_a(1)\n", ()),
    Case("stream", "stream", "def f(x):\n    return f'data: {x}'\n", ("data:",)),
    Case("named stream", "stream", "X = b'event: %b\\ndata: %b'\n", ("data:",)),
    Case("fake stream", "stream", "X = 'data: '\n", (), "inference/fake/example.py"),
    Case("process", "modules that start", "import subprocess\nsubprocess.Popen(x)\nsubprocess.Popen(y)\n", ("Popen",)),
    Case("twin store", "twin stores", "class MemoryBox: ...\nclass DatabaseBox: ...\n", ("MemoryBox",)),
    Case("store", "twin stores", "class MemoryBox: ...\n", ()),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_measure_counts_what_it_is_for(case: Case) -> None:
    """Each hit of a small module is the expected one."""
    measure = next(one for one in MEASURES if one.name.startswith(case.measure))
    hits = [name for _, _, name in measure.hits([Module.parsed(case.path, case.text)])]
    assert len(hits) == len(case.names)
    assert all(expected in hit for expected, hit in zip(case.names, hits, strict=True))


def test_comments_are_counted_by_lines() -> None:
    """One line of four is a comment: a quarter."""
    text = "# why\nx = 1  # not counted\n\ny = '#'\n"
    assert comment_share([Module.parsed("a.py", text)]) == pytest.approx(25)
