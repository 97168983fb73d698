"""anthropic-messages: blocks as items, usage with what was cached, and why a message ended."""

import json
from typing import Any

import pytest

from innkeeper.inference.adapters.anthropic_messages import ANTHROPIC_VERSION, AnthropicMessages
from innkeeper.inference.errors import DecodeError, ReplyError, StreamCutError
from innkeeper.inference.response.response import MessageItem, ModelResponse, OtherItem, ReasoningItem, Usage
from innkeeper.prompt import freeze
from tests.inference.adapters.answers import SSE, answer, sse


def whole(*content: dict[str, Any], **facts: Any) -> ModelResponse:
    """What a whole message comes to."""
    body = {"id": "msg_9", "type": "message", "model": "real", "content": list(content), "stop_reason": "end_turn"}
    return answer("anthropic-messages", json.dumps({**body, **facts}).encode())


def streamed(*events: dict[str, Any], **end: Any) -> ModelResponse:
    """What a stream comes to."""
    begin = {"type": "message_start", "message": {"id": "msg_9", "model": "real", "content": []}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn", **end}}
    return answer("anthropic-messages", sse(begin, *events, delta, {"type": "message_stop"}, named=True), SSE)


def block(index: int, begin: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": begin},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def test_headers() -> None:
    """The key has a header of its own, and the version of the protocol is said."""
    assert AnthropicMessages().headers("k") == {"x-api-key": "k", "anthropic-version": ANTHROPIC_VERSION}
    assert AnthropicMessages().headers("") == {"anthropic-version": ANTHROPIC_VERSION}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 7},
            Usage(input_tokens=125, output_tokens=7, cached_tokens=100, cache_write_tokens=20),
        ),
        ({"input_tokens": 5, "output_tokens": 7}, Usage(input_tokens=5, output_tokens=7)),
        (
            {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}},
            Usage(output_tokens=7, reasoning_tokens=4),
        ),
        ({}, None),
    ],
    ids=["cached", "plain", "thoughts", "nothing"],
)
def test_usage(usage: dict[str, Any], expected: Usage | None) -> None:
    """What was cached is included in the input, and what is not told is not known."""
    assert whole({"type": "text", "text": "x"}, usage=usage).usage == expected


def test_usage_grows() -> None:
    """What the beginning told counts until the end tells it anew."""
    begin = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 9, "output_tokens": 1}},
    }
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 30}}
    response = answer("anthropic-messages", sse(begin, end, {"type": "message_stop"}), SSE)
    assert response.usage == Usage(input_tokens=14, output_tokens=30, cached_tokens=9)


@pytest.mark.parametrize(
    ("said", "finish", "status"),
    [
        ("end_turn", "stop", "completed"),
        ("stop_sequence", "stop", "completed"),
        ("max_tokens", "length", "incomplete"),
        ("model_context_window_exceeded", "length", "incomplete"),
        ("pause_turn", "length", "incomplete"),
        ("tool_use", "tool_calls", "completed"),
        ("refusal", "refusal", "completed"),
        ("something_new", "stop", "completed"),
    ],
)
def test_finish(said: str, finish: str, status: str) -> None:
    """The provider's word and ours, whole and streamed."""
    text = {"type": "text", "text": "x"}
    for response in (whole(text, stop_reason=said), streamed(*block(0, text), stop_reason=said)):
        assert (response.finish, response.status, response.provider["finish_reason"]) == (finish, status, said)


def test_a_refusal_is_told_word_for_word() -> None:
    """Where the provider explains a refusal, its words are there."""
    details = {"type": "refusal", "category": "cyber", "explanation": "I cannot help with that."}
    for response in (
        whole(stop_reason="refusal", stop_details=details),
        streamed(stop_reason="refusal", stop_details=details),
    ):
        assert (response.refusal, response.finish) == ("I cannot help with that.", "refusal")
        assert response.provider["stop_details"] == details


def test_thoughts() -> None:
    """Thoughts and their signatures, shown or kept back, are items of their own, in order."""
    signed = {"type": "thinking", "thinking": "hm", "signature": "s1"}
    unshown = {"type": "thinking", "thinking": "", "signature": "s2"}
    sealed = {"type": "redacted_thinking", "data": "d"}
    expected = [(("hm",), "s1", False), ((), "s2", False), ((), "d", True)]
    bare = {"type": "thinking", "thinking": "", "signature": ""}
    stream = streamed(
        *block(0, bare, {"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "s1"}),
        *block(1, bare, {"type": "signature_delta", "signature": "s2"}),
        *block(2, sealed),
    )
    for response in (whole(signed, unshown, sealed), stream):
        found = [item for item in response.output if isinstance(item, ReasoningItem)]
        assert [(tuple(filter(None, item.content)), item.signature or "", item.redacted) for item in found] == expected


def test_citations() -> None:
    """Text blocks in a row are parts of one message, each with its citations."""
    note = {"type": "web_search_result_location", "url": "u", "cited_text": "c"}
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "late", "citations": [note]},
    ]
    cited = {"type": "citations_delta", "citation": note}
    stream = streamed(
        *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "It is "}),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "late"}, cited),
    )
    for response in (whole(*blocks), stream):
        (message,) = response.output
        assert isinstance(message, MessageItem)
        assert [(part.text, part.annotations) for part in message.content] == [("It is ", ()), ("late", (note,))]  # type: ignore[union-attr]


def test_calls() -> None:
    """Input is an object or pieces of its text; a call without any has an empty object in both."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"x"', ": 1}")]
    stream = streamed(*block(0, use, *pieces), *block(1, {**use, "id": "toolu_2"}), stop_reason="tool_use")
    full = whole({**use, "input": {"x": 1}}, {**use, "id": "toolu_2"}, stop_reason="tool_use")
    for response in (stream, full):
        calls = [(call.call_id, call.name, json.loads(call.arguments)) for call in response.calls]
        assert calls == [("toolu_1", "f", {"x": 1}), ("toolu_2", "f", {})]


def test_tools_of_the_provider() -> None:
    """What its own tools were called with and found is given as it came, the pieces of its input read."""
    use = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"url": "u"}]}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"query"', ': "q"}')]
    for response in (
        streamed(*block(0, use, *pieces), *block(1, result)),
        whole({**use, "input": {"query": "q"}}, result),
    ):
        assert response.to_dict()["output"] == [{**use, "input": {"query": "q"}}, freeze(result)]
    broken = streamed(*block(0, use, pieces[0])).output[0]
    assert isinstance(broken, OtherItem)
    assert broken.item["input"] == '{"query"'


def test_errors() -> None:
    """An error event is the provider's error with its own word; without the end a stream was cut."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ReplyError, match="Overloaded") as caught:
        streamed(error)
    assert caught.value.code == "overloaded_error"
    with pytest.raises(StreamCutError):
        answer("anthropic-messages", sse({"type": "message_start", "message": {}}, {"type": "ping"}), SSE)
    with pytest.raises(DecodeError, match="no content"):
        answer("anthropic-messages", b'{"type": "message"}')
