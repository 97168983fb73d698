"""Chat Completions: what models that reason take, DeepSeek's order, xAI's names, flat text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.dialects.sillytavern.openai import (
    chat_body,
    convert_text,
    convert_xai,
    deepseek_body,
    mark_prefix,
    openai_body,
    xai_body,
)
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import CALLED, TOOL, conversion, kinds, provider_request, said

SAMPLERS = {"temperature", "top_p", "presence_penalty", "frequency_penalty"}


def test_the_common_body() -> None:
    """Four stop strings at most, tools with a choice, no content where a message only calls tools."""
    request = provider_request(*CALLED, stop=list("abcdef"), tools=(TOOL,))
    body = chat_body(request, request.messages)
    assert (body["stop"], body["tools"], body["tool_choice"]) == (list("abcd"), [TOOL], "auto")
    assert ["content" in message for message in body["messages"]] == [True, False, True]
    assert body.keys() >= SAMPLERS | {"max_tokens"}


@dataclass(frozen=True)
class Case:
    """A model with options, what the body has and what it has not."""

    model: str
    options: dict[str, Any]
    has: dict[str, Any]
    lacks: frozenset[str] = frozenset()


CASES = (
    Case("gpt-4o", {"seed": 3, "n": 2}, {"seed": 3, "n": 2, "max_tokens": 300}),
    Case("gpt-4o", {"seed": -1, "n": 1}, {}, frozenset({"seed", "n", "max_completion_tokens"})),
    Case(
        "o3",
        {"reasoning_effort": "max"},
        {"max_completion_tokens": 300, "reasoning_effort": "high"},
        frozenset(SAMPLERS | {"max_tokens"}),
    ),
    Case("o1", {"n": 2}, {"max_completion_tokens": 300}, frozenset({"n", "tools", "tool_choice", "reasoning_effort"})),
    Case("gpt-5", {"reasoning_effort": "min", "verbosity": "low"}, {"reasoning_effort": "minimal", "verbosity": "low"}),
    Case("o3", {"reasoning_effort": "min", "verbosity": "low"}, {"reasoning_effort": "low"}, frozenset({"verbosity"})),
    Case("gpt-5-chat", {"reasoning_effort": "high"}, {"temperature": 1}, frozenset({"reasoning_effort", "max_tokens"})),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.model} {case.options}")
def test_models_that_reason(case: Case) -> None:
    """Each family of OpenAI's models is sent only what it takes."""
    body = openai_body(provider_request(source="openai", model=case.model, tools=(TOOL,), **case.options))
    assert {key: body.get(key) for key in case.has} == case.has
    assert not case.lacks & body.keys()


def test_no_system_messages_for_the_first_models_that_reason() -> None:
    """Their system messages are the user's, and that is reported."""
    request = provider_request(said("system", "a"), source="openai", model="o1")
    assert openai_body(request)["messages"] == [said("user", "a")]
    assert kinds(request.conversion.report) == [NoteKind.REPAIR]


def test_a_server_of_another_source_is_sent_everything() -> None:
    """The rules of OpenAI's models hold for OpenAI alone."""
    assert openai_body(provider_request(source="custom", model="o1")).keys() >= SAMPLERS | {"max_tokens"}


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


def test_deepseek() -> None:
    """Thought is on where it is shown, calls have an empty thought, and top_p is never zero."""
    body = deepseek_body(provider_request(*CALLED, top_p=0, reasoning_effort="max", tools=(TOOL,)))
    assert (body["thinking"], body["reasoning_effort"]) == ({"type": "enabled"}, "max")
    assert body["top_p"] > 0
    assert body["messages"][1]["reasoning_content"] == ""
    silent = deepseek_body(provider_request(show_thoughts=False, reasoning_effort="max"))
    assert (silent["thinking"], "reasoning_effort" in silent) == ({"type": "disabled"}, False)


def test_xai_names() -> None:
    """Only the user keeps a name; the assistant's and the examples' stand in front of their texts."""
    messages = [
        said("user", "a", name="Tomas"),
        said("assistant", "b", name="Mira"),
        said("system", "c", name="example_user"),
        said("system", "d", name="Notes"),
    ]
    named = [
        said("user", "a", name="Tomas"),
        said("assistant", "Mira: b"),
        said("system", "Tomas: c"),
        said("system", "d"),
    ]
    assert convert_xai(conversion(*messages))["messages"] == named
    assert xai_body(provider_request(*messages))["messages"] == named


def test_flat_text() -> None:
    """A line for each message with its role or name; what is no text is written as JavaScript does, and reported."""
    talk = conversion(
        said("system", "a"), said("system", "b", name="Bo"), said("user", [{}, {}]), said("assistant", None)
    )
    assert convert_text(talk) == {
        "prompt": "System: a\nBo: b\nuser: [object Object],[object Object]\nassistant: null\nassistant:"
    }
    assert kinds(talk.report) == [NoteKind.LOSS]
