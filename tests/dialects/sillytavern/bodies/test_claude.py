"""Claude: system text apart, contents as blocks, thought with a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.dialects.sillytavern.bodies.claude import claude_body, convert_claude
from innkeeper.dialects.sillytavern.conversion import RawMessage
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import CALLED, PICTURE, TOOL, conversion, kinds, provider_request, said


def text(value: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": value}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


@dataclass(frozen=True)
class Case:
    """Messages, how they are converted, and the messages of the API."""

    name: str
    messages: list[RawMessage]
    made: list[RawMessage]
    options: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case(
        "neighbours of one role",
        [said("user", "a"), said("user", "b")],
        [said("user", [text("a"), text("b")])],
    ),
    Case("a late system message", [said("system", "a")], [said("user", [text("a")])]),
    Case("a name", [said("user", "a", name="Bo")], [said("user", [text("Bo: a")])]),
    Case("an empty part", [said("user", [text("")])], [said("user", [text("\u200b")])]),
    Case(
        "the beginning of the reply",
        [said("user", "a")],
        [said("user", [text("a")]), said("assistant", [text("P")])],
        {"prefill": "P "},
    ),
    Case("a picture", [said("user", [PICTURE])], [said("user", [IMAGE])]),
    Case(
        "a picture of the assistant's",
        [said("assistant", [text("a"), PICTURE]), said("user", "b")],
        [said("assistant", [text("a")]), said("user", [text("b"), IMAGE])],
    ),
    Case(
        "tools",
        CALLED,
        [
            said("user", [text("Look.")]),
            said("assistant", [{"type": "tool_use", "id": "k1", "name": "look", "input": {"x": 1}}]),
            said("user", [{"type": "tool_result", "tool_use_id": "k1", "content": "A ferry."}]),
        ],
        {"use_tools": True},
    ),
    Case(
        "tools as text",
        CALLED,
        [said("user", [text("Look.")]), said("assistant", [text('{"x":1}')]), said("user", [text("A ferry.")])],
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages(case: Case) -> None:
    """Everybody is user or assistant in turns, and contents are blocks."""
    assert convert_claude(conversion(*case.messages), **case.options)["messages"] == case.made


def test_leading_system_text_goes_apart() -> None:
    """System messages at the top are blocks of their own; where nobody else speaks the user is given a text."""
    parts = conversion(said("system", "a"), said("system", [text("b"), PICTURE]))
    made = convert_claude(parts, use_sysprompt=True)
    assert made["systemPrompt"] == [text("a"), text("b")]
    assert [message["role"] for message in made["messages"]] == ["user"]
    assert set(kinds(parts.report)) == {NoteKind.LOSS, NoteKind.REPAIR}


@pytest.mark.parametrize(
    "message",
    [
        said("tool", None, tool_call_id="k1"),
        said("user", None),
        said("user", [{"type": "image_url"}]),
        said("assistant", None, tool_calls=[{"function": {"name": "f", "arguments": "{"}}]),
    ],
    ids=["result", "content", "picture", "arguments"],
)
def test_what_cannot_be_sent(message: RawMessage) -> None:
    """Missing content, a picture without an address and broken arguments are errors that name the message."""
    with pytest.raises(FormatError) as caught:
        convert_claude(conversion(said("user", "a"), message))
    assert caught.value.where is not None
    assert (caught.value.where.path or "").startswith("[1].")


@dataclass(frozen=True)
class Thought:
    """A model, options, and the budget of thought (``None``: it does not think)."""

    model: str
    options: dict[str, Any]
    budget: int | None


THOUGHTS = (
    Thought("claude-sonnet-4-5", {"reasoning_effort": "high", "max_tokens": 8000}, 4000),
    Thought("claude-sonnet-4-5", {"reasoning_effort": "low", "max_tokens": 2000}, 1024),
    Thought("claude-sonnet-4-5", {"reasoning_effort": "max", "max_tokens": 40000}, 21333),
    Thought("claude-sonnet-4-5", {"reasoning_effort": "max", "max_tokens": 40000, "stream": True}, 38000),
    Thought("claude-sonnet-4-5", {"reasoning_effort": "auto"}, None),
    Thought("claude-3-5-sonnet", {"reasoning_effort": "high"}, None),
)


@pytest.mark.parametrize("case", THOUGHTS, ids=lambda case: f"{case.model} {case.options}")
def test_thought(case: Thought) -> None:
    """A model that thinks gets a share of the reply as its budget, within bounds, and then no sampling."""
    body = claude_body(provider_request(source="claude", model=case.model, **case.options))
    assert body.get("thinking", {}).get("budget_tokens") == case.budget
    assert ("top_k" in body) is (case.budget is None)
    assert case.budget is None or body["max_tokens"] > case.budget


@pytest.mark.parametrize(("top_p", "sampler"), [(1, "temperature"), (0.5, "top_p")])
def test_one_sampler(top_p: float, sampler: str) -> None:
    """Newer models take temperature or top_p: the latter where it is below one."""
    body = claude_body(provider_request(source="claude", model="claude-opus-4-5", top_p=top_p))
    assert body.keys() & {"temperature", "top_p"} == {sampler}


def test_no_beginning_for_models_that_take_none() -> None:
    """A reply's beginning is the user's message where the model begins by itself, and that is reported."""
    request = provider_request(source="claude", model="claude-opus-4-6", assistant_prefill="P")
    assert [message["role"] for message in claude_body(request)["messages"]] == ["user", "user"]
    assert kinds(request.conversion.report) == [NoteKind.REPAIR]


def test_tools() -> None:
    """Definitions go in the provider's shape."""
    body = claude_body(provider_request(source="claude", tools=(TOOL,)))
    assert body["tools"] == [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "auto"}
