"""Views: a text in every form in which a detector compares it, with the way back to the places of the text as it was given.

Its characters are folded (`innkeeper.text.confusables`), what is written by numbers or in a code is read, and what hides words is
looked through: drawn-out letters, single letters in a row, separators inside a word (dynamic-prompting reference 3.2, step 1).
The text itself is never changed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Final

from innkeeper.prompt.allowance import charge
from innkeeper.text.confusables import FOLDS, has_signs, is_plain, upright, with_letters, with_plain_signs, with_spaces
from innkeeper.text.encodings import atbash, decoded, rot13
from innkeeper.text.offsets import SAME, Folded, OffsetMap, SelectedRuns, Turned, Words

_LATER: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that go on with a character: without them, each character is one byte."""

_ASCII: Final = bytes(range(128))
_WORDS_AND_SPACES: Final = bytes(code if code == ord(" ") else ord("a") for code in range(256))
_WORDS_AND_SIGNS: Final = bytes.maketrans(
    _ASCII, "".join("a" if chr(code).isalnum() else " " if chr(code).isspace() else "." for code in _ASCII).encode()
)
_WIDE: Final = bytes.maketrans(bytes(range(0xE1, 0xEA)), b"c" * 9)
"""The scripts without spaces are all among the characters that begin with these bytes."""

_NO_CONTRACTION: Final = r"(?!(?<=n')t(?![^\W_])|(?<=')(?:s|ll|re|ve)(?![^\W_]))"
"""No such joint is looked through: ``didn't``, ``she's``, ``they'll``."""

_PUNCTUATION: Final = re.compile(r"[!-/:-@\[-`{-~](?<=[a-z0-9].)[!-/:-@\[-`{-~]?(?=[a-z0-9])" + _NO_CONTRACTION)
_ANY_PUNCTUATION: Final = re.compile(r"[\W_](?<!\s)(?<=[^\W_].)(?:[^\w\s]|_)?(?=[^\W_])" + _NO_CONTRACTION, re.DOTALL)
"""One or two signs inside a word. They begin with a set, for which a search skips fast, and check then what precedes it."""

_DRAWN_OUT: Final = re.compile(r"([^\W\d_])\1\1+")
_ROW: Final = re.compile(r"(?:(?<= )|^)[^\W_](?: [^\W_](?= |$)){2,}")
_REFERENCE_SIGNS: Final = ("&", "%", "\\")
_MAYBE_REFERENCE: Final = re.compile(r"&#|%[2-7]|\\[ux]")
_REFERENCE: Final = re.compile(
    r"&\#(?:0*(?P<decimal>\d{1,7})|[xX]0*(?P<hex>[0-9a-fA-F]{1,6}));?"
    r"|\\(?:u(?P<escape>[0-9a-fA-F]{4})|[ux]\{?(?P<short>[0-9a-fA-F]{2,6}?)(?![0-9a-fA-F])\}?|x(?P<two>[0-9a-fA-F]{2}))|%(?P<percent>[2-7][0-9a-fA-F])"
)
"""Characters written by their numbers, as HTML, JSON and addresses have them."""

_LONG_NUMBER: Final = re.compile(r"(?<![^\W_])(?:\d+\.\d{3,}|\d{5,})(?![^\W_])")
"""A number of an order, a measure: its digits stand for no letters, which digits do beside letters alone."""

_SPELLED: Final = 3
"""From so many single letters in a row on, they are read as a word that is spelled out."""

_NESTED: Final = 3
"""How often decoded text is decoded again."""

_STEPS_A_CHARACTER: Final = 2


