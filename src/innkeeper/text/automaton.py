"""Automaton: many plain texts found in another in one pass (Aho-Corasick), whatever their number.

`contained` says which of them a text holds, `find` where each of them stands. Callers keep their own rule of what a find
must look like: `is_unspaced` tells letters of scripts whose words have no borders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from innkeeper.prompt.text import scalar_text

__all__ = ["LONGEST_TEXT", "Automaton", "Rule", "is_unspaced"]

LONGEST_TEXT: Final = 1024
"""Characters up to which a text is part of the automaton. Building it for one text of a million takes minutes."""

FEWEST_TEXTS: Final = 5
"""From so many texts on, an automaton costs less than searching for one after the other."""

SEGMENT: Final = 8_192
"""Characters that `Automaton.contained` searches at a time; fewer where so many texts can end at one place that their finds
would take much memory."""

_SEGMENT_FINDS: Final = 250_000

REBUILD_AFTER: Final = 2_048
"""Finds in one segment after which the automaton is built anew, without the texts that are already found."""

_REPLACED: Final = "\ufffd"


Rule = Callable[[str, int, int], bool]
"""Whether an occurrence counts: of the text searched, where it begins and ends."""


class Automaton:
    """Finds texts (different ones) by their numbers, from 0, overlapping ones too. An empty text is found once, at the beginning.

    Texts longer than ``longest``, those with halves of characters that cannot be encoded, and all of them where there are fewer
    than ``fewest``, are searched one by one; that changes the speed and nothing else.

    Args:
        texts: what is searched for.
        rules: for each text which of its occurrences count, ``None`` for all; no rules: all of all.
    """

    __slots__ = ("_alone", "_machine", "_overlap", "_rules", "_rules_together", "_together", "texts")

    def __init__(
        self,
        texts: Sequence[str],
        rules: Sequence[Rule | None] = (),
        *,
        longest: int = LONGEST_TEXT,
        fewest: int = FEWEST_TEXTS,
    ) -> None:
        self.texts = tuple(texts)
        self._rules = tuple(rules) or (None,) * len(self.texts)
        together = [number for number, text in enumerate(self.texts) if 0 < len(text) <= longest and _is_scalar(text)]
        self._together = together if len(together) >= fewest else []
        self._alone = sorted({*range(len(self.texts))}.difference(self._together))
        self._rules_together = [self._rules[number] for number in self._together]
        self._machine = self._built(self._together)
        self._overlap = max((len(self.texts[number]) for number in self._together), default=1) - 1

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Each occurrence that counts: the number of the text, and where it begins and ends."""
        if self._together:
            rules = self._rules
            for index, start, end in _finds(self._machine, scalar_text(text)):
                number = self._together[index]
                if (rule := rules[number]) is None or rule(text, start, end):
                    yield number, start, end
        for number in self._alone:
            yield from self._each(number, text)

    def contained(self, text: str) -> set[int]:
        """The numbers of the texts that ``text`` holds, in an occurrence that counts."""
        found = self._contained(scalar_text(text)) if self._together else set()
        return found.union([number for number in self._alone if any(True for _ in self._each(number, text))])

    def _contained(self, text: str) -> set[int]:
        found: set[int] = set()
        machine, numbers, rules = self._machine, self._together, self._rules_together
        segment = min(SEGMENT, _SEGMENT_FINDS // min(len(numbers), self._overlap + 1))
        for begin in range(0, len(text), segment):
            known = len(found)
            finds = _finds(machine, text[begin : begin + segment + self._overlap])
            found |= {
                numbers[index]
                for index, start, end in finds
                if (rule := rules[index]) is None or rule(text, begin + start, begin + end)
            }
            if len(finds) > REBUILD_AFTER and len(found) > known:
                numbers = [number for number in numbers if number not in found]
                if not numbers:
                    break
                machine, rules = self._built(numbers), [self._rules[number] for number in numbers]
        return found

    def _each(self, number: int, text: str) -> Iterator[tuple[int, int, int]]:
        wanted, rule = self.texts[number], self._rules[number]
        start = text.find(wanted)
        while start >= 0:
            end = start + len(wanted)
            if rule is None or rule(text, start, end):
                yield number, start, end
            start = text.find(wanted, start + 1) if wanted else -1

    def _built(self, numbers: Sequence[int]) -> Any:
        if not numbers:
            return None
        from ahocorasick_rs import AhoCorasick

        return AhoCorasick([self.texts[number] for number in numbers], store_patterns=False)


def _finds(machine: Any, text: str) -> list[tuple[int, int, int]]:
    finds: list[tuple[int, int, int]] = machine.find_matches_as_indexes(text, overlapping=True)
    return finds


def _is_scalar(text: str) -> bool:
    """Whether the text is found in a haystack whose lone surrogates became U+FFFD exactly where it is found in itself."""
    return text.isascii() or (_REPLACED not in text and scalar_text(text) is text)


_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)


def is_unspaced(char: str) -> bool:
    """Whether the character is of Thai, Lao, Burmese, Khmer, or a Chinese or Japanese script, which part no words by spaces."""
    return _UNSPACED.match(char) is not None
