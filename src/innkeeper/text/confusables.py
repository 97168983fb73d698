"""Confusables: a text as a detector compares it, with the way back to the places of the text as it was given.

Folding takes away what hides a word from a comparison but not from a reader: full-width and other styled letters, case,
accents, characters that do not show, letters of other scripts that look Latin, digits and signs for letters, drawn-out
letters, and separators inside a word (dynamic-prompting reference 3.2, step 1). The text itself is never changed.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Final

from innkeeper.prompt.allowance import charge
from innkeeper.text.encodings import decoded, rot13

__all__ = ["View", "fold_word", "respelled", "turned_views", "views_of", "with_plain_signs"]

_LEET: Final = {ord(sign): letter for sign, letter in zip("013457896@$l", "oieastbggasi", strict=True)}
"""Signs as the letters they stand for. ``1``, ``!`` and ``|`` are ``i`` or ``l``, so in such a view ``l`` is ``i`` as well."""

_CYRILLIC: Final = "аa вb сc ԁd еe єe һh нh іi јj кk ӏl мm оo пn рp ԛq гr ѕs тt уy үy ѵv ԝw шw хx иu"
_GREEK: Final = "αa βb ϲc δd εe γy ηn ιi κk μu νv οo ρp σo ςs τt υu ωw χx ζz"
_SMALL_CAPITALS: Final = "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz"
_OTHER_LATIN: Final = "ıi łl øo đd ħh ŧt ɑa ɡg ɩi ʃs ɛe ɔo ƅb ƙk ɾr ʋv ǝe €e £l"
_ARMENIAN: Final = "աw գq զq հh ղn ոn ռn սu օo ցg յj քf"
_CHEROKEE: Final = "Ꭺa Ᏼb Ꮯc Ꭰd Ꭼe Ꮐg Ꮋh Ꭵi Ꭻj Ꮶk Ꮮl Ꮇm Ꮲp Ꭱr Ꮪs Ꭲt Ꮩv Ꮃw Ꮍy Ꮓz Ꮤw Ꮢr"
_LOOKALIKES: Final = {
    pair[0]: pair[1]
    for pair in f"{_CYRILLIC} {_GREEK} {_SMALL_CAPITALS} {_OTHER_LATIN} {_ARMENIAN} {_CHEROKEE}".split(" ")
} | {"œ": "oe", "æ": "ae"}
_CAPITALS: Final = str.maketrans("ΗΜΝΥ", "hmny")
"""Great letters that look like other letters than their small ones do."""

_TURNED_LETTERS: Final = "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz"
_UPSIDE_DOWN: Final = str.maketrans(_TURNED_LETTERS, "abcdefghijklmnopqrstuvwxyz")
_ON_ITS_HEAD: Final = re.compile("[ɐɔǝɟƃɥᴉɾʞɯɹʇʌʍʎ]")
_FEW: Final = 3
"""From so many letters that stand on their heads on, the text does."""

_STYLED: Final = (0x1F150, 0x1F170, 0x1F1E6)
"""Alphabets drawn as signs that compatibility forms leave: white on black circles and squares, and the letters of flags."""

_BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0\u034f\u2800\u180e")
"""Characters that show nothing though they count as letters, marks or signs."""

_HIDDEN: Final = frozenset({"Cf", "Cc", "Co", "Cn", "Cs"})
_MARKS: Final = (
    (0x300, 0x36F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
)
"""Marks that decorate a letter of any script. Vowel signs, which change a word, are none of these."""

_ASCII: Final = bytes(range(128))
_SPACED: Final = bytes(code if chr(code).isalnum() else ord(" ") for code in _ASCII) + bytes(range(128, 256))
"""Each byte of a text in UTF-8, with spaces for separators: bytes are looked up many times as quickly as characters."""

_LATER: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that go on with a character: without them, each character is one byte."""

_WORDS_AND_SPACES: Final = bytes(code if code == ord(" ") else ord("a") for code in range(256))
_WORDS_AND_SIGNS: Final = bytes.maketrans(
    _ASCII, "".join("a" if chr(code).isalnum() else " " if chr(code).isspace() else "." for code in _ASCII).encode()
)
_WIDE: Final = bytes.maketrans(bytes(range(0xE1, 0xEA)), b"c" * 9)
"""The scripts without spaces are all among the characters that begin with these bytes."""

