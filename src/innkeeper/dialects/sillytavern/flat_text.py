"""Flat text for OpenAI's oldest models: a line for each message, with its role; parts are written as JavaScript writes them.

(sillytavern.md 72; sillytavern-bodies.md 7; vectors ``converters``, function ``text``.)
"""

from __future__ import annotations

import re
from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage

__all__ = ["convert_text", "is_text_model"]

_TEXT_MODELS: Final = re.compile(
    r"gpt-3\.5-turbo-instruct(-0914)?|text-(davinci|curie|babbage|ada)-00\d|code-(davinci|cushman)-00\d"
)


def is_text_model(model: str) -> bool:
    """Whether the model completes text and knows no messages."""
    return bool(_TEXT_MODELS.fullmatch(model))


def convert_text(conversion: ChatConversion) -> dict[str, Any]:
    """``{prompt}``."""
    lines = [
        f"{_speaker(message)}: {_content(conversion, message, at)}" for at, message in enumerate(conversion.messages)
    ]
    return {"prompt": "\n".join(lines) + "\nassistant:"}


def _speaker(message: RawMessage) -> str:
    if message["role"] != "system":
        return str(message["role"])
    return message.get("name") or "System"


def _content(conversion: ChatConversion, message: RawMessage, index: int) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    conversion.report.loss("content that is no text is not sent", index)
    return "null" if content is None else ",".join("[object Object]" for _ in content)