@dataclass(frozen=True)
class TextView:
    """A folded form of a text.

    ``loose``: its words run together, so that a find needs no borders. ``merged``: ``l`` is written ``i`` in it.
    ``shortened``: drawn-out letters are not in it.
    """

    text: str
    _starts: OffsetMap
    loose: bool = False
    merged: bool = False
    shortened: bool = False

    @cached_property
    def words(self) -> list[str]:
        """The words of the view."""
        return self.text.split(" ")

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text for a span of the view."""
        first, last = self._starts.span(start, end - 1)
        return (last, first + 1) if 0 <= last < first else (first, last + 1)  # written from its end to its beginning


def views_of(text: str) -> Iterator[TextView]:
    """Yield every form in which a text is compared, the plain one first. Their offsets map to ``text``."""
    yield from _views(text, SAME)
    before: OffsetMap = SAME
    if (read := _unescaped(text)) is not None:
        yield from _views(*read)
        text, before = read
    if (turned := upright(text)) is not None:
        yield from _views(turned, Turned(before, len(text)))
    for _ in range(_NESTED):
        if (plain := decoded(text)) is None:
            break
        before = SelectedRuns(plain.starts, plain.olds, before)
        text = plain.text
        yield from _views(text, before)


TURNS: Final[Mapping[str, Callable[[str], str]]] = {"rot13": rot13, "atbash": atbash, "back": lambda text: text[::-1]}
"""Ways in which a text may be written as a whole, each the way back too; all but ``back`` leave every letter in its place."""


def turned_views(text: str, way: str) -> Iterator[TextView]:
    """The forms of a text that is written in one of `TURNS`."""
    yield from _views(TURNS[way](text), Turned(SAME, len(text)) if way == "back" else SAME)


def _views(text: str, before: OffsetMap) -> Iterator[TextView]:
    text = _LONG_NUMBER.sub(lambda number: " " * len(number[0]), with_plain_signs(text))
    # most texts fold to themselves but for case, which keeps every offset: no map is made for them
    folded, offsets = (text.lower(), before) if is_plain(text) else (text.translate(FOLDS), Folded(text, before))
    charge("views", 1 + _STEPS_A_CHARACTER * len(folded))
    plain = _words(folded, offsets)
    yield from _forms(folded, offsets, plain)
    if merged := has_signs(folded):
        folded = with_letters(folded)
        yield from _forms(folded, offsets, _words(folded, offsets, merged=True))
    drawn_out = _has_triples(plain.text) and _DRAWN_OUT.search(plain.text) is not None  # a letter three times in a row
    # ``niiice`` is a word with one of its letters, ``gooood`` with two
    for length in (1, 2) if drawn_out else ():
        short = _shortened(folded, (match.span() for match in _DRAWN_OUT.finditer(folded)), offsets, keep=length)
        if short is not None:
            yield replace(_words(*short, merged=merged), shortened=True)


def _forms(base: str, offsets: OffsetMap, plain: TextView) -> Iterator[TextView]:
    """The words of a text; its spelled-out words; and its words without the signs inside them."""
    yield plain
    if (spelled := _spelled_out(plain)) is not None:
        yield spelled
        yield _rows_joined(plain)
        if not (plain.merged or spelled.text.replace(" ", "").isalpha()):
            yield replace(spelled, text=with_letters(spelled.text), merged=True)
    spans = _apart(plain.text) if _may_stand_apart(plain.text) else ()
    if (close := _shortened(plain.text, spans, plain._starts)) is not None:  # noqa: SLF001 - a view of a view
        yield replace(plain, text=close[0], _starts=close[1])
    if (joined := _shortened(base, _inside(base), offsets)) is not None:
        yield _words(*joined, merged=plain.merged)


def respelled(view: TextView, words: list[str], right: Mapping[str, str]) -> TextView:
    """The passages of a view around some of its ``words``, with others in their place; passages are parted by a sign.

    A place in a word that was put right is one in the word that stood there.
    """
    wrong = [number for number, word in enumerate(words) if word in right]
    begins = [0, *accumulate(len(word) + 1 for word in words)]
    starts: list[int] = []
    olds: list[int] = []
    new: list[str] = []
    length = done = 0
    for number in wrong:
        first, last = max(done, number - _PASSAGE), min(len(words), number + _PASSAGE + 1)
        if first > done and new:
            new.append("|")
            starts.append(length)
            olds.append(begins[first] - 1)
            length += 2
        for at in range(first, last):
            word = right.get(words[at], words[at])
            # three runs a word, its beginning, its last letter and the space: a span keeps its ends whatever the new length is
            starts += [length, length + len(word) - 1, length + len(word)]
            olds += [begins[at], max(begins[at], begins[at + 1] - 2), begins[at + 1] - 1]
            new.append(word)
            length += len(word) + 1
        done = max(done, last)
    return replace(view, text=" ".join(new), _starts=SelectedRuns(starts, olds, view._starts))  # noqa: SLF001 - a view of a view


_PASSAGE: Final = 8
"""So many words on each side of one that was put right are looked at again."""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unescaped(text: str) -> tuple[str, OffsetMap] | None:
    """Replace numeric references (``&#99;``, ``%63``) by their characters; None without any."""
    pieces: list[str] = []
    starts: list[int] = []
    olds: list[int] = []
    at = length = 0
    maybe = any(map(text.__contains__, _REFERENCE_SIGNS)) and _MAYBE_REFERENCE.search(text)
    for match in _REFERENCE.finditer(text) if maybe else ():
        starts += [length, length + match.start() - at]
        olds += [at, match.start()]
        # a reference beyond Unicode becomes a character without width
        code = int(match[match.lastgroup or 0], 10 if match.lastgroup == "decimal" else 16)
        pieces += [text[at : match.start()], chr(code) if code <= sys.maxunicode else "\u200b"]
        length += len(pieces[-2]) + len(pieces[-1])
        at = match.end()
    if not at:
        return None
    return "".join((*pieces, text[at:])), SelectedRuns([*starts, length], [*olds, at], SAME)


def _words(text: str, offsets: OffsetMap, *, merged: bool = False) -> TextView:
    """The words of a text with single spaces between them."""
    spaced = with_spaces(text)
    words = spaced.split()
    joined = " ".join(words)
    view = TextView(joined, Words(joined, spaced, offsets), merged=merged)
    view.__dict__["words"] = words or [""]  # known already: `TextView.words` need not split again
    return view


def _has_triples(text: str) -> bool:
    """Whether a character may occur three times in a row."""
    data = _bytes(text)
    number = int.from_bytes(data)
    if text.isascii():
        # a byte of `once` is 0 where two neighbours are equal; shifted once more, where three are
        once = number ^ (number >> 8)
        return 0 in (once | (once >> 8)).to_bytes(len(data))
    # a character of `size` bytes three times in a row leaves 2 * size zeros when the text is laid over itself by `size`
    over = (
        bytes(2 * size) in (number ^ (number >> 8 * size)).to_bytes(len(data)) for size in range(1, _MOST_BYTES + 1)
    )
    return any(over)


_MOST_BYTES: Final = 4
"""So many bytes a character has at most."""

_APART: Final = re.compile(
    "(?:[\u1100-\u11ff]{2,4}|[\u2e80-\u9fff][\u3099\u309a]?)"
    "(?: (?:[\u1100-\u11ff]{2,4}|[\u2e80-\u9fff][\u3099\u309a]?)(?= |$)){2,}"
)
"""Characters of scripts without spaces that stand apart, three in a row; Korean in its parts."""


def _may_stand_apart(text: str) -> bool:
    """Whether two words of a few such characters may stand side by side."""
    if text.isascii():
        return False
    classes = _bytes(text).translate(_WIDE, _LATER)  # one byte a character, ``c`` for those of such scripts
    return b" c" in classes and _WIDE_WORDS.search(classes) is not None


_WIDE_WORDS: Final = re.compile(rb" c{1,4} c{1,4}(?: |\Z)")


def _apart(text: str) -> Iterator[tuple[int, int]]:
    """The spaces between such characters."""
    for match in _APART.finditer(text):
        at = text.find(" ", match.start())
        while 0 <= at < match.end():
            yield at, at + 1
            at = text.find(" ", at + 1)


def _inside(text: str) -> Iterable[tuple[int, int]]:
    """Yield the spans of one or two separators inside a word."""
    if not text.isascii():
        return (match.span() for match in _ANY_PUNCTUATION.finditer(text))
    data = text.encode()
    if b"'" in data:  # the contractions of most texts, which are no such places
        data = data.replace(b"n't ", b"n t ").replace(b"'s ", b" s ")
    if b".a" not in data.translate(_WORDS_AND_SIGNS):
        return ()
    return (match.span() for match in _PUNCTUATION.finditer(text))


def _shortened(
    text: str, spans: Iterable[tuple[int, int]], before: OffsetMap, keep: int = 0
) -> tuple[str, OffsetMap] | None:
    """Shorten every span to ``keep`` characters; None without spans."""
    pieces: list[str] = []
    starts: list[int] = []
    olds: list[int] = []
    at = length = 0
    for start, stop in spans:
        end = start + keep
        if end > at:
            pieces.append(text[at:end])
            starts.append(length)
            olds.append(at)
            length += end - at
        at = stop
    if not at:
        return None
    return "".join((*pieces, text[at:])), SelectedRuns([*starts, length], [*olds, at], before)


def _spelled_out(plain: TextView) -> TextView | None:
    """The single letters of a view that stand in a row, joined; rows are parted by a space."""
    words = plain.words
    # three single letters in a row: the bytes of words and of spaces are made alike, and looked for as one pattern
    if _THREE_ALONE.search(b" %b " % _bytes(plain.text).translate(_WORDS_AND_SPACES, _LATER)) is None:
        return None
    row: list[int] = []
    indices: list[int] = []
    at = 0
    for word in (*words, ".."):  # the last one ends a row at the end of the text
        if len(word) == 1:
            row.append(at)
        elif row:
            indices += [*row, -1] if len(row) >= _SPELLED else []  # -1 stands for the space between two rows
            row = []
        at += len(word) + 1
    text = "".join(" " if index < 0 else plain.text[index] for index in indices)
    starts = SelectedRuns(list(range(len(indices))), indices, plain._starts)  # noqa: SLF001 - a view of a view
    return TextView(text, starts, loose=True, merged=plain.merged) if indices else None


def _rows_joined(plain: TextView) -> TextView:
    """Return a view in which single letters in a row are one word among the others."""
    spans: list[tuple[int, int]] = []
    for match in _ROW.finditer(plain.text):
        spans += [(at, at + 1) for at in range(match.start() + 1, match.end(), 2)]  # every second character is a space
    shortened = _shortened(plain.text, spans, plain._starts)  # noqa: SLF001 - a view of a view
    return plain if shortened is None else replace(plain, text=shortened[0], _starts=shortened[1])


_THREE_ALONE: Final = re.compile(b" a a a ")
"""As a pattern it is faster than as text, since the words are all alike."""
