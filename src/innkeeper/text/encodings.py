"""Encodings: the parts of a text that are written in base64 or base32, by codes in hexadecimal, binary or decimal, or in Morse.

`decoded` writes each of them out in its place and tells which characters of the text each new one comes from. What does not
decode to printable characters stays as it is. Every pattern here takes time linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_SHORTEST: Final = 10
_FEWEST: Final = 4
"""So many characters an encoded part must decode to."""

_LONG: Final = re.compile(r"[A-Za-z0-9+/_\-]{10,}={0,6}(?:\r?\n[A-Za-z0-9+/_\-]{4,}={0,2})*")
_HEX: Final = re.compile(
    r"(?<![0-9A-Za-z.])(?:0x|\\x|=|%|U\+00)?[2-7c-f][0-9a-fA-F](?:(?:[\s,;:\-]{1,2}|(?=[0-9a-fA-F=%\\]))(?:0x|\\x|=|%|U\+00)?[0-9a-fA-F]{2}){3,}(?![0-9A-Za-z])"
)
_HEX_BYTE: Final = re.compile(r"(?:0x|\\x|=|%|U\+00)?([0-9a-fA-F]{2})")
_PERCENT: Final = re.compile("(?:%[89a-fA-F][0-9a-fA-F])+")
_BINARY: Final = re.compile(r"(?:[01]{7,8}[\s,;\-]{0,2}){4,}")
_BINARY_BYTE: Final = re.compile(r"[01]{7,8}")
_DECIMAL: Final = re.compile(r"(?:\d{2,3}[\s,;\-]{1,2}){3,}\d{2,3}")
_DECIMAL_CODE: Final = re.compile(r"\d{2,3}")
_ALPHABET: Final = re.compile(r"(?<![\d-])\d{1,2}(?:-\d{1,2}){2,}(?: \d{1,2}(?:-\d{1,2})*)*(?![\d-])")
_EIGHT: Final = frozenset("89")
_LETTERS: Final = 26
_MORSE: Final = re.compile(r"(?:[.\-·−–•]{1,6}(?:[ /|]{1,3}|\s)){3,}[.\-·−–•]{1,6}")
_MORSE_LETTERS: Final = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
    " ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)
_MORSE_CODE: Final = dict(zip(_MORSE_LETTERS.split(" "), "abcdefghijklmnopqrstuvwxyz0123456789", strict=True))
_MORSE_SIGNS: Final = str.maketrans("·•−–", "..--")
_ROT13: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_HUMP: Final = re.compile(r"[A-Z][a-z]*|[a-z]+|[0-9]+")
_BUMP: Final = re.compile("[a-z][A-Z]")
_HUMPS: Final = 3
"""So many words at least, so many letters each."""

_GREAT: Final = bytes(
    ord("A") if chr(code) in string.ascii_uppercase + string.digits else ord(" ") for code in range(256)
)
_NOT_GREAT: Final = f"{string.ascii_lowercase}+/_-".encode()
"""Base64 and base32 words have at least two capitals or digits: without any, two lower-case letters stand side by side."""

_LONG_WORD: Final = re.compile(r"\S{10,}")
"""A word of at least `_SHORTEST` characters."""

_FIGURES: Final = "0123456789"
_DOTTED: Final = bytes(ord("." if chr(code) in ".-" else "/" if chr(code) in " /|" else "a") for code in range(256))
_OTHER_DOTS: Final = "·−–•"
_DOTS: Final = re.compile(r"[.\-·−–•]{1,6}[ /|]{1,3}[.\-·−–•]{1,6}[ /|]{1,3}[.\-·−–•]")


_BASE85: Final = re.compile(r"(?:<~)?[!-~]{20,}(?:~>)?")
_ODD: Final = re.compile(r"[!#$%&()*+;<=>?@^_`{|}~]")
_FEWEST_ODD: Final = 3
"""So many signs that words do not have are in a part written in base85."""

_LETTERS_OF_WORDS: Final = 0.85
_BRACKETED: Final = re.compile(r"(?:[(\[{<][^\W_][)\]}>][\s.,\-]?){3,}")
_PIG: Final = re.compile(r"(?<![^\W\d_])([a-z]{2,}?)(way|ay)(?![^\W\d_])", re.IGNORECASE)
_FEWEST_PIG: Final = 3
_ONSET: Final = re.compile(
    r"(?:[bcdfgkpst]?[lr]|[cgst]h|ph|wh|sch|shr|thr|s[cklmnpqtw]|s[cpt]r|spl|kn|wr|qu|tw|dw|[bcdfghjklmnpqrstvwxyz])\Z"
)
"""Consonants with which words begin, at the end of a word of pig Latin."""


class Decoded(NamedTuple):
    """A text with its encoded parts written out; ``starts`` and ``olds`` are where runs begin in it and in the text before."""

    text: str
    starts: list[int]
    olds: list[int]


_LOWER: Final = string.ascii_lowercase
_ATBASH: Final = str.maketrans(_LOWER + string.ascii_uppercase, _LOWER[::-1] + string.ascii_uppercase[::-1])


def atbash(text: str) -> str:
    """The text with the alphabet from its end to its beginning."""
    return text.translate(_ATBASH)


def rot13(text: str) -> str:
    """The text with each Latin letter thirteen further on."""
    return text.translate(_ROT13)


def decoded(text: str) -> Decoded | None:
    """Return the text with all its encoded parts decoded, or None without any."""
    parts = sorted(_parts(text), key=lambda part: (part[0], -part[1]))
    if not parts:
        return None
    pieces: list[str] = []
    starts: list[int] = []
    olds: list[int] = []
    at = length = 0
    for start, end, plain in parts:
        if start < at:
            continue
        shown = plain if text[start] == "%" else f" {plain} "
        pieces += [text[at:start], shown]
        starts.append(length)
        olds.append(at)
        length += start - at
        for number in range(len(shown)):
            starts.append(length + number)
            olds.append(start + number * (end - start) // len(shown))
        length += len(shown)
        at = end
    return Decoded("".join((*pieces, text[at:])), [*starts, length], [*olds, at])


def pig_latin(text: str) -> Iterator[str]:
    """Yield a text written in pig Latin as it may have been: with as many consonants as words begin with, and with one each."""
    if len(_PIG.findall(text)) < _FEWEST_PIG:
        return
    for longest in (True, False):
        yield _PIG.sub(lambda match, longest=longest: _unpigged(match, longest=longest), text)  # type: ignore[misc]


def _unpigged(match: re.Match[str], *, longest: bool) -> str:
    word = match[1]
    if match[2].lower() == "way":
        return word
    onset = _ONSET.search(word)
    size = 0 if onset is None else len(onset[0]) if longest else 1
    return f"{word[len(word) - size :]}{word[: len(word) - size]}"


def _parts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of encoded parts and their decoded texts. Cheap checks of the whole text come first."""
    data = text.encode("utf-8", "surrogatepass")
    if b"AA" in data.translate(_GREAT, _NOT_GREAT) and not all(map(_is_word, _LONG_WORD.findall(text))):
        yield from _read(_LONG, text, _based)
    if any(map(text.__contains__, _FIGURES)):
        for pattern, read in _CODES:
            yield from _read(pattern, text, lambda part, read=read: _printable(read(part)))  # type: ignore[misc]
    yield from _read(_BRACKETED, text, lambda part: "".join(filter(str.isalnum, part)))
    if _ODD.search(text):
        yield from _read(_BASE85, text, _based85)
    if "%" in text:
        yield from _read(_PERCENT, text, lambda part: _shown(bytes.fromhex(part.replace("%", ""))))
    if (b"/." in data.translate(_DOTTED) or any(map(text.__contains__, _OTHER_DOTS))) and _DOTS.search(text):
        yield from _read(_MORSE, text, _morse)