_TYPOGRAPHIC: Final = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("…", "."), ("–", "-"), ("—", "-"))
"""What is printed for plain signs: a text with these alone needs no folding."""

_CONTROLS: Final = bytes((*range(0x09), *range(0x0E, 0x20), 0x7F))
_NO_CONTRACTION: Final = r"(?!(?<=n')t(?![^\W_])|(?<=')(?:s|ll|re|ve)(?![^\W_]))"
"""No such joint is looked through: ``didn't``, ``she's``, ``they'll``."""

_PUNCTUATION: Final = re.compile(r"[!-/:-@\[-`{-~](?<=[a-z0-9].)[!-/:-@\[-`{-~]?(?=[a-z0-9])" + _NO_CONTRACTION)
_ANY_PUNCTUATION: Final = re.compile(r"[\W_](?<!\s)(?<=[^\W_].)(?:[^\w\s]|_)?(?=[^\W_])" + _NO_CONTRACTION, re.DOTALL)
"""One or two signs inside a word. They begin with a set, for which a search skips, and ask then what stands before it."""

_SIGN_INSIDE: Final = re.compile(r"(?<=\w)[!|](?=\w)")
_SIGN: Final = re.compile(r"[0-9@$!|]+")
_SIGNS: Final = "0123456789@$!|"
_LATIN: Final = re.compile(r"[a-z@$]")
_DRAWN_OUT: Final = re.compile(r"([^\W\d_])\1\1+")
_ROW: Final = re.compile(r"(?:(?<= )|^)[^\W_](?: [^\W_](?= |$)){2,}")
_WORD: Final = re.compile(r"\S+")
_GAP: Final = re.compile("  +")
_REFERENCE_SIGNS: Final = ("&", "%", "\\")
_MAYBE_REFERENCE: Final = re.compile(r"&#|%[2-7]|\\[ux]")
_REFERENCE: Final = re.compile(
    r"&\#(?:0*(?P<decimal>\d{1,7})|[xX]0*(?P<hex>[0-9a-fA-F]{1,6}));?"
    r"|\\(?:u(?P<escape>[0-9a-fA-F]{4})|[ux]\{?(?P<short>[0-9a-fA-F]{2,6}?)(?![0-9a-fA-F])\}?|x(?P<two>[0-9a-fA-F]{2}))|%(?P<percent>[2-7][0-9a-fA-F])"
)
"""Characters written by their numbers, as HTML, JSON and addresses have them."""

_LOOKED_UP: Final = 3
"""So many places of a view are found without a table."""

_SPELLED: Final = 3
"""From so many single letters in a row on, they are read as a word that is spelled out."""


@dataclass(frozen=True)
class View:
    """A folded form of a text.

    ``loose``: its words run together, so that a find needs no borders. ``merged``: ``l`` is written ``i`` in it.
    ``shortened``: drawn-out letters are not in it.
    """

    text: str
    _starts: _Places
    loose: bool = False
    merged: bool = False
    shortened: bool = False

    @cached_property
    def words(self) -> list[str]:
        """The words of the view."""
        return self.text.split(" ")

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text as given a part of the view lies."""
        first, last = self._starts.span(start, end - 1)
        return (last, first + 1) if 0 <= last < first else (first, last + 1)  # written from its end to its beginning


class _Places:
    """The way from places of a view to places of the given text, worked out when something was found."""

    def back(self, place: int) -> int:
        return place

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The way back for two places."""
        return self.back(first), self.back(last)


@dataclass(frozen=True)
class _Folded(_Places):
    """From folded characters to the characters they come from."""

    given: str
    before: _Places

    @cached_property
    def _ends(self) -> list[int] | None:
        """Where what each character became ends; None where each became one."""
        lengths = self.given.translate(_LENGTHS).encode("latin-1")
        return None if lengths.count(1) == len(lengths) else list(accumulate(lengths))

    def back(self, place: int) -> int:
        if self._ends is None:
            return self.before.back(min(max(place, 0), len(self.given)))
        return self.before.back(bisect_right(self._ends, place))


