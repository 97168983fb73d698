"""An answer in a surface's own protocol loses nothing on its way through it, whole or streamed: a client may send it all back."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from innkeeper.inference.client.chat import ChatRecording
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.response.views.chat import CHAT
from innkeeper.inference.response.views.messages import MESSAGES
from innkeeper.inference.response.views.responses import RESPONSES
from innkeeper.inference.response.views.view import View, json_bytes
from tests.inference.adapters.answers import JSON, SSE, answer, events


class Case(NamedTuple):
    """An answer of a provider, its adapter, and the view that writes it again."""

    adapter: str
    view: View
    body: dict[str, Any]


SEARCH: Final[dict[str, Any]] = {
    "type": "web_search_result",
    "url": "u",
    "title": "t",
    "encrypted_content": "e",
    "page_age": None,
}
CITED: Final[dict[str, Any]] = {"type": "char_location", "cited_text": "c", "document_index": 0, "start_char_index": 0}
BLOCKS: Final[list[dict[str, Any]]] = [
    {"type": "thinking", "thinking": "T", "signature": "S"},
    {"type": "redacted_thinking", "data": "R"},
    {"type": "text", "text": "a", "citations": [CITED]},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [SEARCH]},
    {"type": "text", "text": "b"},
    {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}},
    {"type": "container_upload", "file_id": "f"},
]
MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": BLOCKS,
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "container": {"id": "c", "expires_at": "x"},
    "context_management": {"applied_edits": []},
    "usage": {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_creation_input_tokens": 1,
        "cache_read_input_tokens": 2,
        "cache_creation": {"ephemeral_5m_input_tokens": 1},
        "server_tool_use": {"web_search_requests": 1},
        "service_tier": "standard",
    },
}
REFUSED: Final[dict[str, Any]] = {"type": "refusal", "category": "cyber", "explanation": "why"}
COMPLETION: Final[dict[str, Any]] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 5,
    "model": "m",
    "service_tier": "default",
    "provider": "Z",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "a",
                "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}],
                "audio": {"id": "au", "data": "AA", "transcript": "tr"},
                "reasoning_details": [
                    {"type": "reasoning.encrypted", "data": "E", "id": "x", "format": "f", "index": 0}
                ],
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                    {"id": "b", "type": "custom", "custom": {"name": "s", "input": "raw text"}},
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "cost": 0.01,
        "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 2, "audio_tokens": 1},
    },
}
RESPONSE: Final[dict[str, Any]] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m",
    "service_tier": "default",
    "output": [
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "s"}],
            "encrypted_content": "e",
        },
        {
            "type": "web_search_call",
            "id": "ws",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "ok", "annotations": [{"type": "url_citation", "url": "u"}]}],
        },
        {
            "type": "custom_tool_call",
            "id": "ct",
            "call_id": "c2",
            "name": "s",
            "input": "raw",
            "status": "completed",
        },
        {"type": "compaction", "id": "cm", "encrypted_content": "e"},
    ],
    "usage": {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 15,
    },
}
CASES: Final = {
    "messages": Case("anthropic-messages", MESSAGES, MESSAGE),
    "messages that pause": Case("anthropic-messages", MESSAGES, {**MESSAGE, "stop_reason": "pause_turn"}),
    "messages that refuse": Case(
        "anthropic-messages",
        MESSAGES,
        {**MESSAGE, "content": [], "stop_reason": "refusal", "stop_details": REFUSED},
    ),
    "completions": Case("openai-chat", CHAT, COMPLETION),
    "responses": Case("openai-responses", RESPONSES, RESPONSE),
}
OURS: Final = frozenset({".id", ".model", ".created"})
"""What a service says of itself."""

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def _changed(sent: Any, written: Any, path: str = "") -> Iterator[str]:
    """The paths of what was sent that are not written, or written otherwise."""
    if path in OURS:
        return
    if isinstance(sent, dict) and isinstance(written, dict):
        for name, value in sent.items():
            yield from _changed(value, written.get(name, ...), f"{path}.{name}")
    elif isinstance(sent, list) and isinstance(written, list) and len(sent) == len(written):
        for at, (one, other) in enumerate(zip(sent, written, strict=True)):
            yield from _changed(one, other, f"{path}[{at}]")
    elif sent != written:
        yield path


@cases
def test_a_whole_answer_is_written_as_it_came(case: Case) -> None:
    """Every field is there with its value, and no note says that something is missing."""
    response = answer(case.adapter, json.dumps(case.body).encode())
    written = json.loads(json_bytes(case.view.whole(response)))
    assert list(_changed(case.body, written)) == []
    assert "innkeeper" not in written


@cases
def test_a_stream_has_all_that_the_whole_answer_has(case: Case) -> None:
    """What a client of the protocol reads of the stream is what it would have read of the provider."""
    came = events(case.adapter, json.dumps(case.body).encode(), JSON)
    writer = case.view.stream(ResponseFold("resp_9", "m", 5), include_usage=True)
    sent = [*writer.start(), *(each for event in came for each in writer.take(event)), *writer.end()]
    if case.view is CHAT:  # whose pieces make one message, without an order
        recording = ChatRecording()
        for each in sent:
            if isinstance(each.data, dict):
                list(recording.chunk(json.loads(json_bytes(each.data)), "message"))
        assert set(_changed(case.body, recording.body)) <= {".object"}
        return
    read = answer(case.adapter, b"".join(each.encode() for each in sent), SSE)
    assert _said(read) == _said(answer(case.adapter, json.dumps(case.body).encode()))


def _said(response: ModelResponse) -> Any:
    """What an answer says, without the ids of what has none in the protocol."""
    body = response.to_dict()
    own = ("id", "created", "created_at", "model", "provider")
    items = [{name: value for name, value in item.items() if name != "id"} for item in body["output"]]
    facts = {name: value for name, value in body["provider"].items() if name in ("usage", "items", "service_tier")}
    return {name: value for name, value in body.items() if name not in own} | {"output": items, "provider": facts}
