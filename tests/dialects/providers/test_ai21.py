"""AI21: Chat Completions for text and tools."""

from innkeeper.dialects import DIALECTS
from tests.dialects.talks import call, message, said

AI21 = DIALECTS["ai21"]


def test_messages() -> None:
    """Tools pass; names and media are reported."""
    talk = [
        message("user", "see", name="Bob", attachments=[{"kind": "image", "url": "https://x"}]),
        message("assistant", "", tool_calls=[call()]),
        message("tool", "1", tool_call_id="call_1"),
    ]
    payload = AI21.messages(talk, {})
    assert payload.body == [
        {"role": "user", "content": "see"},
        {"role": "assistant", "content": "", "tool_calls": [call()]},
        {"role": "tool", "content": "1", "tool_call_id": "call_1"},
    ]
    assert said(payload.notes, "image").kind == said(payload.notes, "name").kind == "loss"


def test_request() -> None:
    """What it has is sent, what it has not is reported."""
    payload = AI21.request([message()], model="jamba", options={"max_tokens": 9, "seed": 1, "stop": ["x"]})
    assert {key: payload.body[key] for key in ("max_tokens", "stop")} == {"max_tokens": 9, "stop": ["x"]}
    assert said(payload.notes, "seed").kind == "loss"
