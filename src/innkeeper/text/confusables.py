"""Confusables: characters as a detector compares them.

Folding takes away what hides a word from a comparison but not from a reader: full-width and other styled letters, case,
accents, characters that do not show, letters of other scripts that look Latin, digits and signs for letters
(dynamic-prompting reference 3.2, step 1). A text is folded as a whole by `innkeeper.text.views`, which keeps the way back.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_LEET: Final = {ord(sign): letter for sign, letter in zip("013457896@$l", "oieastbggasi", strict=True)}
"""Signs as the letters they resemble. ``1``, ``!`` and ``|`` are ``i`` or ``l``, so in such a view ``l`` is ``i`` as well."""

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

_LOWER: Final = _SPACED.lower()
"""The same with small letters: what the words of data, ten thousands of them, are folded by."""

_TYPOGRAPHIC: Final = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("…", "."), ("–", "-"), ("—", "-"))
"""Typographic signs and their plain forms: a text with these alone needs no folding."""

_CONTROLS: Final = bytes((*range(0x09), *range(0x0E, 0x20), 0x7F))
_SIGN_INSIDE: Final = re.compile(r"(?<=\w)[!|](?=\w)")
_SIGN: Final = re.compile(r"[0-9@$!|]+")
_SIGNS: Final = "0123456789@$!|"
_LATIN: Final = re.compile(r"[a-z@$]")
_WORD: Final = re.compile(r"\S+")


def fold_word(text: str) -> str:
    """A word or phrase as it is looked for in plain views."""
    if text.isascii() and text.isalnum():
        return text.lower()
    if is_plain(text):
        return b" ".join(text.encode().translate(_LOWER).split()).decode()
    return " ".join(with_spaces(text.translate(FOLDS)).split())


def is_plain(text: str) -> bool:
    """Whether lower case is all that folding does."""
    return text.isascii() and len(text.encode().translate(None, _CONTROLS)) == len(text)


def with_plain_signs(text: str) -> str:
    """The text with the signs of a typewriter for those of a printer."""
    for sign, plain in () if text.isascii() else _TYPOGRAPHIC:
        text = text.replace(sign, plain)
    return text


def with_spaces(text: str) -> str:
    """The text with a space for every separator."""
    return text.encode("utf-8", "surrogatepass").translate(_SPACED).decode("utf-8", "surrogatepass")


def upright(text: str) -> str | None:
    """Return an upside-down text as it is read, from its end to its beginning; None for any other."""
    if with_plain_signs(text).isascii() or len(_ON_ITS_HEAD.findall(text)) < _FEW:
        return None
    return text.translate(_UPSIDE_DOWN)[::-1]


class _Folds(dict[int, str]):
    """The folded form of each character by its code, for `str.translate`; the number of cached ones is bounded."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _FOLDS_CACHED:
            self.clear()
        folded = self[code] = self.fold(chr(code))
        return folded

    def fold(self, char: str) -> str:
        return _fold_char(char)


class _Lengths(_Folds):
    """The length of the folded form of each character, as the character of that code."""

    def fold(self, char: str) -> str:
        return chr(len(FOLDS[ord(char)]))


_FOLDS_CACHED: Final = 8_192
FOLDS: Final = _Folds()
LENGTHS: Final = _Lengths()


def _fold_char(char: str) -> str:
    if char in _BLANK:
        return ""
    code = ord(char)
    for first in _STYLED:
        if first <= code < first + 26:
            return chr(ord("a") + code - first)
    if unicodedata.category(char) == "No" and unicodedata.decomposition(char) == "":
        figure = unicodedata.numeric(char, 0.5)  # ``⓯``; fractions stay signs
        return f" {int(figure)} " if figure.is_integer() else char
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


def has_signs(text: str) -> bool:
    """Whether a sign that may stand for a letter touches one."""
    if not any(map(text.__contains__, _SIGNS)):  # much quicker than one search
        return False
    return any(
        text[match.start() - 1 : match.start()].isalpha() or text[match.end() : match.end() + 1].isalpha()
        for match in _SIGN.finditer(text)
    )


def with_letters(text: str) -> str:
    """Signs as letters: ``!`` and ``|`` only inside a word, and figures only in words that have a Latin letter."""
    return _WORD.sub(_as_letters, _SIGN_INSIDE.sub("i", text))


def _as_letters(match: re.Match[str]) -> str:
    return match[0].translate(_LEET) if _LATIN.search(match[0]) else match[0]
