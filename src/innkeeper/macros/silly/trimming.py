"""``{{trim}}``: it takes the newlines around it along."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["without_trims"]

_TRIM: Final = re.compile(r"\{\{trim\}\}", re.IGNORECASE | re.ASCII)
_NEWLINES: Final = re.compile(r"(?:\r?\n)*")


def without_trims(text: str) -> str:
    r"""``text`` without ``{{trim}}`` and the newlines before and behind each; other blank space stays.

    >>> without_trims("a\n\n{{trim}}\n b")
    'a b'
    """
    if not _TRIM.search(text):
        return text
    pieces, place = [], 0
    for found in _TRIM.finditer(text):
        start = max(place, found.start())
        pieces.append(text[place : _line_end(text, place, start)])
        place = max(place, _NEWLINES.match(text, found.end()).end())  # type: ignore[union-attr]  # it matches nothing
    return "".join([*pieces, text[place:]])


def _line_end(text: str, floor: int, end: int) -> int:
    while end > floor and text[end - 1] == "\n":
        end -= 2 if end - 1 > floor and text[end - 2] == "\r" else 1
    return end
