"""The document of a branched chat: copied, checked, and read."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.branch_tree import BranchTree, Stamp, shown
from innkeeper.content.json.values import ShapeError
from innkeeper.prompt.errors import FormatError, LimitError


def document(**changes: Any) -> dict[str, Any]:
    """Two roots; below the first a user's message with two answers, one of which only its ``pid`` names."""
    nodes = {"r": {}, "q": None, "u": {"pid": "r"}, "a": {"pid": "u"}, "b": {"pid": "u"}}
    return {"roots": ["r", "q"], "nodes": nodes, "children": {"r": ["u"], "u": ["a", "lost"]}, **changes}


def nested(depth: int) -> Any:
    """A list in a list, so many times."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@dataclass(frozen=True)
class Wrong:
    """A document that does not hold together."""

    name: str
    doc: Any
    error: type[FormatError]
    path: str | None = None


WRONG = [
    Wrong("none", None, ShapeError),
    Wrong("list", [], ShapeError),
    Wrong("nodes", document(nodes=[1]), ShapeError, "nodes"),
    Wrong("node", document(nodes={"r": 1}), ShapeError, "nodes.r"),
    Wrong("pid", document(nodes={"r": {"pid": 1}}), ShapeError, "nodes.r.pid"),
    Wrong("children", document(children={"r": "u"}), ShapeError, "children.r"),
    Wrong("child", document(children={"r": ["u", 1]}), ShapeError, "children.r[1]"),
    Wrong("path", document(active_path=[None]), ShapeError, "active_path[0]"),
    Wrong("circle", document(nodes={"a": {"pid": "b"}, "b": {"pid": "a"}}), ShapeError, "nodes.a.pid"),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_what_does_not_hold_together_is_refused(wrong: Wrong) -> None:
    """A wrong document raises where it is read, at the path of what is wrong."""
    with pytest.raises(wrong.error) as info:
        BranchTree.of(wrong.doc)
    assert (info.value.where.path if info.value.where else None) == wrong.path


def test_a_document_that_is_too_deep_is_refused() -> None:
    """Beyond the limit of nesting a document raises `LimitError`."""
    with pytest.raises(LimitError):
        BranchTree.of({"nodes": {"r": {"content": nested(100_000)}}})


@pytest.mark.parametrize(
    ("active", "path"),
    [
        ([], ["r"]),
        (["r", "u", "b"], ["r", "u", "b"]),
        (["r", "a"], ["r"]),
        (["q", "u"], ["q"]),
        (["gone", "u"], ["r"]),
        (["r", "u", "lost"], ["r", "u"]),
    ],
)
def test_the_path_as_far_as_it_holds_together(active: list[str], path: list[str]) -> None:
    """Each node of the path is a child of the one before; the path ends where that is not so."""
    assert BranchTree.of(document(active_path=active)).path() == path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roots": []}, "no valid root"),
        ({"active_path": ["u"]}, "not in roots"),
        ({"children": {"r": ["r"]}, "active_path": ["r", "r"]}, "comes to r twice"),
    ],
    ids=["no root", "not a root", "twice"],
)
def test_a_path_without_a_beginning(changes: dict[str, Any], message: str) -> None:
    """No root, a path that begins elsewhere, or one that comes back raises `ShapeError`."""
    with pytest.raises(ShapeError, match=message):
        BranchTree.of(document(**changes)).path()


def test_levels_count_branches() -> None:
    """Each level says the how-manyth of how many it is: listed children first, then those known by ``pid`` alone."""
    tree = BranchTree.of(document(active_path=["r", "u", "b"]))
    assert tree.levels() == [
        {"depth": 1, "node_id": "r", "j": 1, "n": 2},
        {"depth": 2, "node_id": "u", "j": 1, "n": 1},
        {"depth": 3, "node_id": "b", "j": 2, "n": 2},
    ]
    assert tree.state() == {"active_path": ["r", "u", "b"], "latest": tree.levels()[-1]}


def test_unknown_nodes_are_named() -> None:
    """A node that does not exist raises `ShapeError` with the words that were asked for."""
    with pytest.raises(ShapeError, match="Nothing there: 7"):
        BranchTree.of(document()).node(7, "Nothing there")
    assert shown(10**5000) == "int"


def test_removing_takes_what_is_below() -> None:
    """A node goes with all its listed descendants, and a root also from the roots unless merges are lossy."""
    tree = BranchTree.of(document())
    assert tree.remove("r") == {"r", "u", "a", "lost"}
    assert (list(tree.nodes), tree.children, tree.roots) == (["q", "b"], {}, ["q"])
    lossy = BranchTree.of(document())
    lossy.lossy = True
    lossy.remove("r")
    assert lossy.roots == ["r", "q"]


def test_a_stamp_has_its_zone_and_free_ids() -> None:
    """The moment is written for +08:00 to the second; an id that is taken is counted on."""
    stamp = Stamp(datetime(2024, 5, 17, 13, 45, 30, 250_000, tzinfo=UTC))
    assert stamp.text == "2024-05-17T21:45:30+08:00"
    first = stamp.node_id("n", {})
    assert first == "n1715953530250"
    assert stamp.node_id("n", {first: 1}) == "n1715953530251"


NAMES = st.sampled_from("abcd")


@given(
    st.dictionaries(NAMES, st.fixed_dictionaries({}, optional={"pid": NAMES})),
    st.dictionaries(NAMES, st.lists(NAMES, max_size=3)),
    st.lists(NAMES, max_size=4),
    NAMES,
)
def test_the_document_stays_as_it_was(nodes: Any, children: Any, path: list[str], parent: str) -> None:
    """Adding and removing happens in a copy, and what was added is a child of its parent."""
    doc = {"nodes": nodes, "children": children, "roots": ["a"], "active_path": path}
    before = copy.deepcopy(doc)
    try:
        tree = BranchTree.of(doc)
    except ShapeError:
        return
    tree.add("new", parent, "user", "Hi")
    assert tree.is_child("new", parent)
    assert tree.children[parent].count("new") == 1
    tree.remove(parent)
    assert "new" not in tree.nodes
    tree.written()
    assert doc == before
