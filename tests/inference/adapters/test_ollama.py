"""ollama-chat: lines of JSON, calls that come whole, and figures at the end."""

import json
from typing import Any

import pytest

from innkeeper.inference.adapters.ollama import Ollama
from innkeeper.inference.errors import DecodeError, ReplyError, StreamCutError
from innkeeper.inference.response.response import OtherItem, Usage
from tests.inference.adapters.answers import JSON, LINES, answer

END = {"model": "real", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


def lines(*data: dict[str, Any]) -> bytes:
    """Lines of JSON."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in data)


def said(**message: Any) -> dict[str, Any]:
    """A line with more of the message."""
    return {"model": "real", "message": {"role": "assistant", "content": "", **message}, "done": False}


def test_stream() -> None:
    """Thoughts, text, calls and figures; a stop beside calls means that they wait."""
    call = {"function": {"name": "f", "arguments": {"x": 1}}}
    stream = lines(
        said(thinking="hm"), said(content="It is "), said(content="late."), said(tool_calls=[call, call]),
        {**END, "prompt_eval_count": 9, "eval_count": 4, "total_duration": 5},
    )  # fmt: skip
    response = answer(Ollama.name, stream, LINES)
    assert (response.reasoning, response.text, response.finish) == ("hm", "It is late.", "tool_calls")
    assert [(one.name, one.arguments) for one in response.calls] == [("f", '{"x": 1}')] * 2
    assert len({one.call_id for one in response.calls}) == 2
    assert response.usage == Usage(input_tokens=9, output_tokens=4)
    assert response.provider["total_duration"] == 5


def test_figures_that_are_not_told() -> None:
    """A prompt that was remembered whole has no figure: it is not known, and not nothing."""
    assert answer(Ollama.name, lines({**END, "eval_count": 4}), LINES).usage == Usage(output_tokens=4)


@pytest.mark.parametrize(("reason", "finish"), [("stop", "stop"), ("length", "length"), ("load", "stop")])
def test_finish(reason: str, finish: str) -> None:
    """Why it ended."""
    assert answer(Ollama.name, lines({**END, "done_reason": reason}), LINES).finish == finish


def test_images_and_facts() -> None:
    """Images are items; fields that nobody knows are facts."""
    response = answer(Ollama.name, lines({**END, "message": {"content": "", "images": ["AA"], "mood": "good"}}), LINES)
    (item,) = response.output
    assert isinstance(item, OtherItem)
    assert item.item == {"type": "image", "image": "AA"}
    assert response.provider["mood"] == "good"


def test_errors() -> None:
    """An error is a text; a stream without its last line was cut, in the middle of one too."""
    with pytest.raises(ReplyError, match="model 'x' not found"):
        answer(Ollama.name, lines(said(content="a"), {"error": "model 'x' not found"}), LINES)
    for stream in (lines(said(content="a")), lines(said(content="a"))[:-9], lines(said(content="a"), END)[:-9]):
        with pytest.raises(StreamCutError):
            answer(Ollama.name, stream, LINES)
    with pytest.raises(DecodeError, match="no message"):
        answer(Ollama.name, b"{}", JSON)


def test_the_last_line_need_not_end() -> None:
    """A last line without a line break is whole."""
    assert answer(Ollama.name, lines(said(content="a"), END)[:-1], LINES).text == "a"


def test_it_always_says_whether_it_streams() -> None:
    """Where nothing is said Ollama streams; so it is said."""
    assert Ollama().body({"model": "m"}, stream=False) == {"model": "m", "stream": False}
    assert Ollama().body({"model": "m"}, stream=True)["stream"] is True
