"""Matching: detection lists compiled once, and their finds in a folded text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from innkeeper.library.limits import REGEX_SCAN_SECONDS
from innkeeper.library.tiers.lexicon import LexiconEntry
from innkeeper.text.automaton import Automaton, is_unspaced
from innkeeper.text.confusables import View, fold_word
from innkeeper.text.pyregex import Deadline, PyPattern, compile_pattern

__all__ = ["Find", "Matcher"]

_LOOSE_LETTERS: Final = 4
"""From so many letters on, a word counts where letters are spelled out one by one and its borders cannot be seen."""


class Find(NamedTuple):
    """A find in a view: the entry's number, and where."""

    entry: int
    start: int
    end: int


class Matcher:
    """The entries of detection lists, in one automaton for words and phrases and one expression each for the rest."""

    def __init__(self, entries: Sequence[LexiconEntry]) -> None:
        self.entries = tuple(entries)
        plain, merged = _Words(self.entries, merged=False), _Words(self.entries, merged=True)
        self._words = (plain, merged)
        self._patterns: tuple[tuple[int, PyPattern], ...] = tuple(
            (number, compile_pattern(entry.pattern))
            for number, entry in enumerate(self.entries)
            if entry.kind == "regex"
        )

    def finds(self, view: View) -> list[Find]:
        """The finds of words and phrases, those in an allowed context left out."""
        return self._words[view.merged].finds(view)

    def matches(self, view: View) -> list[Find]:
        """The finds of expressions. Raises `PatternLimitError` when they take longer than ``REGEX_SCAN_SECONDS`` together."""
        if not self._patterns:
            return []
        deadline = Deadline(REGEX_SCAN_SECONDS)
        found = [
            Find(number, *match.span())
            for number, pattern in self._patterns
            for match in pattern.matches(view.text, deadline)
            if match.end() > match.start()
        ]
        return _outside(found, self._words[0].contexts(view)) if found else found


class _Words:
    """Words, phrases and contexts of entries by their folded texts; ``merged``: with ``l`` written ``i``."""

    def __init__(self, entries: Sequence[LexiconEntry], *, merged: bool) -> None:
        self._owners: dict[str, tuple[list[int], list[int]]] = {}
        for number, entry in enumerate(entries):
            if entry.kind != "regex":
                self._own(entry.pattern, number, 0, merged=merged)
            for context in entry.allow_contexts:
                self._own(context, number, 1, merged=merged)
        self._texts = list(self._owners)
        self._automaton = Automaton(self._texts)

    def _own(self, text: str, number: int, role: int, *, merged: bool) -> None:
        folded = fold_word(text)
        self._owners.setdefault(folded.replace("l", "i") if merged else folded, ([], []))[role].append(number)

    def finds(self, view: View) -> list[Find]:
        hits = list(self._hits(view))
        if not hits:
            return []
        return _outside(self._of(hits, 0), self._of(hits, 1))

    def contexts(self, view: View) -> list[Find]:
        return self._of(self._hits(view), 1)

    def _of(self, hits: Iterable[tuple[str, int, int]], role: int) -> list[Find]:
        return [Find(number, start, end) for text, start, end in hits for number in self._owners[text][role]]

    def _hits(self, view: View) -> Iterator[tuple[str, int, int]]:
        for index, start, end in self._automaton.find(view.text):
            text = self._texts[index]
            if (view.loose and len(text) >= _LOOSE_LETTERS) or _at_borders(view.text, start, end):
                yield text, start, end


def _outside(finds: list[Find], contexts: list[Find]) -> list[Find]:
    """The finds that no context of their own entry covers."""
    if not contexts:
        return finds
    starts: dict[int, list[int]] = {}
    reach: dict[int, list[int]] = {}
    for context in sorted(contexts, key=lambda each: each.start):
        ends = reach.setdefault(context.entry, [])
        starts.setdefault(context.entry, []).append(context.start)
        ends.append(max(context.end, ends[-1] if ends else 0))  # how far contexts that begin up to here go
    return [find for find in finds if not _covered(find, starts.get(find.entry, []), reach.get(find.entry, []))]


def _covered(find: Find, starts: list[int], reach: list[int]) -> bool:
    before = bisect_right(starts, find.start)
    return before > 0 and reach[before - 1] >= find.end


def _at_borders(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    return not (_joined(before, text[start]) or _joined(text[end - 1], after))


def _joined(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word."""
    return left.isalnum() and right.isalnum() and not (is_unspaced(left) or is_unspaced(right))
