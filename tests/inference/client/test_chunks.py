"""ChatFold: streamed pieces become the answer that would have come whole, whatever a provider's habits."""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.adapters.decoding import SplitCharacters
from innkeeper.inference.adapters.openai_chat import ChatReading
from innkeeper.inference.client.chat import ChatFold, ChatRecording
from innkeeper.inference.errors import MAX_TOOL_CALLS
from innkeeper.inference.response.events import CallDelta, TextDelta
from innkeeper.prompt.text import text_of, whole_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "index", "content", "tool_calls", "function", "name", "arguments", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def chunk(**delta: Any) -> dict[str, Any]:
    """A chunk with one delta of choice 0."""
    return {"choices": [{"index": 0, "delta": delta}]}


def calls(*pieces: dict[str, Any]) -> dict[str, Any]:
    """A chunk with pieces of tool calls."""
    return chunk(tool_calls=list(pieces))


def fold(*chunks: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text as it was shown, and the message at the end."""
    recording = ChatRecording()
    shown = shown_by(recording, *copy.deepcopy(chunks))
    return shown, recording.body["choices"][0]["message"]


def shown_by(recording: ChatRecording, *chunks: Any) -> str:
    """The text of the events that a reading makes of chunks."""
    split, texts = SplitCharacters(), []
    for chunk in chunks:
        for event in recording.chunk(chunk, "message"):
            texts += [whole.text for whole in split.take(event) if isinstance(whole, TextDelta)]
    return "".join([*texts, *(whole.text for whole in split.end() if isinstance(whole, TextDelta))])


@dataclass(frozen=True)
class Case:
    chunks: tuple[dict[str, Any], ...]
    message: dict[str, Any]
    text: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def call(name: str = "look", arguments: Any = "{}", id: str = "1") -> dict[str, Any]:  # noqa: A002 - the wire's name
    """A whole call."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def called(*whole: dict[str, Any]) -> dict[str, Any]:
    """A message that only calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(whole)}


CASES = {
    "text": Case(
        (chunk(role="assistant", content="He"), chunk(content="y")), {"role": "assistant", "content": "Hey"}, "Hey"
    ),
    "no_text": Case((chunk(role="assistant"), chunk()), {"role": "assistant", "content": ""}),
    "null_text": Case((chunk(content=None),), {"role": "assistant", "content": ""}),
    "parts": Case((chunk(content=[{"type": "text", "text": "a"}]),), {"role": "assistant", "content": "a"}, "a"),
    "reasoning": Case(
        (chunk(reasoning="th"), chunk(reasoning="en", content="x")),
        {"role": "assistant", "content": "x", "reasoning": "then"},
        "x",
    ),
    "reasoning_details": Case(
        (chunk(reasoning_details=[{"text": "a"}]), chunk(reasoning_details=[{"text": "b"}], content="x")),
        {"role": "assistant", "content": "x", "reasoning_details": [{"text": "a"}, {"text": "b"}]},
        "x",
    ),
    "arguments_in_pieces": Case(
        (
            calls({"index": 0, "id": "1", "function": {"name": "look", "arguments": ""}}),
            calls({"index": 0, "function": {"arguments": '{"x":'}}),
            calls({"index": 0, "function": {"arguments": "1}"}}),
        ),
        called(call(arguments='{"x":1}')),
    ),
    "id_and_name_every_time": Case(
        (
            calls({"index": 0, "id": "1", "function": {"name": "look", "arguments": "{"}}),
            calls({"index": 0, "id": "1", "function": {"name": "look", "arguments": "}"}}),
        ),
        called(call()),
    ),
    "arguments_null": Case(
        (calls({"index": 0, "id": "1", "function": {"name": "look", "arguments": None}}),), called(call(arguments=""))
    ),
    "arguments_missing": Case(
        (
            calls({"index": 0, "id": "1", "function": {"name": "look"}}),
            calls({"index": 0, "function": {"arguments": "{}"}}),
        ),
        called(call()),
    ),
    "arguments_an_object": Case(
        (calls({"index": 0, "id": "1", "function": {"name": "look", "arguments": {"x": 1}}}),),
        called(call(arguments={"x": 1})),
    ),
    "two_interleaved": Case(
        (
            calls({"index": 0, "id": "1", "function": {"name": "look", "arguments": "{"}}),
            calls({"index": 1, "id": "2", "function": {"name": "go", "arguments": "{"}}),
            calls({"index": 0, "function": {"arguments": "}"}}, {"index": 1, "function": {"arguments": "}"}}),
        ),
        called(call(), call("go", id="2")),
    ),
    "without_numbers": Case(
        (
            calls({"id": "1", "function": {"name": "look", "arguments": "{"}}),
            calls({"id": "1", "function": {"arguments": "}"}}),
            calls({"id": "2", "function": {"name": "go", "arguments": "{"}}),
            calls({"function": {"arguments": "}"}}),
        ),
        called(call(), call("go", id="2")),
    ),
    "signature_beside_a_call": Case(
        (calls({"index": 0, "id": "1", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"s": 1}}),),
        called({**call(), "extra_content": {"s": 1}}),
    ),
    "old_function_call": Case(
        (chunk(function_call={"name": "look", "arguments": "{"}), chunk(function_call={"arguments": "}"})),
        {"role": "assistant", "content": "", "function_call": {"name": "look", "arguments": "{}"}},
    ),
    "surrogates_apart": Case(
        (chunk(content="\ud83d"), chunk(content="\ude42!")), {"role": "assistant", "content": "🙂!"}, "🙂!"
    ),
    "half_a_character": Case((chunk(content="a\ud83d"),), {"role": "assistant", "content": "a\ufffd"}, "a\ufffd"),
    "odd_shapes": Case(
        ({"choices": [None, 3, {"index": 0, "delta": "x"}, {"delta": {"tool_calls": [1], "content": 4}}]},),
        {"role": "assistant", "content": ""},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fold(case: Case) -> None:
    """The message at the end is the one an unstreamed answer would have held."""
    assert fold(*case.chunks) == (case.text, case.message)


def test_facts_around_the_message() -> None:
    """Id, model, usage and finish reason survive, whichever chunk brings them; other choices are kept apart."""
    folded = ChatRecording()
    shown = shown_by(
        folded,
        {"id": "c1", "model": "m", "choices": [{"index": 1, "delta": {"content": "other"}}]},
        {"id": "c1", "choices": [{"index": 0, "delta": {"content": "one"}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"total_tokens": 3}},
    )
    body = folded.body
    assert (body["id"], body["model"], body["usage"]) == ("c1", "m", {"total_tokens": 3})
    assert [choice["message"]["content"] for choice in body["choices"]] == ["one", "other"]
    assert (shown, body["choices"][0]["finish_reason"]) == ("one", "length")


def test_calls_are_limited() -> None:
    """Calls past the limit are not collected."""
    folded = ChatFold()
    for index in range(MAX_TOOL_CALLS + 5):
        folded.take(calls({"index": index, "id": str(index), "function": {"name": "f"}}))
    assert len(folded.body()["choices"][0]["message"]["tool_calls"]) == MAX_TOOL_CALLS


@given(st.lists(JSON.filter(lambda value: isinstance(value, dict)), max_size=4))
def test_any_chunks(chunks: list[dict[str, Any]]) -> None:
    """Whatever JSON comes, there is a body that is JSON, and the text shown has no half characters."""
    folded = ChatRecording()
    shown = shown_by(folded, *chunks)
    json.dumps(folded.body)
    shown.encode()


@given(st.text(st.characters(exclude_categories=())))
def test_whole_text(text: str) -> None:
    """Text without surrogates stays; with them it becomes text that can be encoded."""
    whole = whole_text(text)
    whole.encode()
    assert whole == text or any("\ud800" <= c <= "\udfff" for c in text)


@pytest.mark.parametrize(
    ("content", "text"),
    [("a", "a"), (None, ""), (3, ""), ([{"text": "a"}, {"image": 1}, {"text": "b"}, 4, {"text": 5}], "ab"), ({}, "")],
)
def test_text_of(content: Any, text: str) -> None:
    """Content is text, or parts of which the texts count."""
    assert text_of(content) == text


def test_whole() -> None:
    """A whole completion stays as it came."""
    message = {"role": "assistant", "content": None, "tool_calls": [call()]}
    body = {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    recording = ChatRecording()
    list(recording.whole(body))
    assert recording.body == body


@pytest.mark.parametrize("id_", [None, ""])
@pytest.mark.parametrize("index", [0, None, []])
def test_whole_calls_under_one_number_without_ids_stay_apart(index: Any, id_: str | None) -> None:
    """A name again after arguments that came whole begins the next call, in what is kept and in the events alike."""
    pieces = [
        {"index": index, "id": id_, "function": {"name": "look", "arguments": json.dumps({"room": n})}}
        for n in range(3)
    ]
    chunks = [calls({key: value for key, value in piece.items() if value is not None}) for piece in pieces]
    _, message = fold(*chunks)
    assert [json.loads(call["function"]["arguments"])["room"] for call in message["tool_calls"]] == [0, 1, 2]
    reading = ChatReading()
    events = [event for each in chunks for event in reading.chunk(each, "message") if isinstance(event, CallDelta)]
    assert [event.index for event in events] == [0, 1, 2]


@given(st.integers(2, 5), st.booleans())
def test_calls_that_begin_under_one_number_stay_apart(count: int, interleaved: bool) -> None:
    """Gateways that number parallel calls alike give each an id: then each is a call of its own."""
    begun = [
        {"index": 0, "id": f"c{number}", "function": {"name": "look", "arguments": '{"room":'}}
        for number in range(count)
    ]
    rest = [
        {"index": 0, "id": f"c{n}" if interleaved else None, "function": {"arguments": f"{n}}}"}} for n in range(count)
    ]
    pieces = [piece for pair in zip(begun, rest, strict=True) for piece in pair]
    _, message = fold(*map(calls, pieces))
    assert [call["id"] for call in message["tool_calls"]] == [f"c{number}" for number in range(count)]
    assert [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]] == [
        {"room": n} for n in range(count)
    ]
