"""KeyIndex: finds every plain key of a set of books in a text in one pass, and remembers the texts it has seen."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.lore.limits import MAX_AUTOMATON_KEY, MAX_KEYS_WITHOUT_AUTOMATON, MAX_MEMO_TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["KeyIndex", "Pattern", "first_place"]

_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
"""What JavaScript's ``\\w`` means: a neighbour outside this set is a word's border."""


class Pattern(msgspec.Struct, frozen=True):
    """A plain text to find: as written or in lower case, anywhere or only as a whole word."""

    text: str
    exact_case: bool = False
    whole_word: bool = False
    unicode: bool = False
    """Whether letters beyond ASCII belong to words (see `_in_word`)."""


class KeyIndex:
    """An automaton over patterns. `hits` gives the numbers of the patterns a text contains.

    Each text is searched once and its hits kept, least recently used out first, so a scan costs what is new in the chat.
    """

    __slots__ = ("_exact", "_folded", "_memo", "patterns")

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = tuple(patterns)
        numbered = list(enumerate(self.patterns))
        self._folded = _Finder([(number, p) for number, p in numbered if not p.exact_case])
        self._exact = _Finder([(number, p) for number, p in numbered if p.exact_case])
        self._memo: OrderedDict[str, frozenset[int]] = OrderedDict()

    def hits(self, text: str) -> frozenset[int]:
        """The numbers of the patterns found in ``text``."""
        known = self._memo.get(text)
        if known is not None:
            return known
        found = self._folded.find(text.lower()) | self._exact.find(text)
        self._memo[text] = found
        if len(self._memo) > MAX_MEMO_TEXTS:
            self._memo.popitem(last=False)
        return found

    def locate(self, number: int, text: str) -> tuple[int, int] | None:
        """Where a pattern is first found in ``text``, for an explanation; ``None`` when it is not."""
        return first_place(self.patterns[number], text)


def first_place(pattern: Pattern, text: str) -> tuple[int, int] | None:
    """Where ``pattern`` is first found in ``text`` (not folded yet), or ``None``. An empty pattern is found at once."""
    return _first(pattern, text if pattern.exact_case else text.lower())


class _Finder:
    """Numbered patterns and the automaton over their texts; long ones, which would take it very long to build, apart."""

    __slots__ = ("_apart", "_automaton", "_borders", "_numbers")

    def __init__(self, numbered: list[tuple[int, Pattern]]) -> None:
        short = [each for each in numbered if len(each[1].text) <= MAX_AUTOMATON_KEY]
        if len(short) <= MAX_KEYS_WITHOUT_AUTOMATON:
            short = []
        self._apart = [each for each in numbered if not short or len(each[1].text) > MAX_AUTOMATON_KEY]
        self._numbers = [number for number, _ in short]
        self._borders = [_border_of(pattern) for _, pattern in short]
        self._automaton: Any = None
        if short:
            from ahocorasick_rs import AhoCorasick

            self._automaton = AhoCorasick([pattern.text for _, pattern in short], store_patterns=False)

    def find(self, text: str) -> frozenset[int]:
        found = frozenset(number for number, pattern in self._apart if _first(pattern, text) is not None)
        if self._automaton is None:
            return found
        borders, numbers = self._borders, self._numbers
        return found | {
            numbers[index]
            for index, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True)
            if (border := borders[index]) is None or border(text, start, end)
        }


def _at_borders(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] not in _WORD) and (end == len(text) or text[end] not in _WORD)


def _in_word(char: str) -> bool:
    """Whether a neighbour continues a word: ASCII's word characters, and letters and digits of scripts written with spaces."""
    return char in _WORD or (char.isalnum() and not _UNSPACED.match(char))


_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, and the Chinese and Japanese scripts: their words are not parted by spaces."""


def _at_unicode_borders(text: str, start: int, end: int) -> bool:
    return (start == 0 or not _in_word(text[start - 1])) and (end == len(text) or not _in_word(text[end]))


def _border_of(pattern: Pattern) -> Callable[[str, int, int], bool] | None:
    """What tells whether a find is a word, or ``None`` when it need not be one."""
    if not pattern.whole_word:
        return None
    return _at_unicode_borders if pattern.unicode else _at_borders


def _first(pattern: Pattern, text: str) -> tuple[int, int] | None:
    start, border = text.find(pattern.text), _border_of(pattern)
    while start >= 0:
        end = start + len(pattern.text)
        if border is None or border(text, start, end):
            return start, end
        start = text.find(pattern.text, start + 1)
    return None
