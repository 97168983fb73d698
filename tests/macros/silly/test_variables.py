"""Variables as SillyTavern keeps them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.errors import MAX_LIST_INDEX, MacroLimitError
from innkeeper.macros.silly.variables import add, falsy, item_text, read, set_item, value_text
from innkeeper.prompt.run.variables import InMemoryVariables

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def store(value: Any) -> InMemoryVariables:
    """A chat with one variable."""
    return InMemoryVariables({"local": {"v": value}})


@pytest.mark.parametrize(
    ("value", "addend", "total"),
    [
        ("1.5", "0.25", 1.75),
        ("x", "1", "x1"),
        ("", "5", 5),
        (None, "2", 2),
        ("[1]", "b", '[1,"b"]'),
        (True, "1", 2),
        ("txt", "", "txt"),
        ({}, "x", "[object Object]x"),
        (["p", "q"], "x", "p,qx"),
        ("1", "Infinity", "Infinity"),
        ("-0", "x", "x"),
    ],
    ids=repr,
)
def test_add(value: Any, addend: str, total: Any) -> None:
    """Numbers add up, text is put behind text, a JSON list grows; what has no JSON is kept as text."""
    variables = store(value)
    add(variables, "v", addend, "local")
    assert variables.get("v") == total


@given(PLAIN, st.text(max_size=6), st.text(max_size=6))
def test_any_value_can_be_read_and_changed(value: Any, key: str, addend: str) -> None:
    """No stored value makes reading, adding or setting an item raise, and what is stored afterwards is data."""
    variables = store(value)
    assert isinstance(value_text(read(variables, "v", "local")), str)
    assert isinstance(item_text(variables, "v", key, "local"), str)
    set_item(variables, "v", key, addend, "local")
    add(variables, "v", addend, "local")
    assert variables.to_json()


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        ('{"k":"v"}', "k", "v"),
        ('{"k":"v"}', "x", ""),
        ("[1,2]", "1", "2"),
        ("[1,2]", "", "1"),
        ('["007"]', "0", "7"),
        ("txt", "k", "txt"),
        ('[{"a":null}]', "0", '{"a":null}'),
        ('{"a":null}', "a", "null"),
        ('"q"', "length", "1"),
        ("", "k", ""),
        ("5", "k", ""),
    ],
)
def test_item_text(value: str, key: str, text: str) -> None:
    """Items are found by key or number; a value that is no JSON stands for itself."""
    assert item_text(store(value), "v", key, "local") == text


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        (None, "k", '{"k":"x"}'),
        (None, "2", '[null,null,"x"]'),
        ("[1]", "0", '["x"]'),
        ("[1]", "k", "[1]"),
        ("txt", "k", "txt"),
        ('{"b":1,"2":0}', "1", '{"1":"x","2":0,"b":1}'),
    ],
    ids=repr,
)
def test_set_item(value: str | None, key: str, text: str) -> None:
    """A new holder is a list or an object by the key; what is neither is left alone."""
    variables = store(value)
    set_item(variables, "v", key, "x", "local")
    assert variables.get("v") == text


def test_lists_do_not_grow_without_end() -> None:
    """An index beyond the limit is an error that names it."""
    with pytest.raises(MacroLimitError, match="MAX_LIST_INDEX"):
        set_item(store("[]"), "v", str(MAX_LIST_INDEX + 1), "x", "local")


@pytest.mark.parametrize(
    ("text", "false"), [("", True), (" Off ", True), ("0", True), ("00", False), (" ", False), ("no", False)]
)
def test_falsy(text: str, *, false: bool) -> None:
    """Empty, ``false``, ``off`` and ``0`` are false; blank space is not."""
    assert falsy(text) is false
