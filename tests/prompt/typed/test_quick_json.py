"""Tests for `innkeeper.prompt.typed.quick_json`: it writes what Python's own writer writes, or leaves it to that."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.data import FrozenDict, to_json
from innkeeper.prompt.typed.quick_json import quick_json

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.7, 1e-4, 1e15, -0.0])
LEAVES = st.none() | st.booleans() | NUMBERS | st.text() | st.text(st.characters(max_codepoint=0x7F))


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists, tuples and both kinds of dict of such values."""
    mappings = st.dictionaries(st.text(max_size=4), inner, max_size=5)
    return st.lists(inner, max_size=5) | st.lists(inner, max_size=5).map(tuple) | mappings | mappings.map(FrozenDict)


@given(st.recursive(LEAVES, nested, max_leaves=12), st.booleans())
def test_it_writes_the_bytes_of_the_own_writer_or_none(value: Any, sort: bool) -> None:
    """Equal bytes, or nothing, for whatever plain data is drawn."""
    own = json.dumps(value, sort_keys=sort, separators=(",", ":"), allow_nan=False).encode()
    assert quick_json(value, sort=sort) in (own, None)
    assert to_json(value, sort=sort) == own


class Kind(StrEnum):
    A = "a"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(value, id=repr(value)[:40])
        for value in (
            "é",
            "\x7f",
            "\ud800",
            {1: 2},
            {None: 1},
            {1, 2},
            Kind.A,
            1e16,
            1e-5,
            float("nan"),
            b"x",
            OrderedDict(a=1),
        )
    ],
)
def test_it_leaves_what_both_write_differently(value: Any) -> None:
    """Text beyond ASCII, keys that are no text, numbers with exponents, objects."""
    assert quick_json([value], sort=True) is None


def test_it_writes_a_prompt() -> None:
    """The usual case is not left to the slow writer."""
    messages = [{"role": "user", "content": 'a "b"\n\t\x00\\/', "n": 1, "share": 0.5, "is": True, "no": None}]
    assert quick_json(messages, sort=False) == to_json(messages, sort=False)
    assert quick_json(messages, sort=True) == to_json(messages)


@pytest.mark.parametrize("make", [lambda value: [value], lambda value: {"a": value}], ids=["lists", "objects"])
def test_data_that_nests_deep_is_written_as_by_the_own_writer(make: Callable[[Any], Any]) -> None:
    """Its depth is no reason for other bytes."""
    value: Any = 1
    for _ in range(200):
        value = make(value)
    assert to_json(value) == json.dumps(value, separators=(",", ":")).encode()