@dataclass(frozen=True)
class _Kept(_Places):
    """From what was kept of a view to the view: runs of (start in the new text, start in the old one)."""

    starts: list[int]
    olds: list[int]
    before: _Places

    def back(self, place: int) -> int:
        run = bisect_right(self.starts, place) - 1
        old = self.olds[run] + place - self.starts[run]
        return old if self.before is _SAME else self.before.back(old)

    def span(self, first: int, last: int) -> tuple[int, int]:
        run = bisect_right(self.starts, first)
        if last < first or (run < len(self.starts) and last >= self.starts[run]):
            return self.back(first), self.back(last)
        less = self.olds[run - 1] - self.starts[run - 1]
        return (first + less, last + less) if self.before is _SAME else self.before.span(first + less, last + less)


class _Words(_Places):
    """From a text whose separators were made single spaces (``text``) to the text before, whose words begin elsewhere."""

    __slots__ = ("_asked", "_before", "_runs", "_spaced", "_text")

    def __init__(self, text: str, spaced: str, before: _Places) -> None:
        self._text, self._spaced, self._before = text, spaced, before
        self._asked = 0
        self._runs: _Kept | None = None

    def back(self, place: int) -> int:
        """The first few places are looked up one by one; where there are more, a table is worth making."""
        self._asked += 1
        if self._asked > _LOOKED_UP:
            self._runs = self._runs or self._table()
            return self._runs.back(place)
        begin = self._text.rfind(" ", 0, place) + 1
        rest = self._spaced.split(None, self._text.count(" ", 0, place))[-1]
        return self._before.back(len(self._spaced) - len(rest) + place - begin)

    def span(self, first: int, last: int) -> tuple[int, int]:
        if self._runs is None or last < first:
            return self.back(first), self.back(last)
        return self._runs.span(first, last)

    def _table(self) -> _Kept:
        """A run for every gap of more than one separator."""
        less = len(self._spaced) - len(self._spaced.lstrip())
        starts, olds = [0], [less]
        for match in _GAP.finditer(self._spaced, less):
            start, end = match.span()
            less += end - start - 1
            starts.append(end - less)
            olds.append(end)
        return _Kept(starts, olds, self._before)


@dataclass(frozen=True)
class _Turned(_Places):
    """From a text written from its end to its beginning to the text."""

    before: _Places
    length: int

    def back(self, place: int) -> int:
        return self.before.back(self.length - 1 - place)


_SAME: Final = _Places()

_NESTED: Final = 3
"""How often what was decoded is decoded again."""

_STEPS_A_CHARACTER: Final = 2


def views_of(text: str) -> Iterator[View]:
    """Every form in which a text is compared, the plain one first. Places a view gives are places of ``text``."""
    yield from _views(text, _SAME)
    before: _Places = _SAME
    if (read := _unescaped(text)) is not None:
        yield from _views(*read)
        text, before = read
    if not with_plain_signs(text).isascii() and len(_ON_ITS_HEAD.findall(text)) >= _FEW:
        yield from _views(text.translate(_UPSIDE_DOWN)[::-1], _Turned(before, len(text)))
    for _ in range(_NESTED):
        if (plain := decoded(text)) is None:
            break
        before = _Kept(plain.starts, plain.olds, before)
        text = plain.text
        yield from _views(text, before)


def turned_views(text: str, *, back: bool = False) -> Iterator[View]:
    """The forms of a text with each letter thirteen further on, or written from its end to its beginning."""
    yield from _views(text[::-1], _Turned(_SAME, len(text))) if back else _views(rot13(text), _SAME)


def _views(text: str, before: _Places) -> Iterator[View]:
    text = with_plain_signs(text)
    folded, places = (text.lower(), before) if _is_plain(text) else _fold(text, before)
    charge("views", 1 + _STEPS_A_CHARACTER * len(folded))
    plain = _words(folded, places)
    yield from _forms(folded, places, plain)
    if merged := _has_signs(folded):
        folded = _letters(folded)
        yield from _forms(folded, places, _words(folded, places, merged=True))
    for length in (1, 2) if _is_drawn_out(plain.text) else ():
        short = _shortened(folded, (match.span() for match in _DRAWN_OUT.finditer(folded)), places, keep=length)
        if short is not None:
            yield replace(_words(*short, merged=merged), shortened=True)


