"""A request with one value of another kind, anywhere in it, is read and written, or refused by an error of ours."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import pytest

from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.requests.chat import read_chat
from innkeeper.inference.requests.messages import read_messages
from innkeeper.inference.requests.request import GenerationRequest, provider_request
from innkeeper.inference.requests.responses import read_responses
from innkeeper.inference.routing.models import request_tokens
from innkeeper.inference.routing.route import Route
from innkeeper.prompt.errors import InnkeeperError


class Case(NamedTuple):
    """A reader, and a body that has much of what its protocol knows."""

    read: Callable[[Mapping[str, Any]], GenerationRequest]
    body: dict[str, Any]


SCHEMA: Final = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object"}}}
CHAT: Final[dict[str, Any]] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": [{"type": "text", "text": "s"}]},
        {
            "role": "user",
            "name": "bo",
            "content": [
                {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
                {"type": "file", "file": {"file_id": "f"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "E", "index": 0}],
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "c2", "type": "custom", "custom": {"name": "s", "input": "raw"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "r"}]},
    ],
    "tools": [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}}
    ],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA, "strict": True}},
    "stop": ["x"],
    "max_completion_tokens": 7,
    "stream_options": {"include_usage": True},
}
MESSAGES: Final[dict[str, Any]] = {
    "model": "m",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "T"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "T", "signature": "S"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "r"}]}],
        },
    ],
    "tools": [{"name": "f", "description": "d", "input_schema": SCHEMA}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "metadata": {"user_id": "u"},
}
RESPONSES: Final[dict[str, Any]] = {
    "model": "m",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "https://x/a.png"}]},
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e"},
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "a", "annotations": [{"type": "url_citation", "url": "u"}]}],
        },
        {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "r"}]},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}, {"type": "web_search"}],
    "text": {"format": {"type": "json_schema", "name": "r", "schema": SCHEMA}},
    "reasoning": {"effort": "high"},
}
CASES: Final = {
    "chat": Case(read_chat, CHAT),
    "messages": Case(read_messages, MESSAGES),
    "responses": Case(read_responses, RESPONSES),
}
ROUTES: Final = [Route.of("r", f"{name}:m") for name in ("openai", "anthropic", "gemini", "openai-responses")]
ODD: Final[tuple[Any, ...]] = (None, True, -1, 10**30, 1.5, "\ud83d", [], {}, [[]], {"type": []})


def _mutants(value: Any) -> Iterator[Any]:
    """A value as often as it has others in it, each time with one of them odd."""
    yield from ODD
    if isinstance(value, dict):
        yield from ({**value, name: odd} for name, inner in value.items() for odd in _mutants(inner))
    elif isinstance(value, list):
        yield from ([*value[:at], odd, *value[at + 1 :]] for at, inner in enumerate(value) for odd in _mutants(inner))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_odd_value_anywhere(case: Case) -> None:
    """For every protocol in its turn, and for who counts the request."""
    for number, body in enumerate(body for body in _mutants(case.body) if isinstance(body, dict)):
        route = ROUTES[number % len(ROUTES)]
        with suppress(InnkeeperError):
            request = case.read(body)
            provider_request(request, route, ADAPTERS[route.adapter])
            request_tokens(request, route)
