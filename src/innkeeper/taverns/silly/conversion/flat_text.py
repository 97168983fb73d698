"""Flat text: a chat as one text, each line with its role, for sources that complete text.

(Vectors ``converters``, function ``text``.) Parts and missing contents are written as JavaScript writes them, as the
original does: such a prompt says little, and a note says so.
"""

from __future__ import annotations

from typing import Any

from innkeeper.taverns.silly.conversion.talk import Message, Talk

__all__ = ["convert_text"]


def convert_text(talk: Talk) -> dict[str, Any]:
    """``{prompt}``."""
    lines = [f"{_speaker(message)}: {_content(talk, message, at)}" for at, message in enumerate(talk.messages)]
    return {"prompt": "\n".join(lines) + "\nassistant:"}


def _speaker(message: Message) -> str:
    if message["role"] != "system":
        return str(message["role"])
    return message.get("name") or "System"


def _content(talk: Talk, message: Message, index: int) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    talk.report.loss("content that is no text is not sent", index)
    return "null" if content is None else ",".join("[object Object]" for _ in content)
