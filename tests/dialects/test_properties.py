"""What holds for every dialect and any messages: JSON out, nothing changed, nothing random, nothing dropped in silence."""

import re
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects import DIALECTS, convert
from innkeeper.prompt import Message, Tool
from innkeeper.prompt.payload.dialect import Dialect
from innkeeper.prompt.text import scalar_text
from tests.dialects.talks import ALL, CHAT, TALKS, leaves, message, orderly, spelt
from tests.prompt.doubles import ANY_TEXT, JSON

TOOLS = (Tool("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}}), Tool("look", strict=True))
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "temperature": JSON,
        "max_tokens": st.integers(1, 99),
        "stop": JSON | st.lists(ANY_TEXT, max_size=8),
        "tool_choice": JSON | st.sampled_from(["auto", "none", "required", "add"]),
        "response_format": JSON | st.sampled_from(["json", {"type": "json_schema", "schema": {"type": "object"}}]),
        "reasoning_effort": st.sampled_from(["none", "minimal", "low", "high"]),
        "parallel_tool_calls": st.booleans(),
        "repair": st.booleans(),
        "system": st.sampled_from(["keep", "hoist", "leading", "inline_user"]),
        "names": st.sampled_from(["field", "prefix", "drop"]),
        "no such option": JSON,
        "extra": st.dictionaries(st.sampled_from(["logit_bias", "tools"]), st.lists(st.integers(), max_size=2)),
    },
)


@given(talk=TALKS, options=OPTIONS)
def test_any_messages_give_json(talk: tuple[Message, ...], options: dict[str, Any]) -> None:
    """Whatever comes in, a request body is plain data that encodes as UTF-8 JSON and reads back equal."""
    for dialect in ALL:
        payload = DIALECTS[dialect].request(talk, model="m", options=options, tools=TOOLS)
        assert msgspec.json.decode(msgspec.json.encode(payload.body)) == payload.body
        assert all(type(note.message) is str for note in payload.notes)
        msgspec.json.encode([note.to_dict() for note in payload.notes])


@given(talk=TALKS, options=OPTIONS)
def test_nothing_is_changed_and_nothing_is_random(talk: tuple[Message, ...], options: dict[str, Any]) -> None:
    """A conversion leaves messages and options as they were, and a second one gives the same bytes and notes."""
    for dialect in ALL:
        before = deepcopy((talk, options))
        first = DIALECTS[dialect].request(talk, model="m", options=options, tools=TOOLS)
        wanted, notes = spelt(first.body), first.notes
        _scribble(first.body)
        second = DIALECTS[dialect].request(talk, model="m", options=options, tools=TOOLS)
        assert (talk, options) == before
        assert (spelt(second.body), second.notes) == (wanted, notes)


def _scribble(value: Any) -> None:
    """Change everything in a payload that can be changed."""
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for item in inner:
        _scribble(item)
    if isinstance(value, (dict, list)):
        value.clear()


@given(talk=TALKS, options=OPTIONS)
def test_the_order_of_options_does_not_matter(talk: tuple[Message, ...], options: dict[str, Any]) -> None:
    """Options in another order give the same bytes."""
    for dialect in ALL:
        turned = dict(reversed(options.items()))
        one, other = (
            DIALECTS[dialect].request(talk, model="m", options=each, tools=TOOLS) for each in (options, turned)
        )
        assert spelt(one.body) == spelt(other.body)


@given(talk=TALKS)
def test_no_text_is_dropped(talk: tuple[Message, ...]) -> None:
    """The text of every message is in the payload, white space at its ends aside, unless it is an object that Gemini unfolds."""
    for dialect in ALL:
        payload = DIALECTS[dialect].messages(talk, {})
        found = "\n".join(leaves(payload.body))
        for each in talk:
            text = scalar_text(each.content).strip()
            assert text in found or (text.startswith("{") and dialect in ("gemini", "google"))


@given(talk=TALKS)
def test_no_attachment_is_dropped_in_silence(talk: tuple[Message, ...]) -> None:
    """As many attachments as there are go into the payload or into a note of loss that names message and kind."""
    for dialect in ALL:
        payload = DIALECTS[dialect].messages(talk, {"repair": False})
        lost = {
            index
            for note in payload.notes
            if "attachment was left out" in note.message
            for index in note.data["messages"]
        }
        found = spelt(payload.body)
        for index, each in enumerate(talk):
            for attachment in each.attachments:
                there = scalar_text(attachment.data or attachment.url or "")
                assert index in lost or spelt(re.sub("^data:[^,]*,", "", there))[1:-1] in found


@given(talk=TALKS)
def test_no_metadata_is_dropped_in_silence(talk: tuple[Message, ...]) -> None:
    """A metadata key that no provider has is reported, once, with the messages that have it."""
    for dialect in ALL:
        payload = DIALECTS[dialect].messages(talk, {})
        having = tuple(index for index, each in enumerate(talk) if each.metadata.get("other"))
        noted = [note.data["messages"] for note in payload.notes if "metadata 'other'" in note.message]
        assert noted == ([having] if having else [])


@given(talk=TALKS, mode=st.sampled_from(["keep", "hoist", "leading", "inline_user"]))
def test_no_text_gains_trust(talk: tuple[Message, ...], mode: str) -> None:
    """System text of a payload is made of system messages only, whatever roles and repairs there are."""
    for dialect in ALL:
        marked = [_marked(each, index) for index, each in enumerate(talk)]
        payload = DIALECTS[dialect].messages(marked, {"system": mode})
        for text in _system_texts(payload.body):
            for index, each in enumerate(talk):
                assert f"<{index}>" not in text or each.role in ("system", "developer")


def _marked(each: Message, index: int) -> Message:
    return Message(each.role, f"<{index}>", each.name, each.attachments, each.metadata)


def _system_texts(body: Any) -> list[str]:
    if isinstance(body, dict):
        top: list[Any] = [body.get(key, "") for key in ("system", "system_instruction", "instructions")]
        listed: list[Any] = next((body[key] for key in ("messages", "contents", "input") if key in body), [])
    else:
        top, listed = [], list(body)
    return [*leaves(top), *(text for each in listed if each.get("role") == "system" for text in leaves(each))]


@given(talk=orderly())
def test_orderly_talk_needs_no_repair_of_tools(talk: tuple[Message, ...]) -> None:
    """Where each call is answered at once, no dialect moves, adds or turns a message; ids may be rewritten."""
    for dialect in CHAT:
        payload = DIALECTS[dialect].messages(talk, {})
        words = ("moved", "without a result", "answers no call", "sent as a user")
        assert not [note.message for note in payload.notes if any(word in note.message for word in words)]


@pytest.mark.parametrize("dialect", ALL)
def test_a_dialect_keeps_the_contract(dialect: str) -> None:
    """Each is a `Dialect`, registered by its own name."""
    found = DIALECTS[dialect]
    assert isinstance(found, Dialect)
    assert found.name == dialect
    assert dialect in repr(found)


@pytest.mark.parametrize("dialect", ALL)
def test_no_messages(dialect: str) -> None:
    """No messages at all give a payload too."""
    assert convert([], dialect) is not None


@pytest.mark.parametrize("dialect", ALL)
def test_surrogates_are_replaced_and_reported(dialect: str) -> None:
    """A lone surrogate becomes U+FFFD everywhere, and a note says so."""
    payload = DIALECTS[dialect].messages([Message("user", "a\ud800b"), message("user", "é")], {})
    assert "a\ufffdb" in "".join(leaves(payload.body))
    assert [note.data["messages"] for note in payload.notes if "surrogate" in note.message] == [(0,)]
