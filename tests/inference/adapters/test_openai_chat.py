"""openai-chat: what providers write differently comes to the same events."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.inference.adapters.openai_chat import OpenAIChat
from innkeeper.inference.response.response import ModelResponse, OtherItem, ReasoningItem, Usage
from tests.inference.adapters.answers import SSE, answer, sse


def streamed(*deltas: dict[str, Any], finish: str | None = "stop", done: bool = True) -> ModelResponse:
    """The response of a stream of these deltas."""
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    last = [{"choices": [{"delta": {}, "finish_reason": finish}]}] if finish else []
    return answer("openai-chat", sse(*chunks, *last, done=done), SSE)


def whole(message: dict[str, Any], **facts: Any) -> ModelResponse:
    """The response of a whole answer with this message."""
    return answer("openai-chat", json.dumps({"choices": [{"message": message, **facts}]}).encode())


def call(**facts: Any) -> dict[str, Any]:
    """A delta with one piece of a call."""
    return {"tool_calls": [facts]}


@dataclass(frozen=True)
class Case:
    deltas: tuple[dict[str, Any], ...]
    calls: tuple[tuple[str, str, str], ...]


CASES = {
    "name_and_id_once": Case(
        (
            call(index=0, id="a", function={"name": "f", "arguments": ""}),
            call(index=0, function={"arguments": '{"x"'}),
            call(index=0, function={"arguments": ":1}"}),
        ),
        (("a", "f", '{"x":1}'),),
    ),
    "name_and_id_again_and_again": Case(
        tuple(call(index=0, id="a", function={"name": "f", "arguments": piece}) for piece in ("{", "}")),
        (("a", "f", "{}"),),
    ),
    "without_an_index": Case(
        (
            call(id="a", function={"name": "f", "arguments": "{}"}),
            call(id="b", function={"name": "g", "arguments": "{"}),
            call(id="b", function={"arguments": "}"}),
        ),
        (("a", "f", "{}"), ("b", "g", "{}")),
    ),
    "arguments_that_are_an_object": Case(
        (call(index=0, id="a", function={"name": "f", "arguments": {"x": 1}}),), (("a", "f", '{"x": 1}'),)
    ),
    "arguments_that_are_null": Case(
        (call(index=0, id="a", function={"name": "f", "arguments": None}),), (("a", "f", ""),)
    ),
    "a_custom_tool": Case(
        (call(index=0, id="a", type="custom", custom={"name": "f", "input": "hi"}),), (("a", "f", "hi"),)
    ),
    "what_was_before_tools": Case(
        ({"function_call": {"name": "f", "arguments": "{"}}, {"function_call": {"arguments": "}"}}),
        (("fc_1_0", "f", "{}"),),
    ),
    "two_in_one_piece": Case(
        ({"tool_calls": [{"index": at, "id": name, "function": {"name": "f"}} for at, name in enumerate("ab")]},),
        (("a", "f", ""), ("b", "f", "")),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_calls(case: Case) -> None:
    """Calls are put together by index, id or position; a stop beside calls means that they wait."""
    response = streamed(*case.deltas)
    assert tuple((one.call_id, one.name, one.arguments) for one in response.calls) == case.calls
    assert response.finish == "tool_calls"


def test_signature_of_a_call() -> None:
    """Google's compatible endpoint signs calls in a field of its own."""
    signed = {"google": {"thought_signature": "s"}}
    response = streamed(call(index=0, id="a", function={"name": "f"}, extra_content=signed))
    assert response.calls[0].signature == "s"


@pytest.mark.parametrize(
    ("said", "finish", "status"),
    [
        ("stop", "stop", "completed"),
        ("length", "length", "incomplete"),
        ("content_filter", "content_filter", "incomplete"),
        ("refusal", "refusal", "completed"),
        ("error", "error", "failed"),
        ("something_new", "stop", "completed"),
        (None, "stop", "completed"),
    ],
    ids=str,
)
def test_finish(said: str | None, finish: str, status: str) -> None:
    """The provider's word and ours; one that marks the end without a reason has ended by itself."""
    for response in (streamed({"content": "x"}, finish=said), whole({"content": "x"}, finish_reason=said)):
        assert (response.finish, response.status) == (finish, status)
        assert response.provider.get("finish_reason") == said


