"""text-completion: OpenAI's shape and those of llama.cpp and KoboldCpp."""

import json
from typing import Any

import pytest

from innkeeper.inference.adapters.text_completion import KoboldCpp, LlamaCppCompletion, TextCompletion
from innkeeper.inference.errors import DecodeError, ReplyError
from innkeeper.inference.response.response import MessageItem, ModelResponse, Usage
from tests.inference.adapters.answers import SSE, answer, sse


def logprobs(response: ModelResponse) -> list[dict[str, Any]]:
    """The probabilities of the first part."""
    (message,) = response.output
    assert isinstance(message, MessageItem)
    return [dict(one) for one in message.content[0].logprobs]  # type: ignore[union-attr]


def test_completion() -> None:
    """Text, figures, and what vLLM and llama.cpp tell besides."""
    choice = {"index": 0, "text": " late", "finish_reason": "stop", "stop_reason": "\n"}
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    body = {"id": "cmpl-1", "model": "real", "choices": [choice], "usage": usage, "timings": {"cache_n": 2}}
    response = answer(TextCompletion.name, json.dumps(body).encode())
    assert (response.text, response.finish) == (" late", "stop")
    assert response.usage == Usage(input_tokens=3, output_tokens=1, total_tokens=4)
    assert (response.provider["stop_reason"], response.provider["timings"]) == ("\n", {"cache_n": 2})


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            {"tokens": ["a", "b"], "token_logprobs": [None, -1.0], "top_logprobs": [{}], "text_offset": [0, 1]},
            [
                {"token": "a", "logprob": None, "top_logprobs": {}, "text_offset": 0},
                {"token": "b", "logprob": -1.0, "text_offset": 1},
            ],
        ),
        ({"content": [{"token": "a", "logprob": -1.0}]}, [{"token": "a", "logprob": -1.0}]),
    ],
    ids=["lists", "objects"],
)
def test_probabilities(told: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    """Lists by field are one object a token."""
    body = {"choices": [{"text": "ab", "logprobs": told, "finish_reason": "stop"}]}
    assert logprobs(answer(TextCompletion.name, json.dumps(body).encode())) == expected


def test_llamacpp() -> None:
    """Its own address: why it stopped, how much was read and remembered, probabilities."""
    spoken = {"token": "x", "logprob": -1.0}
    last = {
        "content": "",
        "stop": True,
        "stop_type": "limit",
        "model": "real",
        "tokens_evaluated": 9,
        "tokens_predicted": 2,
        "timings": {"cache_n": 8, "predicted_ms": 5},
        "truncated": True,
    }
    stream = sse({"content": "x", "stop": False, "completion_probabilities": [spoken]}, last)
    response = answer(LlamaCppCompletion.name, stream, SSE)
    assert (response.text, response.finish, response.provider["finish_reason"]) == ("x", "length", "limit")
    assert response.usage == Usage(input_tokens=9, output_tokens=2, cached_tokens=8)
    assert logprobs(response) == [spoken]
    assert response.provider["truncated"] is True


@pytest.mark.parametrize("field", ["data", "error"])
def test_llamacpp_errors(field: str) -> None:
    """An error in a stream is one, whichever field has it."""
    inside = {"code": 500, "message": "Out of memory.", "type": "server_error"}
    error = inside if field == "error" else {"error": inside}
    stream = sse({"content": "x", "stop": False}) + f"{field}: {json.dumps(error)}\n\n".encode()
    with pytest.raises(ReplyError, match="Out of memory"):
        answer(LlamaCppCompletion.name, stream, SSE)


def test_koboldcpp() -> None:
    """Streams have an address of their own, and nothing is written into a body."""
    assert KoboldCpp().path("m", stream=False) == "/v1/generate"
    assert KoboldCpp().path("m", stream=True) == "/extra/generate/stream"
    assert KoboldCpp().body({"prompt": "x"}, stream=True) == {"prompt": "x"}
    whole = {
        "results": [{"text": "It is late.", "finish_reason": "length", "prompt_tokens": 3, "completion_tokens": 4}]
    }
    response = answer(KoboldCpp.name, json.dumps(whole).encode())
    assert (response.text, response.finish) == ("It is late.", "length")
    assert response.usage == Usage(input_tokens=3, output_tokens=4)
    bare = answer(KoboldCpp.name, b'{"results": [{"text": "x"}]}')
    assert (bare.text, bare.finish, bare.usage) == ("x", "stop", None)


@pytest.mark.parametrize("adapter", [TextCompletion.name, LlamaCppCompletion.name, KoboldCpp.name])
def test_bodies_of_others(adapter: str) -> None:
    """A chat completion is none of theirs."""
    with pytest.raises(DecodeError, match="no text"):
        answer(adapter, b'{"object": "chat.completion", "message": {}}')
