"""Pieces: a text during expansion, cut at delimiters and at the values of macros, so that a value is never read as syntax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from innkeeper.macros.engine.ranges import MacroRange

_BLANK: Final = re.compile(r"\s*")
_VEIL: Final = "\0"
_SHORT: Final = 64
_FEW: Final = 16
"""In how many pieces a macro's name may be, with the blank space around it."""


class MacroOutput(str):
    """A part of what a macro produced. ``by`` is the macro's name and a number that no other macro of the text has."""

    __slots__ = ("by",)

    by: tuple[str, int]


M = TypeVar("M", bound=MacroOutput)


class MacroValue(MacroOutput):
    """The value of a macro, where it is data: no delimiter, separator or name in it counts."""

    __slots__ = ()


def made(kind: type[M], text: str, by: tuple[str, int]) -> M:
    """A piece of this kind."""
    piece = kind(text)
    piece.by = by
    return piece


def ranges_of(pieces: Iterable[str]) -> list[MacroRange]:
    """Return the ranges of a text that macros produced: neighbours by the same macro are one range."""
    ranges: list[MacroRange] = []
    index, last = 0, None
    for piece in filter(None, pieces):
        by: tuple[str, int] | None = getattr(piece, "by", None)
        start, index = index, index + len(piece)
        if by is not None and by is last:
            ranges[-1] = MacroRange(ranges[-1].start, index, by[0])
        elif by is not None:
            ranges.append(MacroRange(start, index, by[0]))
        last = by
    return ranges


class Inner(msgspec.Struct, frozen=True):
    """The text between a macro's delimiters, without blank space around it.

    ``plain`` is the same text with every character of a `MacroValue` veiled: structure is searched in it and cut out of ``text``.
    """

    text: str
    plain: str
    pieces: Sequence[str] = ()

    def behind(self, index: int) -> Inner:
        """Return the pieces after ``place``."""
        text = self.text[index:]
        return Inner(text, text if self.plain is self.text else self.plain[index:])

    def cut(self, separator: str) -> tuple[Inner, Inner] | None:
        """Split at the first ``separator``; ``None`` without one."""
        index = self.plain.find(separator)
        if index < 0:
            return None
        return Inner(self.text[:index], self.plain[:index]), self.behind(index + len(separator))

    def stripped(self) -> Inner:
        """The same without blank space around it."""
        text = self.text.strip()
        if self.plain is self.text:
            return Inner(text, text, self.pieces)
        start = len(self.text) - len(self.text.lstrip())
        return Inner(text, self.plain[start : start + len(text)], self.pieces)


def inner_of(pieces: Sequence[str]) -> Inner:
    """The inner of a macro whose pieces these are."""
    if MacroValue not in map(type, pieces):
        text = "".join(pieces).strip()
        return Inner(text, text, pieces)
    text = "".join(pieces)
    plain = "".join(_VEIL * len(piece) if type(piece) is MacroValue else piece for piece in pieces)
    return Inner(text, plain, pieces).stripped()


def first_word(pieces: Sequence[str], first: int, longest: int) -> tuple[str, str]:
    """The first word of the pieces from ``first`` on, cut off behind ``longest``, and what follows it.

    Which is ``:``, `` :`` for a colon behind blank space, an empty text for the end, or ``?`` for anything else. No more of the
    pieces is looked at than that takes, so that texts full of delimiters which open no macro cost nothing.
    """
    if len(pieces) - first == 1 and len(pieces[first]) <= _SHORT and type(pieces[first]) is str:
        return _short(pieces[first], longest)
    return _first_word(pieces, first, longest)


@lru_cache(maxsize=2048)
def _short(piece: str, longest: int) -> tuple[str, str]:
    """The first word of one short piece; the same few macros fill most texts."""
    return _first_word((piece,), 0, longest)


def _first_word(pieces: Sequence[str], first: int, longest: int) -> tuple[str, str]:
    word, over, apart = "", False, False
    for index in range(first, min(len(pieces), first + _FEW)):
        piece = pieces[index]
        if type(piece) is MacroValue:
            if piece:
                return word, "?"
            continue
        position = 0 if word else _BLANK.match(piece).end()  # type: ignore[union-attr]  # it matches the empty text
        if not over:
            end = _word_end(piece, position, longest - len(word))
            word += piece[position:end]
            if len(word) > longest:
                return word, "?"
            over, position = bool(word) and end < len(piece), end
        end = _BLANK.match(piece, position).end()  # type: ignore[union-attr]  # as above
        apart = apart or end > position
        if end < len(piece):
            return word, "?" if piece[end] != ":" else " :" if apart else ":"
    return word, "" if len(pieces) - first <= _FEW else "?"


def _word_end(piece: str, start: int, room: int) -> int:
    for index in range(start, min(len(piece), start + room + 1)):
        if piece[index] == ":" or piece[index].isspace():
            return index
    return min(len(piece), start + room + 1)
