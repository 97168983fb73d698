"""Automaton: find many plain texts in another in one pass (Aho-Corasick), whatever their number.

`contained` says which of them a text holds, `find` where each of them stands. Callers keep their own rule of what a find
must look like: `is_unspaced` tells letters of scripts whose words have no borders.

The library builds with the interpreter's lock held. So many texts are built in slices of `SLICE_BYTES`, and other threads run
between two of them. It sorts its states by swapping those where a text ends to the front, and then follows each circle of
swaps once for each state in it: where nearly every state ends a text (``k0``, ``k1``, …, ``k40000``) there are few circles and
long ones, and the time grows with the square of the texts. A text of its own before all others, which is in no text searched
and none of whose states but the last ends one, keeps the circles short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.text import scalar_text

LONGEST_TEXT: Final = 1024
"""Characters up to which a text is part of the automaton. Building it for one text of a million takes minutes."""

FEWEST_TEXTS: Final = 5
"""From so many texts on, an automaton costs less than searching for one after the other."""

SLICE_BYTES: Final = 64 * 1024
"""Bytes of texts that are built at a time, about 15 ms: each further slice is one more pass over the searched text."""

SEGMENT: Final = 8_192
"""Characters that are searched at a time; fewer if so many texts can end at one position that their hits take much memory."""

_SEGMENT_FINDS: Final = 100_000

REBUILD_AFTER: Final = 2_048
"""Hits after which a slice is rebuilt without the texts already matched; more where building costs more."""

_REPLACED: Final = "\ufffd"
_ENGINE: Final = "automata"
_STEPS_A_BYTE: Final = 2
_STEPS_A_FIND: Final = 5
_CHARACTERS_A_STEP: Final = 32
_SIZE_OF_A_BYTE: Final = 24
_SIZE_OF_A_TEXT: Final = 120

Rule = Callable[[str, int, int], bool]
"""Whether an occurrence counts: of the text searched, where it begins and ends."""


class _Slice(NamedTuple):
    """Some of the texts, by their numbers, with their rules and a machine for them; ``size`` in bytes.

    ``segment`` is how many characters are searched at a time, ``overlap`` how many more, so that no find is cut.
    """

    numbers: Sequence[int]
    rules: Sequence[Rule | None]
    machine: Any
    size: int
    segment: int
    overlap: int

    def finds(self, text: str, begin: int) -> list[tuple[int, int, int]]:
        """Return the hits in one segment and its overlap: the number within the slice, start and end, counted from ``begin``."""
        part = text[begin : begin + self.segment + self.overlap]
        charge(_ENGINE, 1 + len(part) // _CHARACTERS_A_STEP)
        finds: list[tuple[int, int, int]] = self.machine.find_matches_as_indexes(part, overlapping=True)
        if finds:
            charge(_ENGINE, _STEPS_A_FIND * len(finds))
        return finds


class Automaton:
    """Finds texts (distinct ones) by their numbers, from 0, overlapping ones too. An empty text matches once, at the beginning.

    Texts longer than ``longest``, those with halves of characters that cannot be encoded, and all of them where there are fewer
    than ``fewest``, are searched one by one; that changes the speed and nothing else. Building and searching are charged to
    the current allowance (`AllowanceError`).

    Args:
        texts: what is searched for.
        rules: for each text which of its occurrences count, ``None`` for all; no rules: all of all.
    """

    __slots__ = ("_alone", "_rules", "_slices", "size", "texts", "work")

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
        if len(together) < fewest:
            together = []
        self._alone = sorted({*range(len(self.texts))}.difference(together))
        sizes = [_bytes_of(self.texts[number]) for number in together]
        self.work = len(self.texts) + _STEPS_A_BYTE * sum(sizes)
        """Steps of work to build it: a cache of automata charges them to each build alike."""
        self.size = _SIZE_OF_A_BYTE * sum(sizes) + _SIZE_OF_A_TEXT * len(self.texts)
        """Bytes that it stands for in memory, about."""
        charge(_ENGINE, self.work)
        self._slices = [self._built(numbers) for numbers in _sliced(together, sizes)]

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Each occurrence that counts: the number of the text, and where it begins and ends; in no order."""
        searched = scalar_text(text) if self._slices else text  # the library takes only what UTF-8 can write
        for piece in self._slices:
            for begin in range(0, len(text), piece.segment):
                for index, start, end in piece.finds(searched, begin):
                    rule = piece.rules[index]
                    # a hit that begins in the overlap is that of the next segment
                    if start < piece.segment and (rule is None or rule(text, begin + start, begin + end)):
                        yield piece.numbers[index], begin + start, begin + end
        for number in self._alone:
            yield from self._each(number, text)

    def contained(self, text: str) -> set[int]:
        """The numbers of the texts that ``text`` holds, in an occurrence that counts."""
        searched = scalar_text(text) if self._slices else text
        numbers: set[int] = set()
        for piece in self._slices:
            numbers |= self._contained(piece, searched)
        return numbers.union([number for number in self._alone if any(True for _ in self._each(number, text))])

    def _contained(self, piece: _Slice, text: str) -> set[int]:
        matched: set[int] = set()
        begin = known = looked = 0
        while begin < len(text):
            numbers, rules = piece.numbers, piece.rules
            finds = piece.finds(text, begin)
            # hits in the overlap come twice, which a set does not mind
            matched |= {
                numbers[index]
                for index, start, end in finds
                if (rule := rules[index]) is None or rule(text, begin + start, begin + end)
            }
            begin += piece.segment
            looked += len(finds)
            # A text with very many hits of few keys: go on with the keys not matched yet. `_NOBODY` is the guard below.
            if looked > max(REBUILD_AFTER, piece.size * _STEPS_A_BYTE // _STEPS_A_FIND) and len(matched) > known:
                numbers = [number for number in numbers if number >= 0 and number not in matched]
                if not numbers:
                    break
                charge(_ENGINE, _STEPS_A_BYTE * piece.size)
                piece, known, looked = self._built(numbers), len(matched), 0
        return matched

    def _each(self, number: int, text: str) -> Iterator[tuple[int, int, int]]:
        key, rule = self.texts[number], self._rules[number]
        charge(_ENGINE, 1 + len(text) // _CHARACTERS_A_STEP)
        start = text.find(key)
        while start >= 0:
            end = start + len(key)
            if rule is None or rule(text, start, end):
                yield number, start, end
            charge(_ENGINE, _STEPS_A_FIND + len(key) // _CHARACTERS_A_STEP)
            start = text.find(key, start + 1) if key else -1

    def _built(self, numbers: Sequence[int]) -> _Slice:
        from ahocorasick_rs import AhoCorasick, Implementation

        texts = [self.texts[number] for number in numbers]
        rules = [self._rules[number] for number in numbers]
        size, longest = sum(map(_bytes_of, texts)), max(map(len, texts))
        # at one position at most one text of each length can end: that bounds the hits that one segment holds in memory
        segment = max(min(SEGMENT, _SEGMENT_FINDS // min(len(numbers), longest)), 1)
        if size > _SMALL_BYTES:
            # a long text that never occurs comes first: it spreads the states so that their chains stay short
            numbers, rules = [_NOBODY, *numbers], [lambda _text, _start, _end: False, *rules]
            texts = [_UNWRITTEN * (size // _CHAIN_SHARE), *texts]
        # Of up to 100 texts the library makes a table of each state by each byte: of long ones that takes 50 times as long.
        kind = Implementation.ContiguousNFA if size > _SMALL_BYTES else None
        machine = AhoCorasick(texts, store_patterns=False, implementation=kind)
        return _Slice(numbers, rules, machine, size, segment, longest - 1)


_SMALL_BYTES: Final = 4_096
_NOBODY: Final = -1
_UNWRITTEN: Final = "\U0010ffff"
"""A noncharacter of Unicode, which ordinary texts do not contain. One that does is searched correctly all the same."""

_CHAIN_SHARE: Final = 32
"""Bytes of texts to a character, of 4 bytes, of the text before all others: with an eighth of the states circles are short."""


def _sliced(numbers: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    """The numbers in lists of texts of about `SLICE_BYTES` together."""
    piece: list[int] = []
    filled = 0
    for number, size in zip(numbers, sizes, strict=True):
        piece.append(number)
        filled += size
        if filled >= SLICE_BYTES:
            yield piece
            piece, filled = [], 0
    if piece:
        yield piece


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _is_scalar(text: str) -> bool:
    """Whether the text matches in a haystack whose lone surrogates became U+FFFD exactly where it matches in the original."""
    return text.isascii() or (_REPLACED not in text and scalar_text(text) is text)


_UNSPACED: Final = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F)),
    (0x20000, 0x3FFFF),
)
"""Ranges of characters, and no pattern: to compile one of so many takes longer than a thousand questions."""


def is_unspaced(char: str) -> bool:
    """Whether the character is of Thai, Lao, Burmese, Khmer, or a Chinese or Japanese script, which part no words by spaces."""
    code = ord(char)
    return code >= _UNSPACED[0][0] and any(first <= code <= last for first, last in _UNSPACED)
