"""Branches: looking at the document of a branched chat, and changing it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.taverns.smart import (
    EDITS,
    BranchTree,
    ShapeError,
    SmartOptions,
    append_message,
    branch_table,
    delete_branch,
    get_latest_message,
    openai_messages,
    retry_branch,
    retry_user_message,
    switch_branch,
    truncate_after,
    update_message,
)
from tests.taverns.smart.json_values import VALUES, objects

NOW = SmartOptions.of(now=datetime(2024, 5, 17, 13, 45, 30, tzinfo=UTC))
STAMP = "2024-05-17T21:45:30+08:00"
ORIGINAL = SmartOptions.of("smarttavern")


def tree(**changes: Any) -> dict[str, Any]:
    """A chat: two greetings, two first messages below one of them, answers, and a child only its ``pid`` names."""
    nodes = {
        "r": {"pid": None, "role": "system", "content": "R"},
        "q": {"pid": None, "role": "assistant", "content": "Q"},
        "u1": {"pid": "r", "role": "user", "content": "U1"},
        "u2": {"pid": "r", "role": "user", "content": "U2"},
        "a1": {"pid": "u1", "role": "assistant", "content": "A1"},
        "a2": {"pid": "u1", "role": "assistant", "content": "A2"},
        "z": {"pid": "a1", "role": "user", "content": "Z"},
    }
    children = {"r": ["u1", "u2"], "u1": ["a1", "a2"]}
    return {"roots": ["r", "q"], "nodes": nodes, "children": children, "active_path": ["r", "u1", "a2"], **changes}


def contents(answer: dict[str, Any]) -> list[str]:
    """What the messages say."""
    return [message["content"] for message in answer["messages"]]


# --- looking -----------------------------------------------------------------------------------------------------------


def test_messages_follow_the_active_path() -> None:
    """Roles and contents from the root on."""
    assert contents(openai_messages(tree())) == ["R", "U1", "A2"]
    assert contents(openai_messages(tree(active_path=["r", "u1", "a1", "z"]))) == ["R", "U1", "A1", "Z"]
    assert openai_messages(tree(active_path=["r", "u2", "a2"]))["path"] == ["r", "u2"]
    assert openai_messages(tree(active_path=["nowhere", "u1"]))["path"] == ["r"]


def test_contents_and_roles_that_are_missing() -> None:
    """Nothing is an empty text and a system message; a number is its text; other roles are no messages."""
    nodes = {"r": None, "a": {"pid": "r", "content": 5, "role": "user"}, "b": {"pid": "a", "role": "thinking"}}
    found = openai_messages({"roots": ["r"], "nodes": nodes, "active_path": ["r", "a", "b"]})
    assert found["messages"] == [{"role": "system", "content": ""}, {"role": "user", "content": "5"}]
    assert found["path"] == ["r", "a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [("n_Retry_1", " ", False), ("n_append_1", "", False), ("n_append_1", "x", True), ("plain", "", True)],
)
def test_a_message_that_waits_is_not_shown(name: str, content: str, shown: bool) -> None:
    """An assistant's empty last message with such an id is left out of the messages, not of the path."""
    doc = tree(active_path=["r", name])
    doc["nodes"][name] = {"pid": "r", "role": "assistant", "content": content}
    found = openai_messages(doc)
    assert found["path"] == ["r", name]
    assert (len(found["messages"]) == 2) is shown


def test_the_table_counts_branches() -> None:
    """Each level has its place among those beside it, listed or not."""
    assert branch_table(tree(active_path=["q"]))["levels"] == [{"depth": 1, "node_id": "q", "j": 2, "n": 2}]
    assert branch_table(tree())["latest"] == {"depth": 3, "j": 2, "n": 2, "node_id": "a2"}
    doc = tree(active_path=["r", "u1", "n"])
    doc["nodes"]["n"] = {"pid": "u1"}
    assert branch_table(doc)["latest"] == {"depth": 3, "j": 3, "n": 3, "node_id": "n"}
    assert branch_table(tree(roots=[]))["levels"][0] == {"depth": 1, "node_id": "r", "j": None, "n": 0}


def test_the_latest_message() -> None:
    """The end of the active path."""
    assert get_latest_message(tree()) == {"node_id": "a2", "role": "assistant", "content": "A2", "depth": 3}


