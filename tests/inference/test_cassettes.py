"""Recorded answers of real providers, replayed through the client: streams, tool calls, thoughts, errors."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.chat import ChatReply
from innkeeper.inference.errors import DecodeError, ReplyError
from innkeeper.inference.tools.calls import calls_of, parse_arguments
from innkeeper.prompt import ProviderError
from tests import shared
from tests.inference.cassettes import interactions

CHAT = [
    path
    for folder in ("fixtures/llm_cassettes", "fixtures/pydantic_ai_cassettes")
    for path in shared.files(folder, "*.yaml")
    if "/chat/completions" in path.read_text("utf-8")
]


def ask(path: Path, index: int) -> ChatReply:
    """The reply to a recorded request."""
    one = interactions(path)[index]
    options = {k: v for k, v in one.request.items() if k not in {"stream", "stream_options"}}
    return one.client().chat(stream=bool(one.request.get("stream")), **options)


@dataclass(frozen=True)
class Case:
    cassette: str
    index: int
    text: str = ""
    finish_reason: str | None = "stop"
    total_tokens: int = 0
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)


CASES = {
    "openai_stream_of_a_call": Case(
        "llm_cassettes/test_tool_use_basic",
        0,
        finish_reason="tool_calls",
        total_tokens=74,
        calls=[("call_1EYWDzueHEp8OsB8jJSEp7WB", "multiply", {"a": 1231, "b": 2331})],
    ),
    "openai_stream_of_text": Case("llm_cassettes/test_tool_use_basic", 1, "The result of \\( 1231", total_tokens=113),
    "gzip_call": Case(
        "llm_cassettes/test_tool_use_chain_of_two_calls",
        0,
        finish_reason="tool_calls",
        total_tokens=109,
        calls=[("call_TTY8UFNo7rNCaOBUNtlRSvMG", "lookup_population", {"country": "Crumpet"})],
    ),
    "id_0_twice_no_finish": Case(
        "llm_cassettes/test_tools_streaming_variant_a", 0, "", None, 74, [("0", "llm_version", {})]
    ),
    "arguments_apart": Case(
        "llm_cassettes/test_tools_streaming_variant_c", 0, "", "tool_calls", 68, [("llm_version:0", "llm_version", {})]
    ),
    "arguments_null": Case(
        "llm_cassettes/test_tools_streaming_variant_d", 0, "", "tool_calls", 74, [("0", "llm_version", {})]
    ),
    "usage_in_a_chunk_of_its_own": Case(
        "pydantic_ai_cassettes/openai__test_openai_moderation_stream", 0, "Paris.", total_tokens=24
    ),
    "whole_call": Case(
        "pydantic_ai_cassettes/openai__test_openai_text_output_function",
        0,
        "",
        "tool_calls",
        53,
        [("call_J1YabdC7G7kzEZNbbZopwenH", "get_user_country", {})],
    ),
    "thoughts": Case(
        "pydantic_ai_cassettes/openrouter__test_openrouter_streaming_reasoning", 0, "2 + 2 = 4", total_tokens=79
    ),
    "comments_before_the_answer": Case(
        "pydantic_ai_cassettes/openrouter__test_openrouter_advisor_tool_stream",
        0,
        "I recommend naming",
        total_tokens=962,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_answer(case: Case) -> None:
    """Text, calls, finish reason and figures are those that were recorded."""
    reply = ask(shared.need(f"fixtures/{case.cassette}.yaml"), case.index)
    message = reply.response.body["choices"][0]["message"]
    assert reply.content.startswith(case.text)
    assert bool(reply.content) == bool(case.text)
    assert reply.finish_reason == case.finish_reason
    assert (reply.usage or {}).get("total_tokens") == case.total_tokens
    calls = calls_of(message.get("tool_calls"))
    assert [(call.id, call.name, parse_arguments(call.arguments)) for call in calls] == case.calls


def test_thoughts_are_kept_apart() -> None:
    """Streamed thoughts are in the message beside the text, whole."""
    path = shared.need("fixtures/pydantic_ai_cassettes/openrouter__test_openrouter_streaming_reasoning.yaml")
    message = ask(path, 0).response.body["choices"][0]["message"]
    assert message["reasoning"]
    assert "".join(part.get("text") or "" for part in message["reasoning_details"]) == message["reasoning"]


def test_what_nobody_asked_for_is_kept() -> None:
    """Fields without a rule of their own survive the stream: here a moderation verdict."""
    body = ask(
        shared.need("fixtures/pydantic_ai_cassettes/openai__test_openai_moderation_stream.yaml"), 0
    ).response.body
    assert body["moderation"]["input"]["type"] == "moderation_results"


ERRORS = {
    "error_in_a_stream": ("openrouter__test_openrouter_stream_error", ReplyError, "Token limit reached"),
    "plain_text": ("openai__test_text_response", DecodeError, "not JSON (text/plain"),
}


@pytest.mark.parametrize(("cassette", "error", "message"), ERRORS.values(), ids=ERRORS)
def test_recorded_error(cassette: str, error: type[ProviderError], message: str) -> None:
    """An error in an answer that began well is the provider's error, with its words."""
    with pytest.raises(error) as caught:
        ask(shared.need(f"fixtures/pydantic_ai_cassettes/{cassette}.yaml"), 0)
    assert message in str(caught.value)


def outcome(client: Client, request: dict[str, Any], *, stream: bool) -> tuple[Any, ...]:
    """What a request comes to: the reply's parts, or the error's type and words."""
    options = {k: v for k, v in request.items() if k not in {"stream", "stream_options"}}
    try:
        reply = client.chat(stream=stream, **options)
    except ProviderError as error:
        return type(error).__name__, error.message
    calls = calls_of(reply.response.body["choices"][0]["message"].get("tool_calls"))
    return reply.content, reply.finish_reason, reply.usage, [call.to_dict() for call in calls]


@pytest.mark.parametrize("path", CHAT, ids=lambda path: path.stem)
def test_one_answer_one_outcome(path: Path) -> None:
    """A recorded stream is the same in small pieces; a recorded whole answer is the same when a stream was asked for."""
    for one in interactions(path):
        streamed = bool(one.request.get("stream"))
        other = one.client(piece_bytes=3) if streamed else one.client()
        assert outcome(one.client(), one.request, stream=streamed) == outcome(other, one.request, stream=True)
