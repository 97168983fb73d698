"""Bodies: every text that a model reads is judged, whatever the protocol and its parts."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.gate.bodies import texts_of_body, texts_of_made


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ({"messages": [{"role": "user", "content": "a"}]}, {"user_text": "a"}),
        (
            {
                "messages": [
                    {"role": "system", "content": "s"},
                    {"role": "user", "content": "a"},
                    {"role": "user", "content": "b"},
                ]
            },
            {"history:1": "a", "user_text": "b", "system_prompt:0": "s"},
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]},
            {"user_text": "a\nb"},
        ),
        ({"messages": [{"role": "user", "content": "a", "reasoning": "r"}]}, {"user_text": "a\nr"}),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "words"}}]}
                ]
            },
            {"user_text": "words"},
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}]}
                ]
            },
            {},
        ),
        (
            {"system": "s", "contents": [{"role": "user", "parts": [{"text": "a"}]}]},
            {"user_text": "a", "system_prompt:0": "s"},
        ),
        ({"instructions": "s", "input": "a"}, {"user_text": "a", "system_prompt:0": "s"}),
        ({"prompt": "a"}, {"user_text": "a"}),
        ({"messages": [{"role": "tool", "tool_call_id": "c", "content": "r"}]}, {"history:0": "r"}),
        ([], {}),
    ],
)
def test_texts(body: Any, texts: dict[str, str]) -> None:
    """Texts are named by where they enter; what points to something, or is a picture's bytes, is none."""
    assert texts_of_body(body) == texts


def test_what_is_no_request() -> None:
    """Of anything else that was made, all texts are judged."""
    assert texts_of_made({"result": ["a", {"note": "b"}]}) == {"history:0": "a\nb"}
    assert texts_of_made({"body": {"prompt": "a"}}) == {"user_text": "a"}
