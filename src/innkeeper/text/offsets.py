"""OffsetMap: maps offsets of a transformed text back to offsets of the original.

Whoever makes a form out of a text says with it how the way back goes; it is worked out where something was found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from innkeeper.text.confusables import LENGTHS

_LOOKED_UP: Final = 3
"""The number of offsets that are mapped without a table."""

_GAP: Final = re.compile("  +")


class OffsetMap:
    """Maps offsets of a view to those of the original text, computed when a match needs it."""

    def back(self, index: int) -> int:
        """The place in the text as given."""
        return index

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The way back for two places."""
        return self.back(first), self.back(last)


@dataclass(frozen=True)
class Folded(OffsetMap):
    """From folded characters to the characters they come from."""

    original: str
    before: OffsetMap

    @cached_property
    def _ends(self) -> list[int] | None:
        """Return where the replacement of each character ends; None where each became one."""
        # each character becomes one whose code is the length of its replacement, so that C code makes the list of lengths
        lengths = self.original.translate(LENGTHS).encode("latin-1")
        return None if lengths.count(1) == len(lengths) else list(accumulate(lengths))

    def back(self, index: int) -> int:
        """See `OffsetMap.back`."""
        if self._ends is None:
            return self.before.back(min(max(index, 0), len(self.original)))
        return self.before.back(bisect_right(self._ends, index))


@dataclass(frozen=True)
class SelectedRuns(OffsetMap):
    """Maps a view made of parts of another: runs of (start in the new text, start in the old one)."""

    starts: list[int]
    olds: list[int]
    before: OffsetMap

    def back(self, index: int) -> int:
        """See `OffsetMap.back`."""
        run = bisect_right(self.starts, index) - 1
        old = self.olds[run] + index - self.starts[run]
        return old if self.before is SAME else self.before.back(old)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """See `OffsetMap.span`."""
        # both ends in one run, the usual case, are moved by the same amount: one search instead of two
        run = bisect_right(self.starts, first)
        if last < first or (run < len(self.starts) and last >= self.starts[run]):
            return self.back(first), self.back(last)
        less = self.olds[run - 1] - self.starts[run - 1]
        return (first + less, last + less) if self.before is SAME else self.before.span(first + less, last + less)


class Words(OffsetMap):
    """Maps a text whose separators became single spaces (``text``) to the text before, whose words begin elsewhere."""

    __slots__ = ("_asked", "_before", "_runs", "_spaced", "_text")

    def __init__(self, text: str, spaced: str, before: OffsetMap) -> None:
        self._text, self._spaced, self._before = text, spaced, before
        self._asked = 0
        self._runs: SelectedRuns | None = None

    def back(self, index: int) -> int:
        """Look up the first few offsets one by one; for more, a table pays off."""
        self._asked += 1
        if self._asked > _LOOKED_UP:
            self._runs = self._runs or self._table()
            return self._runs.back(index)
        # the word of this offset is the n-th of both texts: what is left of the spaced one after n splits begins with it
        begin = self._text.rfind(" ", 0, index) + 1
        rest = self._spaced.split(None, self._text.count(" ", 0, index))[-1]
        return self._before.back(len(self._spaced) - len(rest) + index - begin)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """See `OffsetMap.span`."""
        if self._runs is None or last < first:
            return self.back(first), self.back(last)
        return self._runs.span(first, last)

    def _table(self) -> SelectedRuns:
        """A run for every gap of more than one separator."""
        less = len(self._spaced) - len(self._spaced.lstrip())
        starts, olds = [0], [less]
        for match in _GAP.finditer(self._spaced, less):
            start, end = match.span()
            less += end - start - 1  # so many separators have no place in the new text up to here
            starts.append(end - less)
            olds.append(end)
        return SelectedRuns(starts, olds, self._before)


@dataclass(frozen=True)
class Turned(OffsetMap):
    """From a text written from its end to its beginning to the text."""

    before: OffsetMap
    length: int

    def back(self, index: int) -> int:
        """See `OffsetMap.back`."""
        return self.before.back(self.length - 1 - index)


SAME: Final = OffsetMap()
