"""openai-responses: deltas, and what is only told later; items of all kinds; how a response fails."""

import json
from typing import Any

import pytest

from innkeeper.inference.errors import DecodeError, ReplyError, StreamCutError
from innkeeper.inference.response.events import OtherOutput, TextDelta
from innkeeper.inference.response.response import CallItem, MessageItem, ModelResponse, OtherItem, ReasoningItem
from tests.inference.adapters.answers import SSE, answer, events, sse

TEXT = {"type": "output_text", "text": "It is late.", "annotations": [{"type": "url_citation", "url": "u"}]}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [TEXT]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"x":1}'}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}],
    "encrypted_content": "sealed",
}


def body(*output: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """A response."""
    return {"id": "resp_9", "model": "real", "status": "completed", "error": None, "output": list(output), **facts}


def whole(*output: dict[str, Any], **facts: Any) -> ModelResponse:
    """What a whole answer comes to."""
    return answer("openai-responses", json.dumps(body(*output, **facts)).encode())


def test_items() -> None:
    """All items are there in order, with the ids that the provider gave them."""
    response = whole(THOUGHT, SEARCH, MESSAGE, CALL)
    thought, search, message, call = response.output
    assert isinstance(thought, ReasoningItem)
    assert (thought.id, thought.summary, thought.signature) == ("rs_1", ("A", "B"), "sealed")
    assert not thought.redacted
    assert isinstance(search, OtherItem)
    assert search.item == SEARCH
    assert isinstance(message, MessageItem)
    assert (message.id, response.text) == ("msg_1", "It is late.")
    assert isinstance(call, CallItem)
    assert (call.id, call.call_id, call.name, call.arguments) == ("fc_1", "call_1", "f", '{"x":1}')
    assert response.finish == "tool_calls"


def test_only_the_end() -> None:
    """A server that sends no deltas, but the items, or only the response at the end, is understood as well."""
    items: list[dict[str, Any]] = [THOUGHT, SEARCH, MESSAGE, CALL]
    done = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    end = {"type": "response.completed", "response": body(*items)}
    expected = whole(*items).to_dict()
    assert answer("openai-responses", sse(*done, end), SSE).to_dict() == expected
    assert answer("openai-responses", sse(end), SSE).to_dict() == expected
    assert answer("openai-responses", sse(*done, end, end), SSE).to_dict() == expected


def test_summaries() -> None:
    """Each part of a summary is a paragraph of its own."""
    at = {"output_index": 0, "item_id": "rs_1"}
    deltas: list[dict[str, Any]] = [{"type": "response.output_item.added", **at, "item": {**THOUGHT, "summary": []}}]
    for number, text in enumerate(("One. ", "Two.")):
        place = {**at, "summary_index": number}
        part = {"type": "summary_text", "text": ""}
        deltas.append({"type": "response.reasoning_summary_part.added", **place, "part": part})
        deltas += [
            {"type": "response.reasoning_summary_text.delta", **place, "delta": piece} for piece in (text[:2], text[2:])
        ]
        deltas.append({"type": "response.reasoning_summary_text.done", **place, "text": text})
    end = {"type": "response.completed", "response": body()}
    (item,) = answer("openai-responses", sse(*deltas, end), SSE).output
    assert isinstance(item, ReasoningItem)
    assert item.summary == ("One. ", "Two.")


def test_thoughts_that_are_kept_back() -> None:
    """Thoughts without a word that can be read are kept back: what is sealed stands for them."""
    (item,) = whole({**THOUGHT, "summary": []}).output
    assert item == ReasoningItem(id="rs_1", signature="sealed", redacted=True)


def test_annotations_once() -> None:
    """A note that came by itself does not come again with its item."""
    at = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    deltas = [
        {"type": "response.output_text.delta", **at, "delta": "It is late."},
        {"type": "response.output_text.annotation.added", **at, "annotation": TEXT["annotations"][0]},
        {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
    ]
    end = {"type": "response.completed", "response": body(MESSAGE)}
    assert answer("openai-responses", sse(*deltas, end), SSE).to_dict() == whole(MESSAGE).to_dict()


def test_parts_and_messages() -> None:
    """Two parts of a message stay two, and two messages in a row are two."""
    other = {**MESSAGE, "id": "msg_2", "content": [TEXT, {"type": "refusal", "refusal": "No."}, TEXT]}
    first, second = whole(MESSAGE, other).output
    assert isinstance(first, MessageItem)
    assert isinstance(second, MessageItem)
    assert (first.id, second.id) == ("msg_1", "msg_2")
    assert [type(part).__name__ for part in second.content] == ["TextPart", "RefusalPart", "TextPart"]


def test_a_refusal() -> None:
    """A refusal is why it ended."""
    response = whole({**MESSAGE, "content": [{"type": "refusal", "refusal": "I cannot."}]})
    assert (response.refusal, response.finish) == ("I cannot.", "refusal")


@pytest.mark.parametrize(
    ("facts", "finish", "status"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length", "incomplete"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter", "incomplete"),
        ({"status": "incomplete", "incomplete_details": None}, "length", "incomplete"),
        ({"status": "cancelled"}, "error", "failed"),
        ({"status": "queued"}, None, "incomplete"),
        ({"status": None}, "stop", "completed"),
    ],
    ids=["length", "filter", "unsaid", "cancelled", "queued", "none"],
)
def test_status(facts: dict[str, Any], finish: str | None, status: str) -> None:
    """How a response ended is why it is not whole."""
    response = whole(MESSAGE, **facts)
    assert (response.finish, response.status) == (finish, status)


FAILED = {"code": "server_error", "message": "It broke."}


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "response": body(status="failed", error=FAILED)},
        {"type": "error", **FAILED, "param": None},
        {"type": "error", "error": {"type": "server_error", "message": "It broke."}},
    ],
    ids=["failed", "error", "error_inside"],
)
@pytest.mark.parametrize("named", [False, True])
def test_failure_in_a_stream(event: dict[str, Any], named: bool) -> None:
    """A response that fails, and an error event, are the provider's error, with their type or without."""
    begin = {"type": "response.created", "response": body(status="in_progress")}
    with pytest.raises(ReplyError, match=r"It broke\.") as caught:
        answer("openai-responses", sse(begin, event, named=named), SSE)
    assert caught.value.code == "server_error"


