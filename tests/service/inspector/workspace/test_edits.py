"""Edits of plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.json import ABSENT
from innkeeper.content.json.document import Document
from innkeeper.content.json.text import encode_json
from innkeeper.prompt.errors import UsageError
from innkeeper.service.inspector.workspace.edits import (
    MAX_EDIT_DEPTH,
    differences,
    edited,
    existing,
    inserted,
    text_path,
)

TREE = {"a": {"b": [1, {"c": "x"}]}, "d": None}
"""What is edited."""

TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@dataclass(frozen=True)
class Case:
    """A change, and what becomes of the tree."""

    label: str
    path: tuple[Any, ...]
    value: Any
    after: Any


@pytest.mark.parametrize(
    "case",
    [
        Case("a text", ("a", "b", 1, "c"), "y", {"a": {"b": [1, {"c": "y"}]}, "d": None}),
        Case("a new key", ("e",), 2, {**TREE, "e": 2}),
        Case("one more item", ("a", "b", 2), 3, {"a": {"b": [1, {"c": "x"}, 3]}, "d": None}),
        Case("a key less", ("d",), ABSENT, {"a": TREE["a"]}),
        Case("an item less", ("a", "b", 0), ABSENT, {"a": {"b": [{"c": "x"}]}, "d": None}),
        Case("everything", (), [], []),
    ],
    ids=lambda case: case.label,
)
def test_a_change_is_at_its_place(case: Case) -> None:
    """Everything else is as it was, and the tree itself is not touched."""
    before = encode_json(TREE)
    assert edited(TREE, case.path, case.value) == case.after
    assert encode_json(TREE) == before


@pytest.mark.parametrize(
    "path",
    [("x", "y"), ("a", "b", 3), ("a", "b", -1), ("a", 0), ("d", "e"), ("a", "b", "c"), ("a",) * (MAX_EDIT_DEPTH + 1)],
)
def test_a_path_to_nowhere_is_refused(path: tuple[Any, ...]) -> None:
    """Nothing is made on the way."""
    with pytest.raises(UsageError):
        edited(TREE, path, 1)


def test_what_is_inserted_goes_before() -> None:
    """At the index after the last it is appended; elsewhere than in a list nothing is inserted."""
    assert inserted({"a": [1, 2]}, ("a", 1), 9) == {"a": [1, 9, 2]}
    assert inserted({"a": [1, 2]}, ("a", 2), 9) == {"a": [1, 2, 9]}
    for path in ((), ("a",), ("a", 3), ("b", 0)):
        with pytest.raises(UsageError):
            inserted({"a": [1, 2]}, path, 9)


@given(TREES, TREES)
def test_differences_make_the_one_of_the_other(before: Any, after: Any) -> None:
    """A document with them in it is the other one, its bytes included."""
    found = differences(before, after)
    assert encode_json(Document(before).replace(found).tree) == encode_json(after)
    written = Document(before, encode_json(before)).replace(found)
    assert encode_json(Document.parse(written.encode()).tree) == encode_json(after)


@given(TREES)
def test_a_copy_differs_in_nothing(tree: Any) -> None:
    """Equal trees have no differences, whether they are one or two."""
    assert differences(tree, Document.parse(encode_json(tree)).tree) == {}


def test_as_much_of_a_path_as_there_is() -> None:
    """A path that leads on where there is nothing ends before."""
    assert existing(TREE, ("a", "b", 1, "c")) == (("a", "b", 1, "c"), "x")
    assert existing(TREE, ("a", "b", 7, "c"))[0] == ("a", "b")
    assert existing(TREE, ("a", 0))[0] == ("a",)
    assert existing(None, ("a",))[0] == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [("", ()), ("data.tags[3]", ("data", "tags", 3)), ("entries[5].key[0]", ("entries", 5, "key", 0)), ("[2]", (2,))],
)
def test_paths_are_read_as_findings_write_them(text: str, path: tuple[Any, ...]) -> None:
    """Dots part keys, brackets hold indexes."""
    assert text_path(text) == path
