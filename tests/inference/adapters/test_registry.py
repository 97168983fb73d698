"""All adapters alike: an answer says the same whole and streamed, however its bytes are cut."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects import DIALECTS
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.errors import DecodeError, ReplyError, StreamCutError
from innkeeper.inference.response.response import Usage
from tests.inference.adapters.answers import JSON, SAID, WIRES, Said, Wire, answer, cut, events

wires = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
CUTS = st.lists(st.integers(0, 10_000), max_size=12)


def test_every_adapter_has_a_wire() -> None:
    """No adapter is registered without being tried here, and each has a dialect that writes its bodies."""
    assert set(ADAPTERS) == set(WIRES)
    assert all(adapter.dialect in DIALECTS for adapter in ADAPTERS.values())


def outline(said: Said) -> tuple[Any, ...]:
    """What a response of this answer says."""
    calls = [(name, given) for _, name, given in said.calls]
    reason = "length" if said.length else "tool_calls" if calls else "stop"
    return "".join(said.text), "".join(said.thoughts), calls, reason, said.usage


@wires
@given(said=SAID, length=st.booleans())
def test_whole(wire: Wire, said: Said, length: bool) -> None:
    """A whole answer is what was said: text, thoughts, calls, why it ended, and how much it was."""
    said = wire.fit(Said(said.text, said.thoughts, () if length else said.calls, said.usage, length))
    response = answer(wire.adapter, wire.whole(said))
    calls = [(call.name, json.loads(call.arguments)) for call in response.calls]
    usage = response.usage or Usage()
    found = (response.text, response.reasoning, calls, response.finish, (usage.input_tokens, usage.output_tokens))
    assert found == outline(said)
    assert response.status == ("incomplete" if length else "completed")


@wires
@given(said=SAID, cuts=CUTS)
def test_whole_is_streamed(wire: Wire, said: Said, cuts: list[int]) -> None:
    """A stream in any pieces comes to the very response of the whole answer."""
    said = wire.fit(said)
    streamed = answer(wire.adapter, cut(wire.stream(said), cuts), wire.kind)
    whole = answer(wire.adapter, wire.whole(said))
    assert _compared(streamed.to_dict()) == _compared(whole.to_dict())


def _compared(body: dict[str, Any]) -> dict[str, Any]:
    """A response but for how its calls' arguments are spaced, and without what the provider wrote of the tokens."""
    for item in body["output"]:
        if item["type"] == "function_call":
            item["arguments"] = json.loads(item["arguments"])
    body["provider"].pop("usage", None)
    body["provider"].pop("usageMetadata", None)
    return body


@wires
@given(said=SAID, cuts=CUTS)
def test_any_cutting_gives_the_same_events(wire: Wire, said: Said, cuts: list[int]) -> None:
    """The events are those of the bytes, not of how they came."""
    raw = wire.stream(wire.fit(said))
    assert events(wire.adapter, cut(raw, cuts), wire.kind) == events(wire.adapter, raw, wire.kind)


@wires
@given(place=st.integers(0, 10_000))
def test_a_stream_that_is_cut(wire: Wire, place: int) -> None:
    """A stream that ends anywhere before its end is an error, or what had come was all that matters; never a short answer."""
    said = wire.fit(Said(("It is ", "läte."), ("Hm. ",)))
    raw = wire.stream(said)
    try:
        response = answer(wire.adapter, raw[: place % len(raw)], wire.kind)
    except (StreamCutError, DecodeError):
        return
    assert (response.text, response.finish) == ("It is läte.", "stop")


@wires
def test_an_error_in_an_answer(wire: Wire) -> None:
    """An error with a success status is the provider's error, whole or in the middle of a stream."""
    body = {"error": {"message": "No more.", "code": "overloaded"}}
    with pytest.raises(ReplyError, match=r"No more\.") as caught:
        answer(wire.adapter, json.dumps(body).encode())
    assert caught.value.code == "overloaded"
    line = json.dumps(body).encode() + b"\n"
    piece = line if wire.kind == "application/x-ndjson" else b"data: " + line + b"\n"
    with pytest.raises(ReplyError, match=r"No more\."):
        answer(wire.adapter, piece + wire.stream(Said()), wire.kind)


@wires
@pytest.mark.parametrize("body", [b"{}", b'{"detail": "Not Found"}', b"[]", b"null"], ids=repr)
def test_a_body_of_another_kind(wire: Wire, body: bytes) -> None:
    """JSON that is none of the protocol's is an error."""
    with pytest.raises(DecodeError):
        answer(wire.adapter, body, JSON)


ODD: Final[tuple[Any, ...]] = (None, True, -1, 10**30, "\ud83d", [], {}, [[]], {"type": []})
"""What no protocol has in most places."""


def _mutants(data: Any) -> Iterator[Any]:
    """Data as often as it has values, each time with another of them odd."""
    yield from ODD
    if isinstance(data, dict):
        yield from ({**data, key: odd} for key, value in data.items() for odd in _mutants(value))
    elif isinstance(data, list):
        yield from ([*data[:at], odd, *data[at + 1 :]] for at, value in enumerate(data) for odd in _mutants(value))


@wires
def test_an_odd_value_anywhere(wire: Wire) -> None:
    """One value of a real answer that is of another kind: it is events or an error of ours, whole and in a stream."""
    said = wire.fit(Said(("Aye. ", "No."), ("Hm.",), (("c1", "look", {"room": "a"}),), (9, 3)))
    lines = wire.stream(said).split(b"\n")
    bodies = [(json.dumps(odd).encode(), JSON) for odd in _mutants(json.loads(wire.whole(said)))]
    for at, line in enumerate(lines):
        head, brace, rest = line.partition(b"{")
        bodies += [
            (b"\n".join([*lines[:at], head + json.dumps(odd).encode(), *lines[at + 1 :]]), wire.kind)
            for odd in (_mutants(json.loads(brace + rest)) if brace else ())
        ]
    for body, kind in bodies:
        with suppress(DecodeError, ReplyError, StreamCutError):
            answer(wire.adapter, body, kind).to_dict()


KEYS = (
    *("type", "choices", "delta", "message", "content", "text", "tool_calls", "function", "arguments", "name", "index"),
    *("output", "item", "output_index", "status", "response", "summary", "annotations", "content_block", "usage"),
    *("candidates", "parts", "functionCall", "args", "thought", "finishReason", "promptFeedback", "blockReason"),
    *(
        "done",
        "thinking",
        "stop",
        "token",
        "results",
        "reasoning_details",
        "logprobs",
        "citation",
        "input",
        "signature",
    ),
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*KEYS, "output_text", "tool_use", "", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@wires
@given(data=ANYTHING)
def test_any_json(wire: Wire, data: Any) -> None:
    """Whatever JSON comes in, it is events or an error of ours."""
    raw = json.dumps(data).encode()
    for body, kind in ((raw, JSON), (b"data: " + raw + b"\n\ndata: [DONE]\n\n", "text/event-stream")):
        with suppress(DecodeError, ReplyError, StreamCutError):
            answer(wire.adapter, body, kind).to_dict()
