"""Variables update: operations, strategies for lists, removed paths."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.taverns.smart import SmartOptions, apply_operation
from tests.taverns.smart.json_values import VALUES

BASE = {"a": {"x": 1, "l": [1, 2]}, "s": "t"}


@dataclass
class Case:
    name: str
    expected: Any
    overrides: Any
    operation: Any = "merge"
    options: Any = None
    base: Any = None


CASES = [
    Case("replace", {"b": 1}, {"b": 1}, "replace"),
    Case("replace by a value", {"value": "x"}, "x", "replace"),
    Case("replace by nothing", {}, None, "REPLACE"),
    Case("shallow", {"a": {"y": 1}, "s": "t"}, {"a": {"y": 1}}, "shallow"),
    Case("shallow, no object", BASE, [1], "shallow_merge"),
    Case("merge", {"a": {"x": 2, "l": [1, 2]}, "s": "t"}, {"a": {"x": 2}}),
    Case("merge, no object", BASE, 5),
    Case("merge under an unknown name", {"a": 1, "s": "t"}, {"a": 1}, "whatever"),
    Case("no base", {"a": 1}, {"a": 1}, base=[1]),
    Case("append", {"a": {"x": 1, "l": [1, 2, 2]}, "s": "t"}, {"a": {"l": [2]}}, "append"),
    Case("union", {"a": {"x": 1, "l": [1, 2, 3]}, "s": "t"}, {"a": {"l": [2, 3]}}, "union"),
    Case("append over a strategy", {"l": [1, 2]}, {"l": [2]}, "append", {"array_strategy": "prepend"}, {"l": [1]}),
    Case("prepend", {"a": {"x": 1, "l": [3, 1, 2]}, "s": "t"}, {"a": {"l": [3]}}, options={"array_strategy": "PREPEND"}),
    Case("unknown strategy", {"a": {"x": 1, "l": [3]}, "s": "t"}, {"a": {"l": [3]}}, options={"array_strategy": "?"}),
    Case("true is not one", {"l": [1, True]}, {"l": [True]}, "union", base={"l": [1]}),
    Case("remove", {"a": {"l": [2]}}, {}, "remove", {"remove_paths": ["a.x", "s", "a.l[0]"]}),
    Case("remove what is not there", BASE, {}, "remove", {"remove_paths": ["q.r", "a.l[7]", "a.l.x", "", "s[0]", None, 0]}),
    Case("remove after replacing", {}, {"b": 1}, "replace", {"remove_paths": ["b"]}),
    Case("remove a number", {}, {}, "remove", {"remove_paths": [0]}, {"0": 1}),
    Case("remove beyond any list", BASE, {}, "remove", {"remove_paths": ["a.l[100000000]", "a" * 100_000]}),
    Case("paths that are no list", BASE, {}, "remove", {"remove_paths": "s"}),
    Case("options that are no object", BASE, {}, options=["x"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operations(case: Case) -> None:
    """What becomes of a document."""
    base = BASE if case.base is None else case.base
    before = copy.deepcopy(base)
    assert apply_operation(base, case.overrides, case.operation, case.options) == case.expected
    assert base == before


ITEMS = {"l": [{"id": {"n": 1}, "v": 1}, {"id": {"n": 2}, "v": 2}, 5]}
CHANGES = {"l": [{"id": {"n": 2}, "v": 9}, {"id": {"n": 3}, "v": 3}, 5, {"v": 1}]}


def test_union_by_key() -> None:
    """Items with one key are one, the first; items without it are told apart whole."""
    options = {"array_strategy": "union_by_key", "array_key": "id.n"}
    found = apply_operation(ITEMS, CHANGES, "merge", options)
    assert found == {"l": [*ITEMS["l"], {"id": {"n": 3}, "v": 3}, {"v": 1}]}


@pytest.mark.parametrize("key", [None, 7, "", "nowhere"])
def test_union_by_no_key(key: Any) -> None:
    """Without a key that is there, items are told apart whole."""
    options = {"array_strategy": "union_by_key", "array_key": key}
    assert apply_operation(ITEMS, CHANGES, "merge", options) == apply_operation(ITEMS, CHANGES, "union")


def test_the_original_loses_the_key() -> None:
    """With the original's profile the key never counts."""
    options = {"array_strategy": "union_by_key", "array_key": "id.n"}
    found = apply_operation(ITEMS, CHANGES, "merge", options, smart=SmartOptions.of("smarttavern"))
    assert found == apply_operation(ITEMS, CHANGES, "union")


def test_values_of_other_kinds_are_told_apart() -> None:
    """Data that JSON cannot write is compared by its text."""
    assert apply_operation({"l": [{1, 2}]}, {"l": [{1, 2}, {1: 2, "a": 3}]}, "union") == {"l": [{1, 2}, {1: 2, "a": 3}]}


def test_nothing_is_shared() -> None:
    """The result can be changed without changing an argument."""
    base, overrides = {"a": {"l": [1]}}, {"b": {"l": [2]}}
    found = apply_operation(base, overrides)
    found["a"]["l"].append(3)
    found["b"]["l"].append(3)
    assert (base, overrides) == ({"a": {"l": [1]}}, {"b": {"l": [2]}})


@pytest.mark.parametrize(
    ("base", "options"),
    [({"l": [10**5_000]}, {"array_strategy": "union"}), ({}, {"remove_paths": [10**5_000]})],
    ids=["an item", "a path"],
)
def test_numbers_no_text_can_hold(base: Any, options: Any) -> None:
    """Where a number is to be compared as text and cannot be written, that is a typed error."""
    with pytest.raises(LimitError):
        apply_operation(base, {"l": []}, "merge", options)


def test_too_deep() -> None:
    """Data that is too deep, or contains itself, is a typed error."""
    circle: dict[str, Any] = {}
    circle["a"] = circle
    with pytest.raises(LimitError):
        apply_operation({}, circle)


@given(
    VALUES,
    VALUES,
    st.sampled_from(["replace", "shallow", "append", "union", "merge", "remove"]),
    st.one_of(VALUES, st.fixed_dictionaries({"array_strategy": VALUES, "array_key": VALUES, "remove_paths": VALUES})),
)
def test_anything_goes_in(base: Any, overrides: Any, operation: str, options: Any) -> None:
    """Whatever comes in, an object comes out, and nothing of the caller's is changed."""
    before = copy.deepcopy((base, overrides))
    with suppress(InnkeeperError):
        assert isinstance(apply_operation(base, overrides, operation, options), dict)
    assert (base, overrides) == before
