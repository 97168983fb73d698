"""The contract of tool messages (2-wave4-contracts, *Dialects Contract*), against examples that others wrote."""

import json
from typing import Any

import pytest

from innkeeper.dialects import DIALECTS, convert
from innkeeper.prompt import BuildRequest, Message, UnknownNameError, UsageError
from innkeeper.taverns import build
from tests import shared
from tests.dialects import wire

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "SYS"},
    {"role": "user", "content": "Hi", "name": "Bob"},
    {"role": "assistant", "content": "Hello", "tool_calls": [CALL]},
    {"role": "tool", "content": "1", "tool_call_id": "call_1"},
]


def test_openai_tool_messages() -> None:
    """The OpenAI example is what our messages become, key for key."""
    expected = json.loads(shared.need("fixtures/tavern_kit/contracts/openai_tool_calls.json").read_bytes())
    assert convert(expected) == expected


def test_anthropic_tool_messages() -> None:
    """The Anthropic example is what its messages become, whoever spelt them."""
    expected = json.loads(shared.need("fixtures/tavern_kit/contracts/anthropic_tool_use.json").read_bytes())
    messages = list(wire.READERS["anthropic"](expected))
    assert convert(messages, "anthropic") == expected


def test_one_conversation_fits_both_examples() -> None:
    """The two examples are one conversation: that of OpenAI, with a system text, gives that of Anthropic."""
    openai = json.loads(shared.need("fixtures/tavern_kit/contracts/openai_tool_calls.json").read_bytes())
    expected = json.loads(shared.need("fixtures/tavern_kit/contracts/anthropic_tool_use.json").read_bytes())
    found = convert([{"role": "system", "content": expected["system"]}, *openai], "anthropic")
    assert json.loads(json.dumps(found).replace("call_123", "toolu_123")) == expected


def test_openai_shape() -> None:
    """The reference's worked example: text as text, name, calls and ids passed on, nothing else."""
    assert convert(TALK) == TALK


def test_anthropic_shape() -> None:
    """The reference's worked example: system apart, blocks, the call's input an object, its result a user's."""
    use = {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 1}}
    assert convert(TALK, "anthropic") == {
        "system": "SYS",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Hello"}, use]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "1"}]},
        ],
    }


def test_text_shape() -> None:
    """The reference's text dialect: non-empty contents joined with a newline, and the stop list."""
    made = convert(TALK, "text", stop_sequences=["\nBob:", None, ""])
    assert made == {"prompt": "SYS\nHi\nHello\n1", "stop_sequences": ["\nBob:"]}


def test_names_are_those_of_the_reference() -> None:
    """Every dialect of the reference is registered, and ours besides."""
    assert {"openai", "anthropic", "google", "cohere", "text", "ai21", "mistral", "xai"} <= set(DIALECTS)
    assert {"responses", "gemini"} <= set(DIALECTS)


def test_an_unknown_dialect_is_told_with_the_nearest() -> None:
    """A misspelt name raises, and the hint offers the name that was meant."""
    with pytest.raises(UnknownNameError) as caught:
        convert([Message("user", "Hi")], "antropic")
    assert "anthropic" in str(caught.value.hint)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_signatures_travel_or_are_reported(dialect: str) -> None:
    """``metadata.signature`` is in the payload, or a note says that it is not."""
    message = Message.of({"role": "assistant", "content": "", "tool_calls": [CALL], "signature": "c2lnbmVk"})
    answer = Message.of({"role": "tool", "content": "1", "tool_call_id": "call_1"})
    payload = DIALECTS[dialect].messages([Message("user", "Hi"), message, answer], {})
    reported = any(note.kind == "loss" and "signature" in note.message for note in payload.notes)
    assert ("c2lnbmVk" in json.dumps(payload.body)) != reported


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_an_option_that_nobody_knows_is_refused(dialect: str) -> None:
    """A misspelt option of a conversion is an error in every dialect, never nothing."""
    with pytest.raises(UsageError, match="option 'misspelt' is not known"):
        convert(TALK[:2], dialect, misspelt=1)


def test_a_near_option_is_offered() -> None:
    """Also where the dialect has options of its own, those of single sources among them."""
    with pytest.raises(UsageError) as caught:
        convert(TALK[:2], "sillytavern", speaker={"char": "Ann"})
    assert caught.value.hint == "did you mean 'speakers'?"
    known: dict[str, Any] = {
        "source": "openrouter",
        "openrouter_providers": ["x"],
        "custom_include_body": "a: 1",
        "temperature": 0.5,
    }
    assert convert(TALK[:2], "sillytavern", **known)


def test_a_plan_refuses_it_too() -> None:
    """Where no notes are given back: as messages, as a fingerprint, as a source map. Where they are, a note says so."""
    plan = build(BuildRequest(character={"name": "Wenna"}, message="Hi", model="m", context_window=4000))
    for ask in (plan.to_messages, plan.fingerprint, plan.source_map):
        with pytest.raises(UsageError, match="option 'misspelt' is not known"):
            ask("openai", misspelt=1)
    assert any("misspelt" in note.message for note in plan.render("openai", misspelt=1).notes)
    assert any("misspelt" in note.message for note in plan.to_request("openai", misspelt=1).notes)
