"""A foreign wire's required fields keep the wire's types, and each call stays by itself."""

import pytest

from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.response.events import CallDelta, Finished, ModelEvent, ReasoningDelta, TextDelta, UsageReport
from innkeeper.inference.response.fold import ResponseFold, response_of
from innkeeper.inference.response.response import Usage
from innkeeper.inference.response.views.chat import CHAT
from innkeeper.inference.response.views.messages import MESSAGES
from innkeeper.inference.response.views.responses import RESPONSES


def test_figures_of_messages_are_whole_numbers() -> None:
    """Where nobody tells the usage, the start of a stream says 0 and a message an estimate: what clients can read."""
    start = MESSAGES.stream(ResponseFold("resp_1", "m", 0)).start()[0]
    data = start.data
    assert isinstance(data, dict)
    whole = MESSAGES.whole(
        response_of([TextDelta(text="a"), Finished(reason="stop")], response_id="r", model="m", created=0)
    )
    figures = [(usage["input_tokens"], usage["output_tokens"]) for usage in (data["message"]["usage"], whole["usage"])]
    assert figures == [(0, 0), (0, 1)]


PARTLY: list[tuple[dict[str, int], tuple[int, int] | None]] = [
    ({}, None),
    ({"total_tokens": 9}, None),
    ({"output_tokens": 4, "total_tokens": 9}, (5, 4)),
    ({"input_tokens": 5}, (5, 0)),
    ({"input_tokens": 5, "output_tokens": 4}, (5, 4)),
]


@pytest.mark.parametrize(("told", "figures"), PARTLY, ids=[str(told) for told, _ in PARTLY])
def test_usage_has_the_types_of_the_wire(told: dict[str, int], figures: tuple[int, int] | None) -> None:
    """What a provider tells in part is whole numbers for clients of OpenAI's protocols, or null as a whole."""
    types = pytest.importorskip("openai.types")
    events: list[ModelEvent] = [TextDelta(text="a"), UsageReport(usage=Usage(**told)), Finished(reason="stop")]
    response = response_of(events, response_id="r", model="m", created=0)
    chat, whole = CHAT.whole(response)["usage"], RESPONSES.whole(response)["usage"]
    if figures is None:
        assert (chat, whole) == (None, None)
        return
    read = types.CompletionUsage.model_validate(chat)
    assert (read.prompt_tokens, read.completion_tokens) == figures
    read = types.responses.ResponseUsage.model_validate(whole)
    assert (read.input_tokens, read.output_tokens) == figures


def test_thoughts_of_other_protocols_are_the_summary() -> None:
    """Thoughts from a provider without items stand where clients of Responses read them, whole and streamed."""
    events: list[ModelEvent] = [ReasoningDelta(text="so"), TextDelta(text="Hi"), Finished(reason="stop")]
    whole = RESPONSES.whole(response_of(events, response_id="resp_1", model="m", created=0))
    assert whole["output"][0]["summary"] == [{"type": "summary_text", "text": "so"}]
    writer = RESPONSES.stream(ResponseFold("resp_1", "m", 0))
    names = [sent.name for event in events for sent in writer.take(event)]
    assert "response.reasoning_summary_text.delta" in names
    given: list[ModelEvent] = [ReasoningDelta(text="so", new=True, item_id="rs_of_theirs"), Finished(reason="stop")]
    kept = RESPONSES.whole(response_of(given, response_id="resp_1", model="m", created=0))
    assert kept["output"][0]["content"] == [{"type": "reasoning_text", "text": "so"}]


def test_streamed_calls_of_one_index_and_two_ids_stay_apart() -> None:
    """Two calls that a gateway streams under one number are two calls, each with its own arguments."""
    reading = ADAPTERS["openai-chat"].reading()

    def chunk(call: dict[str, object]) -> list[CallDelta]:
        data = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **call}]}}]}
        return [event for event in reading.chunk(data, "message") if isinstance(event, CallDelta)]

    pieces: list[dict[str, object]] = [
        {"id": "a", "function": {"name": "look", "arguments": '{"x":'}},
        {"function": {"arguments": "1}"}},
        {"id": "b", "function": {"name": "look", "arguments": '{"x":'}},
        {"function": {"arguments": "2}"}},
    ]
    response = response_of([event for piece in pieces for event in chunk(piece)], response_id="r", model="m", created=0)
    assert [(call.call_id, call.arguments) for call in response.calls] == [("a", '{"x":1}'), ("b", '{"x":2}')]
