"""ChatConversion and what conversions share: checked texts, names of calls, arguments, JavaScript's JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects.sillytavern.conversion import (
    ChatConversion,
    Texts,
    arguments_of,
    call_name,
    js_json,
    text_of,
    unnamed,
)
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import CALL, kinds, said


def test_names_and_placeholders_are_reported() -> None:
    """A name put in front and a text put in are repairs; no name is none."""
    talk = ChatConversion.of([said("user", "a")], texts=Texts(placeholder="(go on)"))
    assert talk.named("", "a", 0) == "a"
    assert kinds(talk.report) == []
    assert talk.named("Bo: ", "a", 0) == "Bo: a"
    assert talk.placeholder() == said("user", "(go on)")
    assert kinds(talk.report) == [NoteKind.REPAIR] * 2


def test_an_unknown_mode_changes_nothing() -> None:
    """As SillyTavern does, a mode that is none leaves the messages alone."""
    talk = ChatConversion.of([said("user", "a"), said("user", "b")])
    assert talk.by_mode("odd") == talk.messages
    assert len(talk.by_mode("merge")) == 1


def test_unnamed() -> None:
    """Only the name goes, from a copy."""
    message = said("user", "a", name="Bo")
    assert unnamed(message) == said("user", "a")
    assert "name" in message


REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("parts", lambda: text_of(said("user", []), 3), "[3].content"),
    ("no content", lambda: text_of(said("user", None, name="Bo"), 0), "[0].content"),
    ("no function", lambda: call_name({}, 1), "[1].tool_calls"),
    ("a number as a name", lambda: call_name({"function": {"name": 5}}, 1), "[1].tool_calls"),
    ("broken arguments", lambda: arguments_of({"function": {"arguments": "{"}}, 2, strict=True), "[2].tool_calls"),
    ("no number", lambda: arguments_of({"function": {"arguments": "NaN"}}, 2, strict=True), "[2].tool_calls"),
    ("deep", lambda: arguments_of({"function": {"arguments": "[" * 99999}}, 2, strict=True), "[2].tool_calls"),
]


@pytest.mark.parametrize(("call", "path"), [pytest.param(*case[1:], id=case[0]) for case in REFUSED])
def test_errors_say_where(call: Callable[[], Any], path: str) -> None:
    """What a conversion needs and a message has not is an error with the message's place."""
    with pytest.raises(FormatError) as caught:
        call()
    assert caught.value.where is not None
    assert caught.value.where.path == path


@pytest.mark.parametrize(
    ("arguments", "data"),
    [('{"x":1}', {"x": 1}), ("{", "{"), ("NaN", "NaN"), ({"x": 1}, {"x": 1}), (None, None)],
    ids=repr,
)
def test_arguments(arguments: Any, data: Any) -> None:
    """Arguments are data; where that is allowed, what is no JSON stays its text."""
    assert arguments_of({"function": {"arguments": arguments}}, 0, strict=False) == data
    assert call_name(CALL, 0) == "look"


_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(_DATA)
def test_json_means_the_same(value: Any) -> None:
    """JavaScript's way of writing data changes nothing of it, and leaves whole numbers without a point."""
    assert json.loads(js_json(value)) == value
    assert js_json([1.0, "é", {"a": 2}]) == '[1,"é",{"a":2}]'