def _read(pattern: re.Pattern[str], text: str, read: Callable[[str], str | None]) -> Iterator[tuple[int, int, str]]:
    for match in pattern.finditer(text):
        if (plain := read(match[0])) is not None:
            yield match.start(), match.end(), plain


def _is_word(word: str) -> bool:
    """Whether it is written as words are: letters, all small or only the first one great."""
    bare = word.strip("\"'.,;:!?()*-_")
    return bare.isalpha() and (bare[1:].islower() or not bare.isascii())


def _based(word: str) -> str | None:
    """Decode a word of base64 or base32."""
    if _is_word(word):
        return None
    packed = "".join(word.split()).rstrip("=")
    for decode, size in ((base64.b32decode, 8), (_base64, 4)):
        for cut in (0, 1):  # a length that no encoding has may be one character of something else too long
            body = packed[: len(packed) - cut] if cut else packed
            try:
                plain = _printable(decode(body + "=" * (-len(body) % size)))
            except (binascii.Error, ValueError):
                continue
            if plain is not None:
                return plain
    # words written ``LikeThisOne``, with digits among them, taken apart
    words = _HUMP.findall(word)
    are_words = _HUMPS <= len(words) <= len(word) // _HUMPS and len("".join(words)) == len(word)
    return " ".join(words) if are_words and len(_BUMP.findall(word)) > 1 else None


def _based85(word: str) -> str | None:
    """Decode a word of base85, as Python and as Adobe write it, where that gives words."""
    if len(_ODD.findall(word)) < _FEWEST_ODD:
        return None
    packed = word.removeprefix("<~").removesuffix("~>")
    for decode in (base64.b85decode, base64.a85decode):
        try:
            plain = _printable(decode(packed))
        except (binascii.Error, ValueError):
            continue
        if plain is not None and sum(char.isalpha() or char == " " for char in plain) >= _LETTERS_OF_WORDS * len(plain):
            return plain
    return None


def _base64(text: str) -> bytes:
    return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)


def _octal(text: str) -> bytes:
    codes = _DECIMAL_CODE.findall(text)
    return bytes(min(int(code, 8), 255) for code in codes) if _EIGHT.isdisjoint(text) else b""


def _positions(text: str) -> bytes:
    """Places in the alphabet: ``8-5-12-12-15``."""
    codes = [word.split("-") for word in text.split()]
    letters = (bytes(96 + int(code) for code in word if 0 < int(code) <= _LETTERS) for word in codes)
    return b" ".join(letters)


_CODES: Final[tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...]] = (
    (_BINARY, lambda text: bytes(int(code, 2) for code in _BINARY_BYTE.findall(text))),
    (_HEX, lambda text: bytes.fromhex("".join(_HEX_BYTE.findall(text)))),
    (_DECIMAL, lambda text: bytes(min(int(code), 255) for code in _DECIMAL_CODE.findall(text))),
    (_DECIMAL, _octal),
    (_ALPHABET, _positions),
)


def _printable(data: bytes) -> str | None:
    text = _shown(data)
    return text if text is not None and len(text) >= _FEWEST else None


def _shown(data: bytes) -> str | None:
    try:
        text = data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-8")
    except UnicodeDecodeError:
        return None
    return text if all(char.isprintable() or char in "\t\n\r" for char in text) else None


def _morse(text: str) -> str | None:
    words = re.split(r"\s*[/|]\s*|\s{2,}", text.translate(_MORSE_SIGNS).strip())
    letters = [[_MORSE_CODE.get(code) for code in word.split()] for word in words]
    if any(letter is None for word in letters for letter in word):
        return None
    plain = " ".join("".join(filter(None, word)) for word in letters)
    return plain if len(plain) >= _FEWEST else None