# --- changing ----------------------------------------------------------------------------------------------------------


def test_update() -> None:
    """A node's content and moments; the other modes show less."""
    found = update_message("a2", "new", tree(), options=NOW)
    node = {"pid": "u1", "role": "assistant", "content": "new", "node_updated_at": STAMP}
    assert (found["nodes"]["a2"], found["updated_at"]) == (node, STAMP)
    shown = update_message("a2", "new", tree(), "NODE", options=NOW)
    assert shown == {"success": True, "node": {**node, "node_id": "a2"}, "updated_at": STAMP}
    short = update_message("a2", "new", tree(), "none", options=NOW)
    assert short == {"success": True, "node_id": "a2", "node_updated_at": STAMP, "updated_at": STAMP}
    assert update_message("a2", "new", tree(), "path", options=NOW) == found


def test_truncate() -> None:
    """The node and what is listed below it go; the path ends before them."""
    found = truncate_after("u1", tree(), options=NOW)
    assert list(found["nodes"]) == ["r", "q", "u2", "z"]
    assert (found["children"], found["active_path"], found["updated_at"]) == ({"r": ["u2"]}, ["r"], STAMP)
    assert truncate_after("u2", tree())["active_path"] == ["r", "u1", "a2"]
    circle = tree(children={"r": ["u1"], "u1": ["a1", "u1"], "a1": ["u1"]})
    assert "a1" not in truncate_after("u1", circle)["nodes"]


def test_removing_a_root() -> None:
    """A root that is gone is no root any more; the original goes on naming it."""
    assert truncate_after("q", tree())["roots"] == ["r"]
    assert truncate_after("q", tree(), options=ORIGINAL)["roots"] == ["r", "q"]
    assert delete_branch("r", tree(), "path")["active_path"] == ["q"]
    with pytest.raises(ShapeError):
        delete_branch("r", tree(), options=ORIGINAL)
    with pytest.raises(ShapeError, match="no valid root"):
        delete_branch("r", {"roots": ["r"], "nodes": {"r": {}}, "active_path": ["r"]})


def test_append() -> None:
    """A new message, an empty one below it, both on the active path when it ended above them."""
    found = append_message("n", "a2", "user", "hey", tree(), options=NOW)
    waiting = "n_append_ass1715953530000"
    assert found["active_path"] == ["r", "u1", "a2", "n", waiting]
    assert found["children"]["n"] == [waiting]
    assert found["latest"] == {"depth": 5, "node_id": waiting, "j": 1, "n": 1}
    elsewhere = append_message("n", "u2", "user", "hey", tree(), options=NOW)
    assert (elsewhere["active_path"], elsewhere["children"]["u2"]) == (["r", "u1", "a2"], ["n"])


def test_ids_are_not_taken_twice() -> None:
    """Where a moment's id is taken, the next one is used."""
    once = append_message("n", "a2", "user", "hey", tree(), options=NOW)
    twice = append_message("m", "n", "user", "hey", once, options=NOW)
    assert twice["children"]["m"] == ["n_append_ass1715953530001"]


def test_a_listed_child_that_was_missing_is_listed_once() -> None:
    """A new node that its parent already lists stays one child."""
    found = append_message("n", "u2", "user", "x", tree(children={"u2": ["n"]}))
    assert found["children"]["u2"] == ["n"]


def test_append_modes() -> None:
    """The modes show parts of the same change."""
    whole = append_message("n", "a2", "user", "hey", tree(), options=NOW)
    state = {key: whole[key] for key in ("active_path", "latest", "updated_at")}
    waiting = {
        "node_id": whole["latest"]["node_id"], "node_updated_at": STAMP, "placeholder_updated_at": STAMP, "success": True
    }  # fmt: skip
    node = {"node_id": "n", "pid": "a2", "role": "user", "content": "hey", "node_updated_at": STAMP}
    shown = {
        mode: append_message("n", "a2", "user", "hey", tree(), mode, options=NOW) for mode in ("node", "path", "none")
    }
    assert shown["node"] == {"success": True, "node": node, **state}
    assert shown["path"] == shown["none"] == {**waiting, **state}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a2", ["r", "u1", "a1"]),
        ("a1", ["r", "u1", "a2"]),
        ("u1", ["r", "u2"]),
        ("u2", ["r", "u1", "a2"]),
        ("q", ["r", "u1", "a2"]),
    ],
)
def test_delete(name: str, path: list[str]) -> None:
    """The path goes to a branch that is left, or stays."""
    found = delete_branch(name, tree(), options=NOW)
    assert (found["active_path"], found["success"]) == (path, True)
    assert name not in found["nodes"]
    shown = delete_branch(name, tree(), "path", options=NOW)
    assert shown == {
        "success": True, "active_path": path, "latest": found["latest"], "switched_to": path[-1], "updated_at": STAMP
    }  # fmt: skip
    assert delete_branch(name, tree(), "none", options=NOW) == {**shown, "node_id": name}


