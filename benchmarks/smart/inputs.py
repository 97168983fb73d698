"""A long chat and large books, the sizes at which the original was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from innkeeper.prompt.determinism import Mulberry32

__all__ = ["HISTORY", "VARIABLES", "book"]

MESSAGES: Final = 10_000
ENTRIES: Final = 2_000
LINE: Final = "the quick brown fox jumps over a lazy dog near old stone bridge while rain falls on her roof"
"""No keyword of a book is among them, nor any part of one."""


def _history() -> list[dict[str, Any]]:
    """10,000 messages of 1.8 million characters."""
    words, stream = LINE.split(), Mulberry32(1)
    texts = (" ".join(words[int(stream.random() * len(words))] for _ in range(38)) for _ in range(MESSAGES))
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


HISTORY: Final = _history()
VARIABLES: Final = {"stat": {"hp": 30}}


def book(condition: Callable[[int], str] | None = None) -> dict[str, Any]:
    """2,000 entries at eight depths; conditional where there is a condition for each number."""
    return {"entries": [_entry(number, condition) for number in range(ENTRIES)]}


def _entry(number: int, condition: Callable[[int], str] | None) -> dict[str, Any]:
    entry = {
        "id": number,
        "name": f"entry {number}",
        "enabled": True,
        "mode": "always" if condition is None else "conditional",
        "position": ("user", "assistant", "system")[number % 3],
        "depth": number % 8,
        "order": 100 + number % 10,
        "content": f"fact {number}",
    }
    return entry if condition is None else {**entry, "condition": condition(number)}
