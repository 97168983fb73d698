"""Recorded answers of real providers: the right response, streamed too, in any pieces, and nothing of them is lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.errors import DecodeError, ReplyError
from innkeeper.inference.response.response import ModelResponse, ReasoningItem, Usage
from tests.inference.adapters.answers import answer, events
from tests.inference.cassettes import Recorded, recorded

FAILED = ("openai__test_text_response-0", "openrouter__test_openrouter_stream_error-0")
ANSWERS = {one.name: one for one in recorded()}
WELL = {name: one for name, one in ANSWERS.items() if name not in FAILED}
STREAMS = {name: one for name, one in WELL.items() if one.streams}


def response(name: str) -> ModelResponse:
    """The response that a recorded answer is."""
    if name not in ANSWERS:
        pytest.skip("needs ../shared/fixtures, which is not beside this checkout")
    one = ANSWERS[name]
    return answer(one.adapter, one.raw, one.kind)


@dataclass(frozen=True)
class Case:
    name: str
    text: str = ""
    finish: str | None = "stop"
    usage: Usage = Usage()  # noqa: RUF009 - it is frozen
    calls: tuple[tuple[str, str, str], ...] = ()
    kinds: tuple[str, ...] = ("MessageItem",)
    reasoning: str = ""


CASES = {
    "chat_stream_of_a_call": Case(
        "test_tool_use_basic-0",
        finish="tool_calls",
        usage=Usage(input_tokens=54, output_tokens=20, total_tokens=74, cached_tokens=0, reasoning_tokens=0),
        calls=(("call_1EYWDzueHEp8OsB8jJSEp7WB", "multiply", '{"a":1231,"b":2331}'),),
        kinds=("CallItem",),
    ),
    "chat_thoughts": Case(
        "openrouter__test_openrouter_streaming_reasoning-0",
        "2 + 2 = 4",
        usage=Usage(input_tokens=43, output_tokens=36, total_tokens=79, cached_tokens=0, reasoning_tokens=13),
        kinds=("ReasoningItem", "MessageItem"),
        reasoning="This is a simple arithmetic question. 2+2 equals 4.",
    ),
    "responses_stream": Case(
        "test_responses_tool_use_streaming-0",
        finish="tool_calls",
        usage=Usage(input_tokens=58, output_tokens=23, total_tokens=81, cached_tokens=0, reasoning_tokens=0),
        calls=(("call_sVidsfFJ6zlzRpelrPkTPlpd", "multiply", '{"a":1231,"b":2331}'),),
        kinds=("CallItem",),
    ),
    "responses_thoughts_by_openrouter": Case(
        "openai_responses__test_openai_responses_raw_cot_stream_openrouter-0",
        "4",
        usage=Usage(input_tokens=78, output_tokens=37, total_tokens=115, cached_tokens=0, reasoning_tokens=22),
        kinds=("ReasoningItem", "MessageItem"),
        reasoning='The user asks: "What is 2+2?" They expect a straightforward answer: 4. Just answer 4.',
    ),
    "responses_without_a_status": Case(
        "openai_responses__test_openai_responses_verbosity-0",
        "4",
        usage=Usage(input_tokens=10, output_tokens=1, total_tokens=11, cached_tokens=0, reasoning_tokens=0),
    ),
    "responses_that_only_wait": Case("openai_responses__test_background_mode_reasoning_vcr-0", finish=None, kinds=()),
    "messages_stream": Case(
        "anthropic__test_anthropic_code_execution_tool_stream-0",
        "I'll calculate that expression for you right away!Following the standard",
        usage=Usage(input_tokens=4714, output_tokens=304, cached_tokens=0, cache_write_tokens=0),
        kinds=("ReasoningItem", "MessageItem", "OtherItem", "OtherItem", "MessageItem"),
        reasoning="Let me calculate this mathematical expression.",
    ),
    "messages_thoughts_that_are_kept_back": Case(
        "anthropic__test_anthropic_model_thinking_part_redacted_stream-0",
        "I notice that you've sent what appears to be",
        usage=Usage(input_tokens=92, output_tokens=189, cached_tokens=0, cache_write_tokens=0),
        kinds=("ReasoningItem", "ReasoningItem", "MessageItem"),
    ),
    "gemini_stream": Case(
        "google__test_google_model_iter_stream-2",
        "The temperature in Paris is 30°C.\n",
        usage=Usage(input_tokens=79, output_tokens=12, total_tokens=91),
    ),
    "gemini_tools_of_its_own": Case(
        "google__test_google_model_file_search_tool_stream-3",
        "The capital of France is Paris.",
        usage=Usage(input_tokens=785, output_tokens=779, total_tokens=1564, reasoning_tokens=742),
        kinds=("OtherItem", "MessageItem"),
    ),
    "gemini_that_is_filtered": Case(
        "google__test_google_model_safety_settings-0",
        finish="content_filter",
        usage=Usage(input_tokens=14, total_tokens=14),
        kinds=(),
    ),
    "gemini_too_long": Case(
        "google__test_google_model_max_tokens-0",
        "The capital of France is",
        finish="length",
        usage=Usage(input_tokens=15, output_tokens=5, total_tokens=20),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_response(case: Case) -> None:
    """Text, thoughts, calls, kinds of items, why it ended and how much it was are those that were recorded."""
    found = response(case.name)
    assert found.text.replace("**", "").startswith(case.text)
    assert found.finish == case.finish
    assert (found.usage or Usage()) == case.usage
    assert tuple((call.call_id, call.name, call.arguments) for call in found.calls) == case.calls
    assert tuple(type(item).__name__ for item in found.output) == case.kinds
    assert found.reasoning == case.reasoning


def test_signatures() -> None:
    """What goes back with thoughts and calls is there, whole, and a block that is kept back is told from a signature."""
    kept_back = thoughts("anthropic__test_anthropic_model_thinking_part_redacted_stream-0")
    assert [(item.redacted, (item.signature or "")[:6]) for item in kept_back] == [(True, "EqkECk"), (True, "EtgBCk")]
    (signed,) = thoughts("anthropic__test_anthropic_code_execution_tool_stream-0")
    assert (signed.redacted, (signed.signature or "")[:8]) == (False, "EusBClsI")
    (call,) = response("google__test_google_streaming_tool_call_thought_signature-0").calls
    assert (call.signature or "").startswith("EpwICpkIAXLI2nxlU6g")
    (sealed,) = thoughts("test_responses_round_trips_encrypted_reasoning-0")
    assert (sealed.id[:3], (sealed.signature or "")[:5]) == ("rs_", "gAAAA")


def thoughts(name: str) -> list[ReasoningItem]:
    """The items of thoughts in a recorded answer."""
    return [item for item in response(name).output if isinstance(item, ReasoningItem)]


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [(FAILED[0], DecodeError, "not JSON"), (FAILED[1], ReplyError, "Token limit reached")],
    ids=["plain_text", "error_in_a_stream"],
)
def test_error(name: str, error: type[Exception], words: str) -> None:
    """An answer that is none, or that fails in the middle, is an error."""
    with pytest.raises(error, match=words):
        response(name)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_pieces(name: str, size: int) -> None:
    """A recorded stream gives the same events in pieces of any size."""
    one = STREAMS[name]
    pieces = [one.raw[start : start + size] for start in range(0, len(one.raw), size)]
    assert events(one.adapter, pieces, one.kind) == events(one.adapter, one.raw, one.kind)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts and numbers in JSON, each with the names that lead to it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    elif value is not None and value != "" and not isinstance(value, bool):
        yield path, str(value)


SUPERSEDED = frozenset({"status", "usage", "usageMetadata", "logprob", "type", "id"})
"""What a stream says again and again, each time for the last: only its last word has to be there."""


def lost(one: Recorded) -> list[tuple[str, str]]:
    """What of a recorded answer is neither in its response nor named as passed over."""
    kept = "\0".join(text for _, text in leaves(answer(one.adapter, one.raw, one.kind).to_dict())).replace('\\"', '"')
    ignored = ADAPTERS[one.adapter].ignored
    again = SUPERSEDED if one.streams else frozenset({"status"})
    return [
        (".".join(path), text)
        for data in one.data()
        for path, text in leaves(data)
        if not (ignored | again) & set(path) and text not in kept and "partial_json" not in path
    ]


@pytest.mark.parametrize("name", WELL)
def test_nothing_is_lost(name: str) -> None:
    """Every text and number of a recorded answer is in its response, unless the adapter names it as passed over."""
    assert lost(WELL[name]) == []
