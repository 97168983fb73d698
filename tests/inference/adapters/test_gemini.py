"""gemini-generateContent: parts as items, filters, usage that adds up."""

import json
from typing import Any

import pytest

from innkeeper.inference.adapters.gemini import Gemini
from innkeeper.inference.errors import DecodeError, ReplyError, StreamCutError
from innkeeper.inference.response.response import ModelResponse, OtherItem, ReasoningItem, Usage
from innkeeper.prompt import freeze
from tests.inference.adapters.answers import SSE, answer, sse


def piece(*parts: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """A piece of an answer, or a whole one."""
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **facts}]}


def both(*parts: dict[str, Any], finish: str = "STOP") -> tuple[ModelResponse, ModelResponse]:
    """The response of these parts, whole and streamed."""
    whole = json.dumps(piece(*parts, finishReason=finish)).encode()
    stream = sse(*(piece(part) for part in parts), piece(finishReason=finish))
    return answer(Gemini.name, whole), answer(Gemini.name, stream, SSE)


def test_headers() -> None:
    """The key has a header of its own."""
    assert Gemini().headers("k") == {"x-goog-api-key": "k"}
    assert Gemini().headers("") == {}


def test_thoughts_and_signatures() -> None:
    """Thoughts, calls with their signatures, and a signature beside a text, which goes back with the answer."""
    for response in both(
        {"text": "hm", "thought": True},
        {"text": "It is late.", "thoughtSignature": "t"},
        {"functionCall": {"name": "f", "args": {"x": "é"}}, "thoughtSignature": "s"},
        {"functionCall": {"name": "g"}},
    ):
        assert (response.reasoning, response.text, response.finish) == ("hm", "It is late.", "tool_calls")
        calls = [(call.name, call.arguments, call.signature) for call in response.calls]
        assert calls == [("f", '{"x": "é"}', "s"), ("g", "{}", None)]
        assert len({call.call_id for call in response.calls}) == 2
        last = response.output[-1]
        assert isinstance(last, ReasoningItem)
        assert last.signature == "t"


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": "AA"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OK", "output": "1"}},
        {"somethingNew": {"x": 1}},
    ],
    ids=lambda part: next(iter(part)),
)
def test_other_parts(part: dict[str, Any]) -> None:
    """Parts of other kinds are items as they came."""
    for response in both({"text": "a"}, part, {"text": "b"}):
        assert response.text == "ab"
        item = response.output[1]
        assert isinstance(item, OtherItem)
        assert item.item == {"type": next(iter(part)), **part}


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("OTHER", "error"),
    ],
)
def test_finish(said: str, finish: str) -> None:
    """The provider's word and ours."""
    for response in both({"text": "x"}, finish=said):
        assert (response.finish, response.provider["finish_reason"]) == (finish, said)


def test_a_prompt_that_is_blocked() -> None:
    """A prompt that the filter stops has no answer, and the ratings are there."""
    feedback = {"blockReason": "SAFETY", "safetyRatings": [{"category": "C", "probability": "HIGH"}]}
    body = {"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}}
    for response in (answer(Gemini.name, json.dumps(body).encode()), answer(Gemini.name, sse(body), SSE)):
        assert (response.finish, response.status, response.output) == ("content_filter", "incomplete", ())
        assert response.provider["promptFeedback"] == freeze(feedback)
        assert response.usage == Usage(input_tokens=3, total_tokens=3)


def test_usage() -> None:
    """Thoughts are part of the output, what tools read part of the input, so that both make up the total."""
    usage = {
        "promptTokenCount": 15,
        "toolUsePromptTokenCount": 770,
        "candidatesTokenCount": 37,
        "thoughtsTokenCount": 742,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 1564,
    }
    found = answer(Gemini.name, json.dumps({**piece({"text": "x"}), "usageMetadata": usage}).encode()).usage
    assert found == Usage(input_tokens=785, output_tokens=779, total_tokens=1564, cached_tokens=4, reasoning_tokens=742)


def test_errors() -> None:
    """An error in a stream has the provider's word; a body without candidates is none of ours."""
    error = {"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}}
    with pytest.raises(ReplyError) as caught:
        answer(Gemini.name, sse(piece({"text": "x"}), error), SSE)
    assert (caught.value.code, caught.value.status) == ("UNAVAILABLE", 503)
    with pytest.raises(DecodeError, match="no candidates"):
        answer(Gemini.name, b"{}")
    with pytest.raises(StreamCutError):
        answer(Gemini.name, sse(piece({"text": "x"})), SSE)


def test_the_first_of_several() -> None:
    """Of alternative answers the first counts."""
    body = piece({"text": "a"}, finishReason="STOP")
    body["candidates"].append({"index": 1, "content": {"parts": [{"text": "b"}]}})
    assert answer(Gemini.name, json.dumps(body).encode()).text == "a"
