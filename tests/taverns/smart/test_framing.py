"""Framing and the whole raw prompt: bad input, nothing shared, switches."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.json.values import ShapeError, text_of
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns.smart import Compat, SmartOptions, assemble, assemble_full

HISTORY: dict[str, Any] = {"identifier": "chatHistory", "enabled": True}


def test_bad_orders_carry_their_place() -> None:
    """An order that is no number ends the call, with Python's own words and the path."""
    before = {"position": "before_char", "enabled": True, "content": "a"}
    for order, words in (("x", "invalid literal"), ([1], "int()"), (math.inf, "infinity")):
        with pytest.raises(ShapeError, match="order") as caught:
            assemble([], [{**before, "order": order}], [{"identifier": "charBefore", "enabled": True}])
        assert isinstance(caught.value, ValueError)
        assert words in caught.value.message
        assert caught.value.where is not None
        assert caught.value.where.path == "world_books[0].order"


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, True),
        ({"enabled": None}, False),
        ({"content": " "}, False),
        ({"content": 5}, False),
        ({"mode": "conditional"}, False),
        ({"mode": "conditional", "keys": " a "}, True),
        ({"mode": "conditional", "keys": ["b", 3]}, False),
        ({"mode": "conditional", "keys": ["b", 5]}, True),
    ],
    ids=str,
)
def test_which_entries_are_shown(fields: dict[str, Any], *, shown: bool) -> None:
    """Only what says it is enabled and has text; conditional entries by their keys."""
    entry = {"position": "before_char", "enabled": True, "content": "W", **fields}
    made = assemble([{"role": "user", "content": "a5"}], [entry], [{"identifier": "charBefore", "enabled": True}])
    assert [message["content"] for message in made["messages"]] == ["W"] * shown


def test_nothing_is_shared() -> None:
    """Changing the result changes no argument, and each occurrence of the history has sources of its own."""
    arguments: tuple[Any, ...] = (
        [{"role": "user", "content": "a", "source": {"type": "x", "n": [1]}}],
        [{"position": "before_char", "enabled": True, "content": "b", "keys": ["k"]}],
        [
            HISTORY,
            {"identifier": "charBefore", "enabled": True},
            HISTORY,
            {"identifier": "charDescription", "enabled": True},
        ],
        None,
        {"description": "c", "message": ["hello"]},
    )
    before = copy.deepcopy(arguments)
    made = assemble(*arguments)["messages"]
    made[0]["source"]["n"].append(2)
    made[3]["source"]["message"].clear()
    assert made[2]["source"]["n"] == [1]
    assert arguments == before


def test_a_system_message_without_a_source() -> None:
    """Its type is the original's unless the switch says otherwise."""
    history = [{"role": "system", "content": "a"}]
    assert assemble(history)["messages"][0]["source"]["type"] == "history.assistant"
    options = SmartOptions(compat=Compat(framing_system_type="history.system"))
    assert assemble(history, options=options)["messages"][0]["source"]["type"] == "history.system"


def test_nested_books_are_kept() -> None:
    """Lists in lists reach the prompt, which the original drops without a word; its profile still does."""
    books = [[{"position": "system", "content": "W"}]]
    presets = {"prompts": [HISTORY | {"position": "relative"}]}
    assert [message["content"] for message in assemble_full(presets, books)["messages"]] == ["W"]
    assert assemble_full(presets, books, options=SmartOptions.of("smarttavern"))["messages"] == []


def test_switches_of_the_constructor() -> None:
    """Without them there is no ``source_id``, and a prompt's condition does not count."""
    options = SmartOptions(compat=Compat(emit_source_id=False, conditional_presets=False))
    prompts = [{"position": "in-chat", "content": "P", "mode": "conditional", "condition": "no"}]
    made = assemble_full({"prompts": prompts}, None, [{"role": "user", "content": "a", "id": 4}], options=options)
    assert [message["content"] for message in made["messages"]] == ["a", "P"]
    assert not any("source_id" in message["source"] for message in made["messages"])


ANY = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.just("chatHistory"), st.just("charBefore")
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "identifier",
                    "enabled",
                    "content",
                    "role",
                    "order",
                    "position",
                    "keys",
                    "mode",
                    "prompts",
                    "entries",
                    "messages",
                ]
            ),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=20,
)


@given(st.tuples(ANY, ANY, ANY, ANY, ANY, ANY))
def test_any_arguments(arguments: tuple[Any, ...]) -> None:
    """Whatever is given, there are messages or an error of the tree, from both operations."""
    before = repr(arguments)
    for run in (assemble, assemble_full):
        try:
            made = run(*arguments)
        except InnkeeperError:
            continue
        assert {tuple(message) for message in made["messages"]} <= {("role", "content", "source")}
    assert repr(arguments) == before


def test_texts_of_values() -> None:
    """``None`` is empty, anything else as Python writes it."""
    assert [text_of(value, "x") for value in ("a", None, 1.5, True, [1])] == ["a", "", "1.5", "True", "[1]"]
