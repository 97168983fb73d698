"""Flat text for models that know no messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.dialects.sillytavern.bodies.chat import (
    chat_body,
    closed_tools,
    convert_text,
    is_text_model,
    mark_prefix,
    spoken_audio,
)
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import (
    CALLED,
    PICTURE,
    TOOL,
    body_of,
    conversion,
    kinds,
    provider_request,
    said,
)


def test_flat_text() -> None:
    """A line for each message with its role or name; what is no text is written as JavaScript does, and reported."""
    talk = conversion(
        said("system", "a"), said("system", "b", name="Bo"), said("user", [{}, {}]), said("assistant", None)
    )
    assert convert_text(talk) == {
        "prompt": "System: a\nBo: b\nuser: [object Object],[object Object]\nassistant: null\nassistant:"
    }
    assert kinds(talk.report) == [NoteKind.LOSS]


@pytest.mark.parametrize(
    ("model", "flat"),
    [("gpt-3.5-turbo-instruct", True), ("text-davinci-003", True), ("davinci-002", False), ("gpt-4o", False)],
)
def test_models(model: str, flat: bool) -> None:
    """OpenAI's text models get a prompt in place of messages and tools."""
    assert is_text_model(model) is flat
    body = body_of(said("user", "Hi"), source="openai", model=model, tools=(TOOL,), logprobs=True)
    assert ("prompt" in body, "messages" in body, "tools" in body) == (flat, not flat, not flat)
    assert body["logprobs"] == (5 if flat else True)


def test_the_common_body() -> None:
    """Settings as the page sends them, tools with a choice, no content where a message only calls tools."""
    body = chat_body(provider_request(*CALLED, stop=list("abcdef"), tools=(TOOL,)))
    assert (body["stop"], body["tools"], body["tool_choice"]) == (list("abcd"), [TOOL], "auto")
    assert ["content" in message for message in body["messages"]] == [True, False, True]
    assert body.keys() >= {"temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens"}


@dataclass(frozen=True)
class Prefix:
    """Messages and tools, and whether the last message is marked."""

    name: str
    messages: list[dict[str, Any]]
    marked: bool = False
    tools: tuple[Any, ...] = ()


PREFIXES = (
    Prefix("no messages", []),
    Prefix("the user's", [said("user", "a")]),
    Prefix("the assistant's", [said("user", "a"), said("assistant", "b")], marked=True),
    Prefix("with tools", [said("assistant", "b")], tools=(TOOL,)),
    Prefix("after a tool", [*CALLED, said("assistant", "b")]),
)


@pytest.mark.parametrize("case", PREFIXES, ids=lambda case: case.name)
def test_prefix(case: Prefix) -> None:
    """The last message is marked where it is the assistant's and no tool plays a part; the given list stays as it is."""
    before = [dict(message) for message in case.messages]
    made = mark_prefix(case.messages, case.tools)
    assert [message.get("prefix", False) for message in made] == [False] * (len(made) - 1) + [case.marked] * bool(made)
    assert case.messages == before


@pytest.mark.parametrize(("kind", "form"), [("audio/wav", "wav"), ("audio/mpeg", "mp3")])
def test_recordings(kind: str, form: str) -> None:
    """A recording's data and format go apart; other parts stay."""
    audio = {"type": "audio_url", "audio_url": {"url": f"data:{kind};base64,AAAA"}}
    (made,) = spoken_audio([said("user", [PICTURE, audio])])
    assert made["content"] == [PICTURE, {"type": "input_audio", "input_audio": {"format": form, "data": "AAAA"}}]


def test_tools_without_required_parameters() -> None:
    """An empty list of them is left out, a full one stays."""
    empty = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "required": []}}}
    assert closed_tools([empty, TOOL])[0]["function"]["parameters"] == {"type": "object"}
    assert closed_tools([empty, TOOL])[1] == TOOL


def test_deepseek() -> None:
    """Thought is on where it is shown, calls have an empty thought, and top_p is never zero."""
    body = body_of(*CALLED, source="deepseek", top_p=0, reasoning_effort="max", tools=(TOOL,))
    assert (body["thinking"], body["reasoning_effort"]) == ({"type": "enabled"}, "max")
    assert body["top_p"] > 0
    assert body["messages"][1]["reasoning_content"] == ""
    silent = body_of(source="deepseek", show_thoughts=False, reasoning_effort="max")
    assert (silent["thinking"], "reasoning_effort" in silent) == ({"type": "disabled"}, False)