def test_delete_without_another_branch() -> None:
    """The path ends before it."""
    assert delete_branch("a2", tree(children={"u1": ["a2"]}))["active_path"] == ["r", "u1"]


def test_retry() -> None:
    """A new branch takes the old one's place; a node off the path only where the path ends above it."""
    found = retry_branch("n", "u1", "user", "again", tree(), options=NOW)
    assert (found["active_path"], found["latest"]["j"]) == (["r", "n"], 3)
    assert retry_branch("n", "z", "user", "x", tree(active_path=["r", "u1", "a1"]))["active_path"][-2:] == ["a1", "n"]
    assert retry_branch("n", "z", "user", "x", tree())["active_path"] == ["r", "u1", "a2"]
    shown = retry_branch("n", "u1", "user", "again", tree(), "path", options=NOW)
    assert shown.pop("new_node_id") == "n"
    assert {**shown, "node_id": "n"} == retry_branch("n", "u1", "user", "again", tree(), "none", options=NOW)


def test_retry_a_users_message() -> None:
    """The answer on the path, else the first below; without one an empty one is made."""
    assert retry_user_message("u1", tree()) == {
        "action": "retry_assistant", "assistant_node_id": "a2", "user_node_id": "u1"
    }  # fmt: skip
    assert retry_user_message("u1", tree(active_path=["r", "u1"]))["assistant_node_id"] == "a1"
    made = retry_user_message("z", tree(active_path=["r", "u1", "a1", "z"]), options=NOW)
    assert (made["action"], made["assistant_node_id"]) == ("create_assistant", "n_retry_ass1715953530000")
    assert made["active_path"][-1] == made["doc"]["active_path"][-1] == made["assistant_node_id"]
    assert retry_user_message("u2", tree(), options=NOW)["active_path"] == ["r", "u1", "a2"]


def test_switch() -> None:
    """Another branch at the end of the path; another root is a path of its own."""
    found = switch_branch(1, tree(), options=NOW)
    assert found["doc"]["active_path"] == found["active_path"] == ["r", "u1", "a1"]
    assert found["node"] == {"node_id": "a1", "j": 1, "n": 2}
    shown = switch_branch(1, tree(), "node", options=NOW)
    assert shown == {
        "success": True, "node": found["node"], "active_path": ["r", "u1", "a1"], "latest": found["latest"],
        "updated_at": STAMP,
    }  # fmt: skip
    assert switch_branch(1, tree(), "path", options=NOW) == switch_branch(1, tree(), "none", options=NOW)
    assert switch_branch(2, tree(active_path=["r"]))["active_path"] == ["q"]


# --- what does not hold together ---------------------------------------------------------------------------------------


@dataclass
class Wrong:
    name: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    words: str
    doc: Any = field(default_factory=tree)
    error: type[InnkeeperError] = ShapeError


