"""PrefixIndex: words looked for at a known place of a folded text, the longest first, each with what it means."""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar

UNSPACED: Final = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af]")
"""Scripts of languages without spaces; Korean in its parts, as folding leaves it."""

T = TypeVar("T")

_SHORT: Final = 2
_LONG: Final = 7
"""Long words and phrases are told apart by so many letters, all others by `_SHORT`: so few lengths are tried."""


class PrefixIndex(Generic[T]):
    """Words looked for at a known place: the longest that begins there, up to a border unless its end is open."""

    def __init__(self, *, loose: bool) -> None:
        self._loose = loose
        self._words: dict[str, tuple[bool, list[T]]] = {}
        self._lengths: dict[str, list[int]] = {}

    def add(self, word: str, value: T, *, is_open: bool) -> None:
        """Add a folded word; an open one may go on."""
        word = word.rstrip("*")
        if not word:
            return
        free = is_open or self._loose or UNSPACED.search(word[-1]) is not None
        self._words.setdefault(word, (free, []))[1].append(value)
        lengths = self._lengths.setdefault(word[: _LONG if len(word) >= _LONG else _SHORT], [])
        if len(word) not in lengths:
            lengths.append(len(word))
            lengths.sort(reverse=True)

    def at(self, text: str, index: int) -> tuple[int, list[T]]:
        """The word at a place, one space aside: where it ends and what it means, or (-1, [])."""
        if text[index : index + 1] == " ":
            index += 1
        lengths = self._lengths
        for length in (*lengths.get(text[index : index + _LONG], ()), *lengths.get(text[index : index + _SHORT], ())):
            part = text[index : index + length]
            word = self._words.get(part)
            if word is not None and (word[0] or _is_border(text, index + len(part))):
                return index + len(part), word[1]
        word = self._words.get(text[index : index + 1])  # of one character
        return (index + 1, word[1]) if word is not None and (word[0] or _is_border(text, index + 1)) else _NOTHING


_NOTHING: Final[tuple[int, list[Any]]] = (-1, [])


def _is_border(text: str, index: int) -> bool:
    after = text[index : index + 1]
    return after in {"", " "} or UNSPACED.match(after) is not None
