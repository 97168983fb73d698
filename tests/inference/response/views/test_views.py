"""Every view: what its stream adds up to, as the official clients read it, is what it writes at once."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.response.events import (
    CallDelta,
    Finished,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    UsageReport,
)
from innkeeper.inference.response.fold import ResponseFold, response_of
from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.inference.response.views import legacy
from innkeeper.inference.response.views.chat import CHAT
from innkeeper.inference.response.views.completion import COMPLETION
from innkeeper.inference.response.views.messages import MESSAGES
from innkeeper.inference.response.views.responses import RESPONSES
from innkeeper.inference.response.views.sequence import Sequence as Order
from innkeeper.inference.response.views.view import ErrorFacts, ServerEvent, View
from innkeeper.prompt.data import freeze

ABOUT: dict[str, Any] = {"response_id": "resp_01J", "model": "inn", "created": 1_700_000_000}


def response(events: Sequence[ModelEvent]) -> ModelResponse:
    """The whole answer."""
    return response_of(events, **ABOUT)


def streamed(view: View, events: Sequence[ModelEvent], error: ErrorFacts | None = None) -> list[tuple[str, Any]]:
    """The names and the data of a stream, as they come over the wire."""
    writer = view.stream(ResponseFold(ABOUT["response_id"], ABOUT["model"], ABOUT["created"]), include_usage=True)
    sent = [*writer.start(), *(each for event in events for each in writer.take(event))]
    sent += writer.end() if error is None else writer.fail(error)
    read = []
    for one in sent:
        *name, data = one.encode().decode().removesuffix("\n\n").split("\n")
        text = data.removeprefix("data: ")
        word = name[0].removeprefix("event: ") if name else ""
        read.append((word, text if text == "[DONE]" else json.loads(text)))
    return read


def typed(kind: Any, data: Any) -> Any:
    """Data as the ``openai`` package reads it: types without validation."""
    from openai._models import construct_type

    return construct_type(type_=kind, value=data)


words = st.text(alphabet="ab é\n", min_size=1, max_size=4)


@st.composite
def answers(draw: Any) -> list[ModelEvent]:
    """The events of an answer: thoughts, words, refusals and calls in pieces, calls interleaved, then usage and the end."""
    events: list[ModelEvent] = [Started(id="up-1", model="theirs")] if draw(st.booleans()) else []
    for kind in draw(st.lists(st.sampled_from(["text", "refusal", "thought", "summary", "calls"]), max_size=4)):
        pieces = draw(st.lists(words, min_size=1, max_size=3))
        if kind == "text":
            part = draw(st.booleans())
            events += [TextDelta(text=it, new=not at, part=part and at == 1) for at, it in enumerate(pieces)]
        elif kind == "refusal":
            events += [RefusalDelta(text=piece) for piece in pieces]
        elif kind in ("thought", "summary"):
            summary = kind == "summary"
            events += [ReasoningDelta(text=it, summary=summary, new=not at) for at, it in enumerate(pieces)]
            if draw(st.booleans()):
                events.append(ReasoningDelta(signature="sealed", summary=summary))
        else:
            events += draw(_calls(sum(isinstance(event, CallDelta) and bool(event.name) for event in events)))
    figures = st.none() | st.integers(0, 99)
    if draw(st.booleans()):
        usage = Usage(input_tokens=draw(figures), output_tokens=draw(figures), reasoning_tokens=draw(figures))
        events.append(UsageReport(usage=usage))
    reason = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter", "refusal"]))
    return [*events, Finished(reason=reason, word=reason)]


@st.composite
def _calls(draw: Any, start: int) -> list[ModelEvent]:
    rows = []
    for index in range(start, start + draw(st.integers(1, 3))):
        text = json.dumps(draw(st.dictionaries(words, words, max_size=2)))
        cut = draw(st.integers(0, len(text)))
        head = CallDelta(index=index, call_id=f"call_{index}", name=f"tool_{index}")
        rows.append([head, *(CallDelta(index=index, arguments=piece) for piece in (text[:cut], text[cut:]) if piece)])
    mixed: list[ModelEvent] = []
    while rows:
        row = draw(st.sampled_from(rows))
        mixed.append(row.pop(0))
        rows = [row for row in rows if row]
    return mixed


@given(answers())
def test_chat_stream_is_the_whole(events: list[ModelEvent]) -> None:
    """The chunks, put together by the ``openai`` package, are the ``chat.completion``."""
    from openai._types import omit
    from openai.lib.streaming.chat._completions import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState(input_tools=omit, response_format=omit)
    chunks = [data for _, data in streamed(CHAT, events) if data != "[DONE]"]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant"}
    for chunk in chunks:
        state.handle_chunk(typed(ChatCompletionChunk, chunk))
    whole = CHAT.whole(response(events))
    got = state.current_completion_snapshot
    message, expected = got.choices[0].message, whole["choices"][0]["message"]
    assert (message.content, message.refusal) == (expected["content"], expected["refusal"])
    assert getattr(message, "reasoning_content", None) == expected.get("reasoning_content")
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
    assert calls == [
        (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in expected.get("tool_calls", [])
    ]
    assert got.choices[0].finish_reason == whole["choices"][0]["finish_reason"]
    assert chunks[-1]["usage"] == whole["usage"]
    assert whole["id"] == got.id


@given(answers())
def test_responses_stream_is_the_whole(events: list[ModelEvent]) -> None:
    """The events, put together by the ``openai`` package before the last one, have the output of the whole; numbers run on."""
    from openai._types import omit
    from openai.lib.streaming.responses._responses import ResponseStreamState
    from openai.types.responses import ResponseStreamEvent

    sent = streamed(RESPONSES, events)
    whole = json.loads(json.dumps(RESPONSES.whole(response(events))))
    assert [data["sequence_number"] for _, data in sent] == list(range(len(sent)))
    assert [name for name, _ in sent] == [data["type"] for _, data in sent]
    assert [name for name, _ in sent[:2]] == ["response.created", "response.in_progress"]
    assert sent[-1] == (f"response.{whole['status']}", {**sent[-1][1], "response": whole})
    done = [data["item"] for name, data in sent if name == "response.output_item.done"]
    assert done == in_order(whole["output"], done)
    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    for _, data in sent[:-1]:
        state.handle_event(typed(ResponseStreamEvent, data))
    snapshot = state._ResponseStreamState__current_snapshot
    read = [item.to_dict() for item in snapshot.output]
    said = [texts(item) for item in read]
    assert said == [texts(item) for item in whole["output"]]


def in_order(output: list[Any], done: list[Any]) -> list[Any]:
    """The items, once it is known that each was done once."""
    assert sorted(item["id"] for item in output) == sorted(item["id"] for item in done)
    return sorted(output, key=lambda item: [one["id"] for one in done].index(item["id"]))


def texts(item: dict[str, Any]) -> list[Any]:
    """What is said in an item. Of refusals and thoughts the package keeps no words while they come: those of the last count."""
    parts = item["content"] if item["type"] == "message" else []
    return [item["type"], item.get("arguments"), *(part.get("text") for part in parts)]


@given(answers())
def test_messages_stream_is_the_whole(events: list[ModelEvent]) -> None:
    """The events, put together by the ``anthropic`` package, are the ``message``; one block ends before the next begins."""
    from anthropic._models import construct_type
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    sent = streamed(MESSAGES, events)
    whole = MESSAGES.whole(response(events))
    kind: Any = RawMessageStreamEvent
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    opened: list[int] = []
    for name, data in sent:
        assert name == data["type"]
        if name == "content_block_start":
            assert data["index"] == len(opened)
            opened.append(data["index"])
        elif name == "content_block_delta":
            assert data["index"] == opened[-1]
        event: Any = construct_type(type_=kind, value=data)
        snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
    read = snapshot.to_dict()
    blocks = [
        {name: block[name] for name in expected}
        for block, expected in zip(read["content"], whole["content"], strict=True)
    ]
    assert blocks == whole["content"]
    assert read["stop_reason"] == whole["stop_reason"]
    assert {name: read["usage"].get(name) for name in whole["usage"]} == whole["usage"]
    assert [name for name, _ in sent[-2:]] == ["message_delta", "message_stop"]


@given(answers())
def test_completion_stream_is_the_whole(events: list[ModelEvent]) -> None:
    """The pieces of a text completion are its text; the last two say why it ended and what it took."""
    sent = [data for _, data in streamed(COMPLETION, events)]
    whole = COMPLETION.whole(response(events))
    assert sent[-1] == "[DONE]"
    assert "".join(data["choices"][0]["text"] for data in sent[:-2]) == whole["choices"][0]["text"]
    assert sent[-3]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert sent[-2]["usage"] == whole["usage"]


@given(answers())
def test_sequence_keeps_everything(events: list[ModelEvent]) -> None:
    """Nothing is lost or doubled, each call keeps its order, and no call is gone back to."""
    order = Order()
    came = [event for each in events for event in order.take(each)] + order.end()
    assert sorted(map(repr, came)) == sorted(map(repr, events))
    calls = [event.index for event in came if isinstance(event, CallDelta)]
    assert len({*calls}) == len([index for at, index in enumerate(calls) if at == 0 or calls[at - 1] != index])
    for index in {*calls}:
        mine = [[e for e in side if isinstance(e, CallDelta) and e.index == index] for side in (came, events)]
        assert mine[0] == mine[1]


FAILURE = ErrorFacts(502, "api_error", "stream_cut", "the stream broke")


@pytest.mark.parametrize(
    ("view", "last"),
    [
        (CHAT, {"error": {"type": "api_error", "code": "stream_cut", "message": "the stream broke", "param": None}}),
        (
            COMPLETION,
            {"error": {"type": "api_error", "code": "stream_cut", "message": "the stream broke", "param": None}},
        ),
        (MESSAGES, {"type": "error", "error": {"type": "api_error", "message": "the stream broke"}}),
    ],
    ids=["chat", "completion", "messages"],
)
def test_failure_in_the_middle(view: View, last: Any) -> None:
    """A stream in which something goes wrong ends with the error in the surface's own shape, and nothing after it."""
    sent = streamed(view, [TextDelta(text="Hel")], FAILURE)
    assert sent[-1][1] == last


