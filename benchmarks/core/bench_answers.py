"""How fast a streamed answer is read: 2,000 pieces of text by adapters, as they come in packets; put together as a response."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.case import Case
from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.chat import ChatRecording
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.response.fold import response_of

ENDPOINT = Endpoint.of({"base_url": "http://provider", "api_key": ""}, None)
WORDS = [f"word{number} " for number in range(2_000)]
PACKET = 1_400
NOTE = "2,000 events"
EVENTS = {"content-type": "text/event-stream"}
LINES = {"content-type": "application/x-ndjson"}


def cases() -> Iterator[Case]:
    """Three protocols that differ most, and the chat of the client."""
    chat = _packets(_sse(*_chat()))
    yield Case("openai-chat", partial(_read, "openai-chat", chat, EVENTS), note=NOTE)
    yield Case(
        "anthropic-messages", partial(_read, "anthropic-messages", _packets(_sse(*_messages())), EVENTS), note=NOTE
    )
    yield Case("ollama-chat", partial(_read, "ollama-chat", _packets(_lines()), LINES), note=NOTE)
    yield Case("the client's chat", _chatted(chat), note=NOTE)


def _read(adapter: str, packets: list[bytes], headers: dict[str, str]) -> object:
    decoder = AnswerDecoder(ADAPTERS[adapter].reading(), ENDPOINT, 200, headers)
    events = [event for packet in packets for event in decoder.feed(packet)]
    return response_of([*events, *decoder.close()], response_id="resp_1", model="m", created=0)


def _chatted(packets: list[bytes]) -> Callable[[], object]:
    def run() -> object:
        recording = ChatRecording()
        decoder = AnswerDecoder(recording, ENDPOINT, 200, EVENTS)
        for packet in packets:
            list(decoder.feed(packet))
        list(decoder.close())
        return recording.reply(200, EVENTS)

    return run


def _packets(raw: bytes) -> list[bytes]:
    return [raw[start : start + PACKET] for start in range(0, len(raw), PACKET)]


def _sse(*data: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in data)


def _chat() -> Iterator[dict[str, Any]]:
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "service_tier": "default",
    }
    for word in WORDS:
        yield {**head, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}], "usage": None}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def _messages() -> Iterator[dict[str, Any]]:
    yield {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 9}},
    }
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for word in WORDS:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2_000}}
    yield {"type": "message_stop"}


def _lines() -> bytes:
    said = [{"model": "m", "message": {"role": "assistant", "content": word}, "done": False} for word in WORDS]
    last = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return b"".join(json.dumps(line).encode() + b"\n" for line in [*said, last])
