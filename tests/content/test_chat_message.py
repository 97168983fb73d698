"""One message of a stored chat, in SillyTavern's shape or an API's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.chat_message import NARRATOR, ChatMessage, ToolInvocation, read_message
from innkeeper.content.errors import AssetError
from innkeeper.prompt.errors import UnknownNameError


@dataclass(frozen=True)
class Case:
    """An object as stored, and what the message says of itself."""

    name: str
    raw: dict[str, Any]
    expected: dict[str, Any]


CASES = [
    Case("user", {"mes": "Hi", "is_user": True, "name": "Ann"}, {"role": "user", "text": "Hi", "name": "Ann"}),
    Case("assistant", {"mes": "Hi"}, {"role": "assistant", "name": None, "hidden": False, "is_silly": True}),
    Case("hidden", {"mes": "Hi", "is_system": True}, {"role": "assistant", "hidden": True}),
    Case(
        "narrator",
        {"mes": "Hi", "is_user": True, "extra": {"type": NARRATOR}},
        {"role": "system", "is_narrator": True},
    ),
    Case(
        "tool calls are never hidden",
        {"mes": "", "is_system": True, "extra": {"tool_invocations": [{"id": "1"}]}},
        {"hidden": False, "tool_invocations": (ToolInvocation("1", ""),)},
    ),
    Case("text of another type", {"mes": 7, "name": 1.0}, {"text": "7", "name": "1"}),
    Case("null text", {"mes": None, "extra": [], "swipes": {}}, {"text": "", "extra": {}, "swipes": ()}),
    Case("date true", {"mes": "", "send_date": True}, {"send_date": None}),
    Case(
        "swipes", {"mes": "b", "swipes": ["a", None, "b"], "swipe_id": "2"}, {"swipes": ("a", "", "b"), "swipe_id": 2}
    ),
    Case("small note", {"mes": "", "extra": {"isSmallSys": 1}}, {"is_small": True}),
    Case("no avatar", {"mes": "", "force_avatar": ""}, {"force_avatar": None}),
    Case("reasoning", {"mes": "", "extra": {"reasoning": "hm"}}, {"reasoning": "hm"}),
    Case("api", {"role": "user", "content": "Hi"}, {"role": "user", "text": "Hi", "is_silly": False}),
    Case("api without content", {"role": "assistant"}, {"text": "", "media": ()}),
    Case("api reasoning", {"role": "assistant", "content": "", "reasoning_content": "hm"}, {"reasoning": "hm"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_message_is_read(case: Case) -> None:
    """What a stored message says is read by shape; a value of another type never raises."""
    message = read_message(case.raw)
    assert {name: getattr(message, name) for name in case.expected} == case.expected
    assert message.raw is case.raw


@pytest.mark.parametrize("raw", [{}, {"content": "Hi"}, {"text": "Hi"}])
def test_what_is_not_a_message_is_refused(raw: dict[str, Any]) -> None:
    """Neither ``mes`` nor ``role``: `AssetError`, which says what a message has."""
    with pytest.raises(AssetError) as info:
        read_message(raw)
    assert "`mes`" in str(info.value.hint)


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_created_messages_are_in_sillytaverns_shape(role: str) -> None:
    """A message made from a role has that role when it is read, and a name where none was given."""
    message = ChatMessage.create(role, "Hi", send_date=5, extra={"note": 1})
    again = read_message(json.loads(message.encode()))
    assert (again.role, again.text, again.name, again.send_date) == (role, "Hi", role.capitalize(), 5)
    assert again.extra["note"] == 1
    assert again.is_narrator is (role == "system")


def test_the_shown_alternative_follows_the_text() -> None:
    """Another text is also another text of the swipe that is shown; one that does not exist stays away."""
    message = read_message({"mes": "b", "swipes": ["a", "b"], "swipe_id": 1})
    assert message.replace(text="c").swipes == ("a", "c")
    assert read_message({"mes": "b", "swipes": ["a"], "swipe_id": 4}).replace(text="c").swipes == ("a",)
    assert message.swipes == ("a", "b")


def test_replacing_keeps_the_other_bytes() -> None:
    """An edit touches its own bytes alone; None takes the key away; an unknown name raises `UnknownNameError`."""
    data = b'{ "mes":"a",  "name" : "Ann", "other": 1.50 }'
    message = read_message(json.loads(data), data)
    assert message.encode() == data
    assert message.replace(text="b").encode() == data.replace(b'"a"', b'"b"')
    assert "name" not in message.replace(name=None).raw
    assert read_message({"role": "user", "content": "a"}).replace(text="b").raw["content"] == "b"
    with pytest.raises(UnknownNameError):
        message.replace(colour="red")


def test_tool_calls_become_a_call_and_its_results() -> None:
    """The call first, then each result under its id; the text shown to people is not content."""
    calls = [{"id": "1", "name": "dice", "parameters": {"n": 6}, "result": 4}, {"id": "2", "parameters": None}]
    message = read_message({"mes": "rolled", "extra": {"tool_invocations": [*calls, "?"]}})
    call, *results = message.to_messages()
    assert (call.role, call.content, call.metadata["shown"]) == ("assistant", "", "rolled")
    assert [(each.role, each.content, each.tool_call_id) for each in results] == [("tool", "4", "1"), ("tool", "", "2")]
    assert [each.parameters for each in message.tool_invocations] == ['{"n":6}', "{}"]


MEDIA = [
    (
        {"media": [{"url": "a.png"}, {"type": "video", "url": "b"}, {"type": "video"}, 7]},
        [("image", "a.png"), ("video", "b")],
    ),
    ({"media": [], "image": "old.png"}, []),
    ({"image": "old.png", "audio": "a.mp3", "video": ""}, [("image", "old.png"), ("audio", "a.mp3")]),
    ({"file": {"url": "a.txt", "name": "A"}}, [("file", "a.txt")]),
    ({"files": [{"url": "b.txt"}], "file": {"url": "a.txt"}}, [("file", "b.txt")]),
]


@pytest.mark.parametrize(("extra", "expected"), MEDIA, ids=["list", "empty list", "single", "file", "files"])
def test_media_old_and_new(extra: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """Media are read from today's list, or from the single fields where there is no list."""
    assert [(each.kind, each.url) for each in read_message({"mes": "", "extra": extra}).media] == expected


