"""xAI: only user messages have names.

(Vectors ``converters``, function ``xai``.)
"""

from __future__ import annotations

from typing import Any

from innkeeper.taverns.silly.conversion.talk import Message, Talk, text_of, unnamed

__all__ = ["convert_xai"]


def convert_xai(talk: Talk) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    return {"messages": [_named(talk, index) for index in range(len(talk.messages))]}


def _named(talk: Talk, index: int) -> Message:
    message = talk.messages[index]
    name, role = message.get("name"), message["role"]
    if not name or role == "user":
        return message
    if role == "assistant":
        text = text_of(message, index)
        return {**unnamed(message), "content": talk.named(talk.speakers.lead_char(text), text, index)}
    if role == "system" and name.startswith("example_"):
        text = text_of(message, index)
        return {**unnamed(message), "content": talk.named(talk.speakers.lead_example(name, text), text, index)}
    return unnamed(message)
