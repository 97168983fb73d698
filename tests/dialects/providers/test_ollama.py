"""Ollama: pictures beside the text, arguments as objects, results that name their tool, and how it samples under ``options``."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Attachment, Tool
from tests.dialects.talks import PNG, call, message, said

OLLAMA = DIALECTS["ollama"]
HELLO = message("user", "Hello")


def body(*messages: Any, tools: tuple[Tool, ...] = (), **options: Any) -> dict[str, Any]:
    """The request's body."""
    made: dict[str, Any] = OLLAMA.request(messages or (HELLO,), model="m", options=options, tools=tools).body
    return made


def test_a_talk() -> None:
    """Roles and texts are as they are; a call's arguments are an object, and its result says which tool it is of."""
    talk = [message("system", "S"), HELLO, message("assistant", "", tool_calls=[call()])]
    result = message("tool", "1", tool_call_id="call_1")
    made = OLLAMA.messages([*talk, result], {}).body
    assert made[:2] == [{"role": "system", "content": "S"}, {"role": "user", "content": "Hello"}]
    (called,) = made[2]["tool_calls"]
    assert (called["id"], called["function"]["name"]) == ("call_1", call()["function"]["name"])
    assert isinstance(called["function"]["arguments"], dict)
    assert made[3] == {
        "role": "tool",
        "content": "1",
        "tool_name": call()["function"]["name"],
        "tool_call_id": "call_1",
    }


def test_pictures_are_base64() -> None:
    """A picture that is given as data stands in ``images``; one by its address is lost, and a note says so."""
    seen = message("user", "Look", attachments=(Attachment("image", data=PNG),))
    (made,) = OLLAMA.messages([seen], {}).body
    assert made["content"] == "Look"
    assert made["images"] == [PNG]
    far = message("user", "Look", attachments=(Attachment("image", url="https://x/y.png"),))
    payload = OLLAMA.messages([far], {})
    assert payload.body == [{"role": "user", "content": "Look"}]
    assert said(payload.notes, "by its address").kind == "loss"


def test_thoughts() -> None:
    """Thoughts behind an answer go back as ``thinking``."""
    made = OLLAMA.messages([HELLO, message("assistant", "Hi", reasoning="hm"), HELLO], {}).body
    assert made[1] == {"role": "assistant", "content": "Hi", "thinking": "hm"}


def test_options() -> None:
    """How the model samples is in ``options``, by the server's names; the rest stands beside it."""
    made = body(temperature=0, max_tokens=9, stop=["x"], repetition_penalty=1.1, seed=7, keep_alive="5m")
    assert made["options"] == {"temperature": 0, "num_predict": 9, "seed": 7, "stop": ["x"], "repeat_penalty": 1.1}
    assert made["keep_alive"] == "5m"


@pytest.mark.parametrize(
    ("value", "sent"),
    [("json", "json"), ({"type": "object"}, {"type": "object"}), ("text", None)],
    ids=["object", "schema", "text"],
)
def test_response_format(value: Any, sent: Any) -> None:
    """``format`` is the word, or the schema itself."""
    assert body(response_format=value).get("format") == sent


@pytest.mark.parametrize(("effort", "think"), [("none", False), ("minimal", "low"), ("high", "high")])
def test_effort(effort: str, think: Any) -> None:
    """``think`` is a switch, or a level."""
    assert body(reasoning_effort=effort)["think"] == think


def test_tools() -> None:
    """Tools are as in chat completions; that one must be called cannot be said, and is reported."""
    tool = Tool("add", parameters={"type": "object"})
    assert body(tools=(tool,))["tools"][0]["function"]["name"] == "add"
    assert "tools" not in body(tools=(tool,), tool_choice="none")
    payload = OLLAMA.request([HELLO], model="m", options={"tool_choice": "required"}, tools=(tool,))
    assert said(payload.notes, "has to be called").kind == "loss"