def test_failed_response() -> None:
    """A response that fails in the middle says so, with what there was of it."""
    name, data = streamed(RESPONSES, [TextDelta(text="Hel")], FAILURE)[-1]
    assert name == "response.failed"
    assert data["response"]["error"] == {"code": "stream_cut", "message": "the stream broke"}
    assert data["response"]["output"][0]["content"][0]["text"] == "Hel"


REFUSED: list[ModelEvent] = [
    RefusalDelta(text="I can"),
    RefusalDelta(text="not help with that."),
    Finished(reason="refusal"),
]


def test_refusals_are_word_for_word() -> None:
    """A refusal's words stand in every view."""
    said, one = "I cannot help with that.", response(REFUSED)
    assert CHAT.whole(one)["choices"][0]["message"]["refusal"] == said
    assert COMPLETION.whole(one)["choices"][0]["text"] == said
    assert MESSAGES.whole(one)["content"] == [{"type": "text", "text": said}]
    assert MESSAGES.whole(one)["stop_reason"] == "refusal"
    assert RESPONSES.whole(one)["output"][0]["content"] == [{"type": "refusal", "refusal": said}]
    assert legacy.whole(one)["output"] == [{"type": "output_text", "text": said}]


def test_legacy_is_the_document_s() -> None:
    """Blocks, identifiers and figures as the document draws them; usage is null where nobody tells it."""
    calls: list[ModelEvent] = [
        CallDelta(index=0, call_id="call_1", name="sum", arguments='{"a":1}'),
        CallDelta(index=1, call_id="call_2", name="sum", arguments="{broken"),
    ]
    one = response([TextDelta(text="Hello"), *calls, Finished(reason="tool_calls")])
    assert legacy.whole(one) == {
        "id": "01J",
        "object": "response",
        "model": "inn",
        "created": 1_700_000_000,
        "output": [
            {"type": "output_text", "text": "Hello"},
            {"type": "tool_call", "tool_call": {"name": "sum", "arguments": {"a": 1}}, "call_id": "call_1"},
            {"type": "tool_call", "tool_call": {"name": "sum", "arguments_raw": "{broken"}, "call_id": "call_2"},
        ],
        "usage": None,
    }
    told = response([UsageReport(usage=Usage(input_tokens=1, output_tokens=2)), Finished(reason="stop")])
    assert legacy.whole(told)["usage"] == {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def test_what_has_no_place_is_named() -> None:
    """An item of a kind that a surface does not have is named in its answer, streamed too."""
    events: list[ModelEvent] = [
        TextDelta(text="x"),
        OtherOutput(item=freeze({"type": "web_search_call", "id": "ws_1"})),
        Finished(reason="stop"),
    ]
    sentence = "an item of type 'web_search_call' is not carried"
    for view in (CHAT, COMPLETION, MESSAGES):
        assert view.whole(response(events))["innkeeper"]["notes"][0] == sentence
        assert sum(data != "[DONE]" and "innkeeper" in data for _, data in streamed(view, events)) == 1
    assert legacy.left_out(response(events)) == [sentence]
    assert RESPONSES.whole(response(events))["output"][1] == {"type": "web_search_call", "id": "ws_1"}


def test_cached_tokens_are_apart_in_messages() -> None:
    """Anthropic's input tokens are those that no cache had."""
    told = Usage(input_tokens=10, output_tokens=2, cached_tokens=6, cache_write_tokens=1)
    usage = MESSAGES.whole(response([UsageReport(usage=told), Finished(reason="stop")]))["usage"]
    assert usage == {
        "input_tokens": 3,
        "output_tokens": 2,
        "cache_read_input_tokens": 6,
        "cache_creation_input_tokens": 1,
    }


def test_lone_surrogates_in_events() -> None:
    """A lone surrogate is escaped, at any door: the halves of a pair that two events bring meet again at the reader."""
    halves = [ServerEvent({"text": half}, "delta").encode() for half in ("\ud83d", "\ude00")]
    assert halves[0] == b'event: delta\ndata: {"text":"\\ud83d"}\n\n'
    texts = [json.loads(half.partition(b"data: ")[2])["text"] for half in halves]
    assert "".join(texts).encode("utf-16", "surrogatepass").decode("utf-16") == "\U0001f600"
    assert ServerEvent(b'{"a":1}').encode() == b'data: {"a":1}\n\n'


@pytest.mark.parametrize("view", [CHAT, MESSAGES, RESPONSES], ids=["chat", "messages", "responses"])
def test_an_answer_that_its_provider_ended_says_so(view: View) -> None:
    """With the provider's word for it, whole and streamed; Messages has a reason all the same, since its clients wait for one."""
    events: list[ModelEvent] = [TextDelta(text="Ay"), Finished(reason="error", word="MALFORMED_FUNCTION_CALL")]
    fold = ResponseFold("resp_1", "m", 0)
    writer = view.stream(fold)
    sent = [*writer.start(), *(each for event in events for each in writer.take(event)), *writer.end()]
    whole = view.whole(fold.response())
    streamed = b"".join(each.encode() for each in sent).decode()
    assert "MALFORMED_FUNCTION_CALL" in json.dumps(whole)
    assert "MALFORMED_FUNCTION_CALL" in streamed
    if view is MESSAGES:
        assert whole["stop_reason"] == "end_turn"
    if view is RESPONSES:
        assert (whole["status"], whole["error"]["code"]) == ("failed", "server_error")
