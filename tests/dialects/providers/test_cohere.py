"""Cohere, version 2: its own names for options, thoughts as blocks, tool calls without text."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Tool
from tests.dialects.talks import call, message, said

COHERE = DIALECTS["cohere"]
HELLO = message("user", "Hello")


def test_messages() -> None:
    """System text keeps its place; a call without words has no content; the plan behind it passes."""
    talk = [
        message("system", "S"),
        HELLO,
        message("assistant", "", tool_calls=[call()], tool_plan="I will add."),
        message("tool", "1", tool_call_id="call_1"),
    ]
    payload = COHERE.messages(talk, {})
    assert payload.body == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "tool_calls": [call()], "tool_plan": "I will add."},
        {"role": "tool", "content": "1", "tool_call_id": "call_1"},
    ]
    assert payload.notes == ()


def test_thoughts() -> None:
    """Thoughts are a block before the text."""
    body = COHERE.messages([HELLO, message("assistant", "Hi", reasoning="hm"), HELLO], {}).body
    assert body[1]["content"] == [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}]


def test_media() -> None:
    """Images have a part, other kinds none."""
    media = [{"kind": "image", "url": "https://x"}, {"kind": "audio", "data": "x", "media_type": "audio/wav"}]
    payload = COHERE.messages([message("user", "", attachments=media)], {})
    assert payload.body[0]["content"] == [{"type": "image_url", "image_url": {"url": "https://x"}}]
    assert said(payload.notes, "audio").kind == "loss"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"top_p": 0.5, "top_k": 3, "stop": "x"}, {"p": 0.5, "k": 3, "stop_sequences": ["x"]}),
        ({"tool_choice": "auto"}, {}),
        ({"tool_choice": "none"}, {"tool_choice": "NONE"}),
        ({"tool_choice": "add"}, {"tool_choice": "REQUIRED"}),
        ({"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"reasoning_effort": "high"}, {"thinking": {"type": "enabled"}}),
        ({"response_format": "json"}, {"response_format": {"type": "json_object"}}),
        (
            {"response_format": {"type": "json_schema", "schema": {"a": 1}}},
            {"response_format": {"type": "json_object", "json_schema": {"a": 1}}},
        ),
    ],
)
def test_options(options: dict[str, Any], expected: dict[str, Any]) -> None:
    """Options by the provider's names."""
    body = COHERE.request([HELLO], model="m", options=options, tools=[Tool("add")]).body
    assert {key: body[key] for key in body if key not in ("model", "messages", "tools")} == expected