def test_failure_of_a_whole() -> None:
    """A whole response that failed is the provider's error."""
    with pytest.raises(ReplyError, match=r"It broke\."):
        whole(status="failed", error=FAILED)


def test_cut_and_empty() -> None:
    """Without its end a stream was cut; a body without output is none of ours."""
    begin = {"type": "response.created", "response": body(status="in_progress")}
    with pytest.raises(StreamCutError):
        answer("openai-responses", sse(begin), SSE)
    with pytest.raises(DecodeError, match="no output"):
        answer("openai-responses", b'{"id": "x"}')


def test_unknown_items_come_whole() -> None:
    """An item of a kind without an event is told once, when it is done."""
    stream = sse(
        {"type": "response.output_item.added", "output_index": 0, "item": {**SEARCH, "status": "in_progress"}},
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
        {"type": "response.output_item.done", "output_index": 0, "item": SEARCH},
        {"type": "response.completed", "response": body(SEARCH)},
    )
    found = [event for event in events("openai-responses", stream, SSE) if isinstance(event, OtherOutput)]
    assert [event.item for event in found] == [SEARCH]


def test_what_an_item_says_besides() -> None:
    """Fields of an item that have no place are facts, by the item's id."""
    response = whole({**MESSAGE, "phase": "final_answer"})
    assert response.provider["items"] == {"msg_1": {"phase": "final_answer"}}


def test_logprobs_once() -> None:
    """Probabilities come with the deltas, and not again with what is told later."""
    at = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    spoken = [{"token": "x", "logprob": -1.0}]
    part = {"type": "output_text", "text": "x", "annotations": [], "logprobs": spoken}
    stream = sse(
        {"type": "response.output_text.delta", **at, "delta": "x", "logprobs": spoken},
        {"type": "response.output_text.done", **at, "text": "x", "logprobs": spoken},
        {"type": "response.output_item.done", "output_index": 0, "item": {**MESSAGE, "content": [part]}},
        {"type": "response.completed", "response": body({**MESSAGE, "content": [part]})},
    )
    texts = [event for event in events("openai-responses", stream, SSE) if isinstance(event, TextDelta)]
    assert [event.logprobs for event in texts] == [({"token": "x", "logprob": -1.0},)]
