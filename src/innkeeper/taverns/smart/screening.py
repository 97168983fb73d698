"""Screening: which preset prompts and book entries may go into the chat at all, before any condition is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from innkeeper.taverns.smart.values import text_of
from innkeeper.taverns.smart.verdict import Rule

__all__ = ["IN_CHAT", "Screen", "screen_entry", "screen_preset"]

Screen = Callable[[Any], "Rule | None"]
"""The rule that stops an entry, or ``None``."""

IN_CHAT: Final = "in-chat"
"""The position of a preset's prompt that goes into the chat."""

_FRAMED: Final = frozenset({"before_char", "after_char"})
"""Positions of book entries that framing places, not this."""


def screen_preset(item: Any) -> Rule | None:
    """A preset's prompt: an object, ``in-chat`` exactly, not disabled, with text (3-smarttavern, *filter rules*)."""
    if not isinstance(item, dict):
        return Rule.NOT_AN_OBJECT
    if _position(item, "presets_in_chat") != IN_CHAT:
        return Rule.POSITION
    return _common(item)


def screen_entry(item: Any) -> Rule | None:
    """A book's entry: not ``before_char`` or ``after_char``, not disabled, with text (3-smarttavern, *filter rules*)."""
    if _position(item, "world_books") in _FRAMED:
        return Rule.POSITION
    return _common(item)


def _position(item: dict[str, Any], path: str) -> str:
    position = item.get("position")
    return position if type(position) is str else text_of(position, path)


def _common(item: dict[str, Any]) -> Rule | None:
    """Only the boolean false disables; only text that is not empty is content."""
    if item.get("enabled") is False:
        return Rule.DISABLED
    content = item.get("content")
    return None if isinstance(content, str) and content else Rule.BLANK
