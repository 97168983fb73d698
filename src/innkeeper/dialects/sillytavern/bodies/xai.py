"""xAI's messages: only the user's have names.

(sillytavern.md 72; vectors ``converters``, function ``xai``.)
"""

from __future__ import annotations

from typing import Any

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, text_of, unnamed


def convert_xai(conversion: ChatConversion) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    return {"messages": [_named(conversion, index) for index in range(len(conversion.messages))]}


def _named(conversion: ChatConversion, index: int) -> RawMessage:
    message = conversion.messages[index]
    name, role = message.get("name"), message["role"]
    if not name or role == "user":
        return message
    if role == "assistant":
        text = text_of(message, index)
        return {**unnamed(message), "content": conversion.named(conversion.speakers.lead_char(text), text, index)}
    if role == "system" and name.startswith("example_"):
        return {**unnamed(message), "content": conversion.example_text(message, index)}
    return unnamed(message)
