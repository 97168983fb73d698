"""What takes long runs first, and each process is asked about its tests by where they stand."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.shared import ROOT
from tests.side_by_side import LONGEST, TOGETHER, LongestFirst, rewrite_share


class Node:
    """A process that runs tests; what it was sent."""

    shutting_down = False

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.sent: list[list[int]] = []

    def send_runtest_some(self, positions: list[int]) -> None:
        """Take work."""
        self.sent.append(positions)

    def shutdown(self) -> None:
        """Take no more."""
        self.shutting_down = True


@pytest.mark.parametrize("module", [*LONGEST, *TOGETHER])
def test_the_modules_are_there(module: str) -> None:
    """A module that was moved is named by its new place."""
    assert (ROOT / module).exists()


def test_longest_first_and_each_once(pytestconfig: pytest.Config) -> None:
    """Of two processes each gets one of the longest modules or folders; the rest follows, and every test is sent once."""
    modules = ("tests/a.py", LONGEST[1], "tests/b.py", f"{LONGEST[0]}/test_x.py", f"{LONGEST[0]}/test_y.py")
    names = [f"{module}::test_{n}" for module in modules for n in range(3)]
    fields: dict[str, Any] = {"tx": ["popen", "popen"], "maxprocesses": None, "px": [], "numprocesses": 2}
    config: Any = SimpleNamespace(
        getvalue=fields.__getitem__, option=SimpleNamespace(loadscopereorder=True, debug=False), hook=pytestconfig.hook
    )
    scheduler, nodes = LongestFirst(config), [Node(0), Node(1)]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, names)
    scheduler.schedule()
    assert [node.sent[0] for node in nodes] == [[9, 10, 11, 12, 13, 14], [3, 4, 5]]
    while any(scheduler.assigned_work.values()):
        for node in nodes:
            for position in [position for sent in node.sent for position in sent]:
                if names[position] in scheduler.assigned_work[node].get(scheduler._split_scope(names[position]), ()):
                    scheduler.mark_test_complete(node, position)
    assert sorted(position for node in nodes for sent in node.sent for position in sent) == list(range(15))
    assert scheduler.tests_finished
    assert all(node.shutting_down for node in nodes)


def test_each_rewrites_its_share(tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the modules below the folders that are tested, each of two processes rewrites every other one, and once."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name in ("test_a", "test_b", "test_c", "helper"):
        (tmp_path / f"{name}.py").write_text("def test_it():\n    assert True\n", "utf-8")
    config: Any = SimpleNamespace(
        args=[str(tmp_path), f"{tmp_path}/test_b.py::test_it"], stash=pytestconfig.stash, getini=pytestconfig.getini
    )
    kept: list[set[str]] = []
    for worker in ("gw0", "gw1", "gw1"):
        rewrite_share(config, {"workerid": worker, "workercount": 2})
        kept.append({path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")})
    assert kept == [{"test_a", "test_c"}, {"test_a", "test_b", "test_c"}, {"test_a", "test_b", "test_c"}]