def test_refusal() -> None:
    """A refusal is kept apart from text, word for word."""
    response = streamed({"refusal": "I can"}, {"refusal": "not."})
    assert (response.text, response.refusal) == ("", "I cannot.")


def test_thoughts_of_either_name() -> None:
    """Thoughts have two names, or are parts of the content; details bring what goes back, and are kept whole."""
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    for delta in ({"reasoning": "hm"}, {"reasoning_content": "hm"}, {"content": parts}):
        assert streamed(delta, {"content": "x"}).reasoning == "hm"
    details: list[dict[str, Any]] = [
        {"reasoning": "h", "reasoning_details": [{"type": "reasoning.text", "text": "h", "index": 0, "format": "f"}]},
        {
            "reasoning": "m",
            "reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0, "signature": "s"}],
        },
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "d", "index": 1, "id": "e"}]},
    ]
    response = streamed(*details, {"content": "x"})
    thoughts = [item for item in response.output if isinstance(item, ReasoningItem)]
    assert [(item.content, item.signature, item.redacted) for item in thoughts] == [
        (("hm",), "s", False),
        ((), "d", True),
    ]
    assert response.provider["reasoning_details"] == (
        {"type": "reasoning.text", "text": "hm", "index": 0, "format": "f", "signature": "s"},
        {"type": "reasoning.encrypted", "data": "d", "index": 1, "id": "e"},
    )


def test_notes_and_probabilities() -> None:
    """Annotations and logprobs stand with the text, in both ways to answer."""
    note, spoken = {"type": "url_citation", "url_citation": {"url": "u"}}, {"token": "x", "logprob": -0.5}
    choice = {"delta": {"content": "x", "annotations": [note]}, "logprobs": {"content": [spoken]}}
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    for response in (
        answer("openai-chat", sse({"choices": [choice]}, end), SSE),
        whole({"content": "x", "annotations": [note]}, logprobs={"content": [spoken]}, finish_reason="stop"),
    ):
        (part,) = response.output[0].content  # type: ignore[union-attr]
        assert (part.annotations, part.logprobs) == ((note,), (spoken,))  # type: ignore[union-attr]


def test_images_and_sound() -> None:
    """What is not text is an item as it came."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    response = whole({"content": "Look", "images": [image], "audio": {"id": "a", "data": "AA", "transcript": "Look"}})
    items = [item.item for item in response.output if isinstance(item, OtherItem)]
    assert items == [image, {"type": "audio", "id": "a", "data": "AA", "transcript": "Look"}]


def test_facts() -> None:
    """What has no place of its own is a fact of the provider."""
    body = {
        "id": "c1",
        "model": "real",
        "system_fingerprint": "fp",
        "cost": 0.1,
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 1,
            "cost": 0.1,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
        "choices": [{"message": {"content": "x"}, "finish_reason": "stop", "native_finish_reason": "end"}],
    }
    response = answer("openai-chat", json.dumps(body).encode())
    assert response.usage == Usage(input_tokens=9, output_tokens=1, cached_tokens=4)
    facts = response.to_dict()["provider"]
    assert facts["usage"] == body["usage"]
    assert {name: facts[name] for name in ("id", "model", "cost", "native_finish_reason", "finish_reason")} == {
        "id": "c1",
        "model": "real",
        "cost": 0.1,
        "native_finish_reason": "end",
        "finish_reason": "stop",
    }


def test_the_first_of_several() -> None:
    """Of alternative answers the first counts."""
    chunks = [{"choices": [{"index": index, "delta": {"content": text}}]} for index, text in ((1, "b"), (0, "a"))]
    assert answer("openai-chat", sse(*chunks, done=True), SSE).text == "a"


def test_usage_is_asked_for() -> None:
    """A stream asks for usage, unless the body says otherwise; nothing else is added."""
    body = OpenAIChat().body({"model": "m", "stream_options": {"a": 1}}, stream=True)
    assert body == {"model": "m", "stream": True, "stream_options": {"include_usage": True, "a": 1}}
    off = {"model": "m", "stream_options": {"include_usage": False}}
    assert OpenAIChat().body(off, stream=True)["stream_options"] == {"include_usage": False}
    assert OpenAIChat().body({"model": "m"}, stream=False) == {"model": "m"}