def test_an_api_message_without_content_is_sent() -> None:
    """A message that only calls tools may leave its content out, and is one message for a prompt all the same."""
    call = {"id": "1", "type": "function", "function": {"name": "dice", "arguments": "{}"}}
    (message,) = read_message({"role": "assistant", "tool_calls": [call]}).to_messages()
    assert (message.role, message.content, len(message.tool_calls)) == ("assistant", "", 1)


def test_facts_for_prompts_are_metadata() -> None:
    """What a prompt may have to know about a message beside its text is among its metadata."""
    raw = {"mes": "x", "is_user": True, "is_system": True, "name": "", "extra": {"type": NARRATOR}, "force_avatar": "a"}
    (message,) = read_message(raw).to_messages()
    facts = {"hidden": True, "force_avatar": "a", "name": "", "is_user": True, "extra": {"type": NARRATOR}}
    assert {name: message.metadata[name] for name in facts} == facts


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("mes", "name", "is_user", "is_system", "send_date", "swipes", "swipe_id", "extra")


@given(st.fixed_dictionaries({"mes": JSON}, optional=dict.fromkeys(NAMES[1:], JSON)))
def test_any_stored_message_is_read_and_sent(raw: dict[str, Any]) -> None:
    """Whatever the fields hold, the message is read, has a text and comes to at least one message for a prompt."""
    message = read_message(raw)
    assert isinstance(message.text, str)
    assert message.to_messages()
