"""Texts of messages: their parts joined, and surrogate halves, which JSON can spell, put together or replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text_of(content: Any) -> str:
    """The text of a message's content: itself, or its text parts joined; nothing for anything else."""
    if isinstance(content, str):
        return content
    parts = [part for part in (content if isinstance(content, list) else ()) if isinstance(part, Mapping)]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def whole_text(text: str) -> str:
    """``text`` with surrogate halves joined to the characters they were cut from; halves left over become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_texts(value: Any) -> Any:
    """JSON data with `whole_text` for each text in it, keys too."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(key): whole_texts(item) for key, item in value.items()}
    return [whole_texts(item) for item in value] if isinstance(value, list) else value