WRONG = [
    Wrong("no document", openai_messages, (), "Either 'doc' or 'file' must be provided", None),
    Wrong("no object", openai_messages, (), "doc must be a dictionary", []),
    Wrong("no root", openai_messages, (), "invalid doc: no valid root found in roots or active_path", {}),
    Wrong("root that is none", branch_table, (), "active_path root 'u1' not in roots array", tree(active_path=["u1"])),
    Wrong(
        "path in a circle",
        openai_messages,
        (),
        "active_path comes to r twice",
        tree(active_path=["r", "u1", "r"], children={"u1": ["r"]}),
    ),
    Wrong(
        "parents in a circle",
        openai_messages,
        (),
        "the parents of u1 form a circle",
        tree(nodes={"r": {}, "u1": {"pid": "u2"}, "u2": {"pid": "u1"}}),
    ),
    Wrong("own parent", openai_messages, (), "the parents of r form a circle", tree(nodes={"r": {"pid": "r"}})),
    Wrong("nodes of another type", openai_messages, (), "expected an object", tree(nodes=[1]), ShapeError),
    Wrong("node of another type", openai_messages, (), "expected an object", tree(nodes={"r": "R"}), ShapeError),
    Wrong(
        "parent of another type",
        openai_messages,
        (),
        "expected a node's id or null",
        tree(nodes={"r": {"pid": []}}),
        ShapeError,
    ),
    Wrong(
        "path of another type", openai_messages, (), "expected an array of node ids", tree(active_path="r"), ShapeError
    ),
    Wrong("id of another type", openai_messages, (), "expected a node's id", tree(roots=[{}]), ShapeError),
    Wrong("children of another type", openai_messages, (), "expected an array", tree(children={"r": 5}), ShapeError),
    Wrong("update nothing", update_message, ("x", "y"), "Node not found: x"),
    Wrong("update an id of another type", update_message, ([], "y"), "Node not found: []"),
    Wrong("truncate nothing", truncate_after, ("x",), "Node not found: x"),
    Wrong("append twice", append_message, ("a2", "a2", "user", "x"), "Node ID already exists: a2"),
    Wrong("append to nothing", append_message, ("n", "x", "user", "x"), "Parent node not found: x"),
    Wrong("append another role", append_message, ("n", "a2", "tool", "x"), "Invalid role: tool"),
    Wrong(
        "append an id of another type", append_message, (5, "a2", "user", "x"), "expected a node's id", error=ShapeError
    ),
    Wrong("delete nothing", delete_branch, ("x",), "Node not found: x"),
    Wrong("retry as one that is there", retry_branch, ("a1", "a2", "user", "x"), "New node ID already exists: a1"),
    Wrong("retry nothing", retry_branch, ("n", "x", "user", "x"), "Retry node not found: x"),
    Wrong("retry as another role", retry_branch, ("n", "a2", "tool", "x"), "Invalid role: tool"),
    Wrong("retry a root", retry_branch, ("n", "r", "user", "x"), "Cannot retry root node"),
    Wrong(
        "retry below nothing",
        retry_branch,
        ("n", "o", "user", "x"),
        "Parent node not found: x",
        tree(nodes={"r": {}, "o": {"pid": "x"}}),
    ),
    Wrong("retry no user", retry_user_message, ("a1",), "Node a1 is not a user message"),
    Wrong("retry no node", retry_user_message, ("x",), "User node not found: x"),
    Wrong("switch to nothing", switch_branch, (0,), "Invalid target_j=0, must be between 1 and 2"),
    Wrong("switch too far", switch_branch, (3,), "Invalid target_j=3, must be between 1 and 2"),
    Wrong("switch to a text", switch_branch, ("1",), "expected a whole number", error=ShapeError),
    Wrong("append a role no text can hold", append_message, ("n", "a2", 10**5_000, "x"), "Invalid role: int"),
    Wrong("update an id no text can hold", update_message, (10**5_000, "x"), "Node not found: int"),
    Wrong("switch to a number no text can hold", switch_branch, (10**5_000,), "Invalid target_j=int"),
    Wrong("switch without a path", switch_branch, (1,), "active_path is empty", tree(active_path=[])),
    Wrong("switch from nothing", switch_branch, (1,), "Current node not found: x", tree(active_path=["x"])),
    Wrong(
        "switch the only root", switch_branch, (1,), "only one root node exists", tree(roots=["r"], active_path=["r"])
    ),
    Wrong(
        "switch to a root that is gone",
        switch_branch,
        (2,),
        "Target root node not found: x",
        tree(roots=["r", "x"], active_path=["r"]),
    ),
    Wrong(
        "switch to a child that is gone",
        switch_branch,
        (1,),
        "Target node not found: x",
        tree(children={"u1": ["x", "a2"]}),
    ),
    Wrong("switch without siblings", switch_branch, (1,), "No siblings found for parent: u1", tree(children={})),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_typed_errors(wrong: Wrong) -> None:
    """What does not hold together is an error with the original's words where it has some."""
    with pytest.raises(wrong.error) as caught:
        wrong.call(*wrong.arguments, wrong.doc)
    assert wrong.words in str(caught.value)


def test_branch_errors_are_value_errors() -> None:
    """Code written for the original catches them."""
    with pytest.raises(ValueError, match="Node not found"):
        update_message("x", "", tree())


def test_too_deep() -> None:
    """A document that contains itself is a typed error."""
    doc = tree()
    doc["extra"] = doc
    with pytest.raises(LimitError):
        openai_messages(doc)


def test_long_chats() -> None:
    """Ten thousand messages in a row, and as many side by side, are nothing special."""
    names = [f"n{number}" for number in range(10_000)]
    nodes = {name: {"pid": names[place - 1] if place else None} for place, name in enumerate(names)}
    assert branch_table({"roots": names[:1], "nodes": nodes, "active_path": names})["latest"]["depth"] == 10_000
    wide = {name: {"pid": "n0" if place else None} for place, name in enumerate(names)}
    found = branch_table({"roots": names[:1], "nodes": wide, "active_path": ["n0", "n9999"]})
    assert found["latest"] == {"depth": 2, "j": 9_999, "n": 9_999, "node_id": "n9999"}


# --- everywhere --------------------------------------------------------------------------------------------------------

ARGUMENTS: dict[str, dict[str, Any]] = {
    "update_message": {"node_id": "a2", "content": "x"},
    "truncate_after": {"node_id": "a2"},
    "append_message": {"node_id": "n", "pid": "a2", "role": "user", "content": "x"},
    "delete_branch": {"node_id": "a2"},
    "retry_branch": {"new_node_id": "n", "retry_node_id": "a2", "role": "user", "content": "x"},
    "retry_user_message": {"user_node_id": "u2"},
    "switch_branch": {"target_j": 1},
}


@pytest.mark.parametrize("name", EDITS)
def test_edits_keep_the_document(name: str) -> None:
    """Each change gives the whole document beside its answer, and the caller's stays as it was."""
    doc = tree()
    edit = EDITS[name](BranchTree.of(doc, NOW), **ARGUMENTS[name])
    assert doc == tree()
    assert edit.doc is not None
    assert edit.doc["updated_at"] == STAMP
    assert "latest" not in edit.doc
    assert edit.answer


def test_an_answer_that_changes_nothing_has_no_document() -> None:
    """Where an answer is there already, nothing is to be kept."""
    assert EDITS["retry_user_message"](BranchTree.of(tree()), user_node_id="u1").doc is None


IDS = st.sampled_from(["r", "u", "a", "b", ""])
NODES = st.dictionaries(IDS, st.one_of(objects(pid=st.one_of(st.none(), IDS), role=VALUES, content=VALUES), VALUES))
DOCS = objects(
    roots=st.lists(IDS, max_size=3),
    nodes=NODES,
    children=st.dictionaries(IDS, st.lists(IDS, max_size=3)),
    active_path=st.lists(IDS, max_size=4),
)


@given(st.one_of(DOCS, VALUES), IDS, IDS, st.sampled_from(["doc", "node", "path", "none"]))
def test_anything_goes_in(doc: Any, one: str, other: str, mode: str) -> None:
    """Whatever comes in, there is an answer or a typed error, and the caller's document stays."""
    before = copy.deepcopy(doc)
    calls: list[Callable[[], Any]] = [
        lambda: openai_messages(doc),
        lambda: branch_table(doc),
        lambda: get_latest_message(doc),
        lambda: update_message(one, "x", doc, mode),
        lambda: truncate_after(one, doc),
        lambda: append_message(one, other, "user", "x", doc, mode),
        lambda: delete_branch(one, doc, mode),
        lambda: retry_branch(one, other, "user", "x", doc, mode),
        lambda: retry_user_message(one, doc),
        lambda: switch_branch(2, doc, mode),
    ]
    for call in calls:
        with suppress(InnkeeperError):
            assert isinstance(call(), dict)
    assert doc == before
