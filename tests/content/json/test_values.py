"""Plain JSON values: copies, texts, and the error for a wrong type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.json.values import copied, text_of, wrong_type
from innkeeper.prompt.data import MAX_DEPTH
from innkeeper.prompt.errors import LimitError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        ({}, "an object"),
        ([], "a list"),
        ("", "text"),
        (True, "true or false"),
        (1, "a whole number"),
        (1.5, "a decimal number"),
    ],
)
def test_a_wrong_type_is_named_as_json_names_it(value: Any, kind: str) -> None:
    """The error says what was expected and found, and where."""
    error = wrong_type("nodes.a", "an id", value, hint="give it one")
    assert error.message == f"expected an id, found {kind}"
    assert error.where is not None
    assert (error.where.path, error.hint) == ("nodes.a", "give it one")
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(("value", "text"), [("x", "x"), (None, ""), (0, "0"), ([1], "[1]")])
def test_text_of_anything(value: Any, text: str) -> None:
    """Text as it is, nothing for None, anything else as Python writes it."""
    assert text_of(value, "x") == text


def test_what_cannot_be_written_is_a_limit() -> None:
    """A number of too many digits and data that is too deep raise `LimitError` with the path."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (10**5000, deep):
        with pytest.raises(LimitError) as info:
            text_of(value, "nodes.a")
        assert info.value.where is not None
        assert info.value.where.path == "nodes.a"


def test_a_copy_ends_at_the_limit_of_nesting() -> None:
    """As deep as the limit is copied; one deeper, or data that contains itself, raises `LimitError`."""
    value: Any = "x"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert copied(value, "x") == value
    circle: list[Any] = []
    circle.append(circle)
    for beyond in ([[value]], circle):
        with pytest.raises(LimitError):
            copied(beyond, "x")


@given(JSON)
def test_a_copy_is_equal_and_shares_nothing(value: Any) -> None:
    """A copy equals its original, and no object or array of it is one of the original's."""
    again = copied(value, "x")
    assert again == value
    assert _parts(again).isdisjoint(_parts(value))


def _parts(value: Any) -> set[int]:
    """The identity of each object and array in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return set() if inner is None else {id(value)}.union(*map(_parts, inner))
