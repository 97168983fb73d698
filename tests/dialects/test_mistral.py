"""Mistral: the provider's rules of order, nine-character ids, and an answer to be continued."""

import itertools
import re
from typing import Any

from hypothesis import given, settings

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Attachment, Message, Tool
from tests.dialects.talks import PNG, TALKS, call, kinds, message, said

MISTRAL = DIALECTS["mistral"]
HELLO = message("user", "Hello")
ALLOWED = {
    "system": {"user", "assistant", "system"},
    "user": {"assistant", "system", "user"},
    "assistant": {"assistant", "user", "tool"},
    "tool": {"assistant", "tool"},
}
"""Who may speak after whom, by the provider's published validator."""


@settings(max_examples=100)
@given(talk=TALKS)
def test_what_the_provider_insists_on(talk: tuple[Message, ...]) -> None:
    """The order is allowed, ids are legal, each call has its result, and an answer at the end is a prefix."""
    messages = MISTRAL.messages(talk, {}).body
    for before, each in itertools.pairwise(messages):
        assert each["role"] in ALLOWED[before["role"]]
    calls = [found["id"] for each in messages for found in each.get("tool_calls", ())]
    results = [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    assert sorted(calls) == sorted(results)
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", found) for found in calls)
    assert not messages or messages[-1]["role"] != "assistant" or messages[-1]["prefix"] is True
    assert all(each["content"] or each.get("tool_calls") for each in messages if each["role"] == "assistant")


def test_an_injection_after_a_tool_result() -> None:
    """System text after a result becomes a user's, and the assistant says a word in between; both are reported."""
    talk = [
        HELLO,
        message("assistant", "", tool_calls=[call("abcdefgh1")]),
        message("tool", "1", tool_call_id="abcdefgh1"),
        message("system", "late"),
    ]
    payload = MISTRAL.messages(talk, {})
    assert [each["role"] for each in payload.body] == ["user", "assistant", "tool", "assistant", "user"]
    assert payload.body[1]["tool_calls"] == [call("abcdefgh1")]
    assert kinds(payload.notes) == ["repair", "repair"]


def test_system_after_a_user_stays() -> None:
    """Where the provider allows system text, it keeps its role."""
    assert [each["role"] for each in MISTRAL.messages([HELLO, message("system", "S")], {}).body] == ["user", "system"]


def test_without_repair() -> None:
    """With ``repair=False`` the order is the caller's."""
    talk = [message("assistant", "Hi"), message("system", "S")]
    assert [each["role"] for each in MISTRAL.messages(talk, {"repair": False}).body] == ["assistant", "system"]


def test_thoughts() -> None:
    """Thoughts are chunks before the text."""
    body = MISTRAL.messages([HELLO, message("assistant", "Hi", reasoning="hm"), HELLO], {}).body
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert body[1] == {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hi"}]}


def test_media() -> None:
    """Images, audio data and documents have parts; video has none."""
    media = (
        Attachment("image", data=PNG),
        Attachment("audio", data="x", media_type="audio/mpeg"),
        Attachment("file", url="https://x", name="a.pdf"),
        Attachment("video", url="https://x"),
    )
    payload = MISTRAL.messages([Message("user", "see", attachments=media)], {})
    assert [part["type"] for part in payload.body[0]["content"]] == ["text", "image_url", "input_audio", "document_url"]
    assert payload.body[0]["content"][3] == {
        "type": "document_url",
        "document_url": "https://x",
        "document_name": "a.pdf",
    }
    assert said(payload.notes, "video").kind == "loss"


def test_request() -> None:
    """Options by the provider's names."""
    options: dict[str, Any] = {"seed": 1, "tool_choice": "required", "max_tokens": 9, "stop": "x", "top_k": 1}
    payload = MISTRAL.request([HELLO], model="m", options=options, tools=[Tool("add")])
    rest = {key: payload.body[key] for key in payload.body if key not in ("model", "messages", "tools")}
    assert rest == {"max_tokens": 9, "stop": ["x"], "random_seed": 1, "tool_choice": "any"}
    one = MISTRAL.request([HELLO], model="m", options={"tool_choice": "add"}, tools=[Tool("add")]).body
    assert one["tool_choice"] == {"type": "function", "function": {"name": "add"}}
