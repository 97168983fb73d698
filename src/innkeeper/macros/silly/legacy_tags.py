"""Finding the tags of SillyTavern's former engine in a text, in linear time whatever the text.

The former engine is a row of regular expressions, each run over the whole text. Written as such they take quadratic time
on text with many openers and no closers; these finders give the same matches, leftmost first, by looking for closers once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

import msgspec

_FLAGS: Final = re.IGNORECASE | re.ASCII
_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled where a text has its opener: most texts have few of these tags."""
    return re.compile(pattern, _FLAGS)


class TagMatch(msgspec.Struct, frozen=True):
    """One tag: where it starts and ends, and the texts in it."""

    start: int
    end: int
    groups: tuple[str, ...] = ()


class Finder(msgspec.Struct, frozen=True):
    """Finds the tags of one kind in a text, in order, none inside another. ``opener``: the common beginning of all of them."""

    opener: str
    find: Callable[[str], Iterator[TagMatch]]

    def __call__(self, text: str) -> Iterator[TagMatch]:
        """The tags in ``text``."""
        return self.find(text)


def exactly(literal: str) -> Finder:
    """The text itself, in any case of letters."""

    def find(text: str) -> Iterator[TagMatch]:
        matches = _compiled(re.escape(literal)).finditer(text)
        return (TagMatch(match.start(), match.end()) for match in matches)

    return Finder(literal, find)


def within_braces(pattern: str) -> Finder:
    """A pattern that begins with an opener, ends with ``}}`` and has no other ``}`` in it."""
    name = re.match(r"[a-z_]*", pattern.removeprefix(r"\{\{")).group()  # type: ignore[union-attr]  # it matches the empty text

    def find(text: str) -> Iterator[TagMatch]:
        opener, compiled = _compiled(re.escape("{{" + name)), _compiled(pattern)
        opened = opener.search(text)
        while opened is not None:
            brace = text.find("}", opened.end())
            if brace < 0:
                return
            match = compiled.search(text, opened.start(), brace + 2) if text.startswith("}}", brace) else None
            if match is not None:
                yield TagMatch(match.start(), match.end(), tuple(match.groups()))
            opened = opener.search(text, brace + 1 if match is None else match.end())

    return Finder("{{" + name, find)


class _Next:
    """The next place of something in a text, remembered until it is passed."""

    __slots__ = ("_find", "_index")

    def __init__(self, find: Callable[[int], int]) -> None:
        self._find = find
        self._index = -2

    def at(self, index: int) -> int:
        """Return the first index from ``place`` on, or -1."""
        if self._index != -1 and self._index < index:
            self._index = self._find(index)
        return self._index


def assigned(opener: str, *, empty: bool) -> Finder:
    """From an opener over a name without colons, ``::`` and a value without ``}`` to ``}}``; the value may be ``empty``."""

    def find(text: str) -> Iterator[TagMatch]:
        pattern = _compiled(re.escape(opener))
        colons = _Next(lambda start: text.find(":", start))
        braces = _Next(lambda start: text.find("}", start))
        match = pattern.search(text)
        while match is not None:
            colon = colons.at(match.end())
            brace = braces.at(colon + 2) if colon >= 0 else -1
            if brace < 0:
                return
            named = colon > match.end() and text.startswith("::", colon)
            if named and text.startswith("}}", brace) and (empty or brace > colon + 2):
                yield TagMatch(match.start(), brace + 2, (text[match.end() : colon], text[colon + 2 : brace]))
                match = pattern.search(text, brace + 2)
            else:
                match = pattern.search(text, match.start() + 1)

    return Finder(opener, find)


def _line_ends(text: str) -> _Next:
    def find(start: int) -> int:
        match = _LINE_END.search(text, start)
        return match.start() if match else -1

    return _Next(find)


def to_close(opener: str) -> Finder:
    """From an opener to the first ``}}``, over as many lines as it takes."""

    def find(text: str) -> Iterator[TagMatch]:
        pattern = _compiled(re.escape(opener))
        match = pattern.search(text)
        while match is not None:
            close = text.find("}}", match.end())
            if close < 0:
                return
            yield TagMatch(match.start(), close + 2, (text[match.end() : close],))
            match = pattern.search(text, close + 2)

    return Finder(opener, find)


def on_line(opener: str, separator: str = "") -> Finder:
    """From an opener to the first ``}}`` on its line, with at least one character between.

    With a ``separator`` there are two texts, parted by the first one, and both may be empty.
    """

    def find(text: str) -> Iterator[TagMatch]:
        pattern = _compiled(re.escape(opener))
        ends = _line_ends(text)
        closes = _Next(lambda begin: text.find("}}", begin))
        parts = _Next(lambda begin: text.find(separator, begin))
        match = pattern.search(text)
        while match is not None:
            start = match.end()
            middle = parts.at(start) if separator else start
            close = closes.at(middle + len(separator) if separator else start + 1) if middle >= 0 else -1
            if close < 0:
                return
            end = ends.at(start)
            if 0 <= end < close:
                match = pattern.search(text, match.start() + 1)
                continue
            groups = (text[start:middle], text[middle + len(separator) : close]) if separator else (text[start:close],)
            yield TagMatch(match.start(), close + 2, groups)
            match = pattern.search(text, close + 2)

    return Finder(opener, find)


def quoted(opener: str, closer: str) -> Finder:
    """From an opener to the last closer on its line."""

    def find(text: str) -> Iterator[TagMatch]:
        pattern = _compiled(re.escape(opener))
        match = pattern.search(text)
        while match is not None:
            line = _LINE_END.search(text, match.end())
            end = line.start() if line else len(text)
            close = text.rfind(closer, match.end(), end)
            if close >= 0:
                end = close + len(closer)
                yield TagMatch(match.start(), end, (text[match.end() : close],))
            match = pattern.search(text, end)

    return Finder(opener, find)