def _forms(base: str, places: _Places, plain: View) -> Iterator[View]:
    """The words of a text; its spelled-out words; and its words without the signs inside them."""
    yield plain
    if (spelled := _spelled_out(plain)) is not None:
        yield spelled
        yield _rows_joined(plain)
        if not (plain.merged or spelled.text.replace(" ", "").isalpha()):
            yield replace(spelled, text=_letters(spelled.text), merged=True)
    spans = _apart(plain.text) if _may_stand_apart(plain.text) else ()
    if (close := _shortened(plain.text, spans, plain._starts)) is not None:  # noqa: SLF001 - a view of a view
        yield replace(plain, text=close[0], _starts=close[1])
    if (joined := _shortened(base, _inside(base), places)) is not None:
        yield _words(*joined, merged=plain.merged)


def fold_word(text: str) -> str:
    """A word or phrase as it is looked for in plain views."""
    folded = text.lower() if _is_plain(text) else "".join(map(_fold_char, text))
    return " ".join(_spaced(folded).split())


def respelled(view: View, words: list[str], right: Mapping[str, str]) -> View:
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
            starts += [length, length + len(word) - 1, length + len(word)]
            olds += [begins[at], max(begins[at], begins[at + 1] - 2), begins[at + 1] - 1]
            new.append(word)
            length += len(word) + 1
        done = max(done, last)
    return replace(view, text=" ".join(new), _starts=_Kept(starts, olds, view._starts))  # noqa: SLF001 - a view of a view


_PASSAGE: Final = 8
"""So many words on each side of one that was put right are looked at again."""


def _is_plain(text: str) -> bool:
    """Whether lower case is all that folding does."""
    return text.isascii() and len(text.encode().translate(None, _CONTROLS)) == len(text)


def with_plain_signs(text: str) -> str:
    """The text with the signs of a typewriter for those of a printer."""
    for sign, plain in () if text.isascii() else _TYPOGRAPHIC:
        text = text.replace(sign, plain)
    return text


def _spaced(text: str) -> str:
    """The text with a space for every separator."""
    return _bytes(text).translate(_SPACED).decode("utf-8", "surrogatepass")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unescaped(text: str) -> tuple[str, _Places] | None:
    """The text with the characters that are written by their numbers (``&#99;``, ``%63``) in their place; None without any."""
    pieces: list[str] = []
    starts: list[int] = []
    olds: list[int] = []
    at = length = 0
    maybe = any(map(text.__contains__, _REFERENCE_SIGNS)) and _MAYBE_REFERENCE.search(text)
    for match in _REFERENCE.finditer(text) if maybe else ():
        starts += [length, length + match.start() - at]
        olds += [at, match.start()]
        pieces += [text[at : match.start()], _referred(match)]
        length += len(pieces[-2]) + len(pieces[-1])
        at = match.end()
    if not at:
        return None
    return "".join((*pieces, text[at:])), _Kept([*starts, length], [*olds, at], _SAME)


def _referred(match: re.Match[str]) -> str:
    """One character for a reference; one that refers to none shows nothing."""
    code = int(match[match.lastgroup or 0], 10 if match.lastgroup == "decimal" else 16)
    return chr(code) if code <= sys.maxunicode else "\u200b"


def _fold(text: str, before: _Places) -> tuple[str, _Places]:
    return text.translate(_FOLDS), _Folded(text, before)


class _Folds(dict[int, str]):
    """What characters fold to, by their codes, for `str.translate`; so many at most are kept."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _FOLDS_KEPT:
            self.clear()
        folded = self[code] = self.fold(chr(code))
        return folded

    def fold(self, char: str) -> str:
        return _fold_char(char)


class _Lengths(_Folds):
    """How many characters each character folds to, as the character of that code."""

    def fold(self, char: str) -> str:
        return chr(len(_FOLDS[ord(char)]))


_FOLDS_KEPT: Final = 8_192
_FOLDS: Final = _Folds()
_LENGTHS: Final = _Lengths()


def _fold_char(char: str) -> str:
    if char in _BLANK:
        return ""
    code = ord(char)
    for first in _STYLED:
        if first <= code < first + 26:
            return chr(ord("a") + code - first)
    parts = unicodedata.normalize("NFKD", char).translate(_CAPITALS).casefold()
    return "".join(_LOOKALIKES.get(part, part) for part in map(_shown, unicodedata.normalize("NFKD", parts)))


def _shown(char: str) -> str:
    """A character as it counts: nothing where it does not show, a plain sign for every other sign."""
    if char.isascii():
        return "" if ord(char) in _CONTROLS else char
    if char in _LOOKALIKES:
        return char
    if char.isspace():
        return " "
    category, code = unicodedata.category(char), ord(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category in _HIDDEN or any(first <= code <= last for first, last in _MARKS):
        return ""
    return "'" if category[0] in "PS" else char


def _words(text: str, places: _Places, *, merged: bool = False) -> View:
    """The words of a text with single spaces between them."""
    spaced = _spaced(text)
    words = spaced.split()
    joined = " ".join(words)
    view = View(joined, _Words(joined, spaced, places), merged=merged)
    view.__dict__["words"] = words or [""]  # known already: `View.words` need not split again
    return view


def _has_signs(text: str) -> bool:
    """Whether a sign that may stand for a letter touches one."""
    if not any(map(text.__contains__, _SIGNS)):  # much quicker than one search
        return False
    return any(_touches(text, *match.span()) for match in _SIGN.finditer(text))


def _letters(text: str) -> str:
    """Signs as letters: ``!`` and ``|`` only inside a word, and figures only in words that have a Latin letter."""
    return _WORD.sub(_as_letters, _SIGN_INSIDE.sub("i", text))


def _as_letters(match: re.Match[str]) -> str:
    return match[0].translate(_LEET) if _LATIN.search(match[0]) else match[0]


def _touches(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isalpha() or text[end : end + 1].isalpha()


def _is_drawn_out(words: str) -> bool:
    """Whether a letter stands three times in a row."""
    return _has_triples(words) and _DRAWN_OUT.search(words) is not None


def _has_triples(text: str) -> bool:
    """Whether a character may stand three times in a row: the text as one number, laid over itself, is 0 there. Very quick."""
    data = _bytes(text)
    number = int.from_bytes(data)
    if text.isascii():
        once = number ^ (number >> 8)
        return 0 in (once | (once >> 8)).to_bytes(len(data))
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
    classes = _bytes(text).translate(_WIDE, _LATER)
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
    """Where one or two separators stand inside a word."""
    if not text.isascii():
        return (match.span() for match in _ANY_PUNCTUATION.finditer(text))
    data = text.encode()
    if b"'" in data:  # the contractions of most texts, which are no such places
        data = data.replace(b"n't ", b"n t ").replace(b"'s ", b" s ")
    if b".a" not in data.translate(_WORDS_AND_SIGNS):
        return ()
    return (match.span() for match in _PUNCTUATION.finditer(text))


def _shortened(
    text: str, spans: Iterable[tuple[int, int]], before: _Places, keep: int = 0
) -> tuple[str, _Places] | None:
    """The text with ``keep`` characters of every span, or None where there is none."""
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
    return "".join((*pieces, text[at:])), _Kept([*starts, length], [*olds, at], before)


def _spelled_out(plain: View) -> View | None:
    """The single letters of a view that stand in a row, joined; rows are parted by a space."""
    words = plain.words
    if not _has_rows(plain.text):
        return None
    row: list[int] = []
    places: list[int] = []
    at = 0
    for word in (*words, ".."):
        if len(word) == 1:
            row.append(at)
        elif row:
            places += [*row, -1] if len(row) >= _SPELLED else []
            row = []
        at += len(word) + 1
    text = "".join(" " if place < 0 else plain.text[place] for place in places)
    starts = _Kept(list(range(len(places))), places, plain._starts)  # noqa: SLF001 - a view of a view
    return View(text, starts, loose=True, merged=plain.merged) if places else None


def _rows_joined(plain: View) -> View:
    """A view in which the single letters that stand in a row are one word among the others."""
    spans: list[tuple[int, int]] = []
    for match in _ROW.finditer(plain.text):
        spans += [(at, at + 1) for at in range(match.start() + 1, match.end(), 2)]
    shortened = _shortened(plain.text, spans, plain._starts)  # noqa: SLF001 - a view of a view
    return plain if shortened is None else replace(plain, text=shortened[0], _starts=shortened[1])


def _has_rows(text: str) -> bool:
    """Whether three single letters stand in a row."""
    return _THREE_ALONE.search(b" %b " % _bytes(text).translate(_WORDS_AND_SPACES, _LATER)) is not None


_THREE_ALONE: Final = re.compile(b" a a a ")
"""As a pattern it is quicker than as text, since the words are all alike."""
