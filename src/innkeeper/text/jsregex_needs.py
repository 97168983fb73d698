"""Needs: plain texts, one of which a match of a JavaScript regular expression must contain. A text without any needs no run.

The reading is careful, not complete: what it is not sure about needs nothing that is known, and is always run.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from innkeeper.prompt.allowance import charge

_MOST: Final = 12
"""Alternatives that are worth a look each; more are as slow as a run."""

_LONGEST_RUN: Final = 8
"""How often a counted repetition is written out."""

_QUANTIFIER: Final = re.compile(r"([*+?]|\{(\d+)(?:,\d*)?\})\??")
_LONGEST: Final = 2_000
"""Characters of a pattern; a longer one takes longer to be read than to be run."""

_STEPS_A_CHARACTER: Final = 5

_GROUP: Final = re.compile(r"\?(?::|<[A-Za-z_$][\w$]*>|(<?[=!]))")
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_HEX: Final = re.compile(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})")
_WIDTHLESS: Final = frozenset("bB")
_WIDE: Final = frozenset("wWsSD")
_ASTRAL: Final = 0xFFFF
_SURROGATES: Final = range(0xD800, 0xE000)
_DEEPEST: Final = 60

Need = tuple[str, ...] | None
"""Texts, one of which must occur; ``None`` where nothing is certain."""


def needs_of(pattern: str, flags: str) -> tuple[str, ...]:
    """Return texts, one of which every match contains, in lower case where the flags ignore case; none where nothing is certain.

    Raises `AllowanceError`.
    """
    if "i" in flags and "u" in flags:
        return ()  # case folds over more letters there than over ASCII's
    if len(pattern) > _LONGEST:
        return ()
    charge("patterns", len(pattern) * _STEPS_A_CHARACTER)
    try:
        need, end = _Reader(pattern, flags).alternatives(0, 0)
    except (_UnclearError, IndexError):
        return ()
    return need if need is not None and end == len(pattern) else ()


class _UnclearError(Exception):
    """Something whose meaning is not clear from here."""


class _Atom(NamedTuple):
    """One atom: the literal ``text`` it matches, else what it ``needs``; its end. One without width does not interrupt a text."""

    end: int
    text: str = ""
    needs: Need = None
    width: bool = True


class _Reader:
    def __init__(self, pattern: str, flags: str) -> None:
        self.pattern, self.fold, self.unicode = pattern, "i" in flags, "u" in flags

    def alternatives(self, at: int, depth: int) -> tuple[Need, int]:
        """Return the common need of alternatives, and their end: that of the pattern, or a bracket."""
        if depth > _DEEPEST:
            raise _UnclearError
        texts: list[str] | None = []
        while True:
            need, at = self._sequence(at, depth)
            texts = None if texts is None or need is None else [*texts, *need]
            if at >= len(self.pattern) or self.pattern[at] == ")":
                return (tuple(dict.fromkeys(texts)) if texts is not None and len(texts) <= _MOST else None), at
            at += 1

    def _sequence(self, at: int, depth: int) -> tuple[Need, int]:
        needs: list[tuple[str, ...]] = []
        run = ""
        while at < len(self.pattern) and self.pattern[at] not in "|)":
            atom = self._atom(at, depth)
            at, least, exact = self._repeated(atom.end)
            if not atom.width:
                continue
            if atom.text and least:
                run += atom.text if exact else _again(atom.text, least)
            if not (atom.text and exact):
                needs += [(run,)] if run else []
                run = ""
            if atom.needs and least:
                needs.append(atom.needs)
        needs += [(run,)] if run else []
        return (max(needs, key=_worth) if needs else None), at

    def _repeated(self, at: int) -> tuple[int, int, bool]:
        """Return the end of an atom with its quantifier, its minimum count, and whether that is its exact count."""
        match = _QUANTIFIER.match(self.pattern, at)
        if match is None:
            return at, 1, True
        least = int(match[2]) if match[2] else int(match[1] == "+")
        return match.end(), least, False

    def _atom(self, at: int, depth: int) -> _Atom:
        char = self.pattern[at]
        if char == "\\":
            return self._escape(at + 1)
        if char == "[":
            return self._class(at + 1)
        if char == "(":
            return self._group(at + 1, depth)
        if char in "^$":
            return _Atom(at + 1, width=False)
        if char == ".":
            return _Atom(at + 1)
        if char in "*+?":
            raise _UnclearError
        return self._letter(char, at + 1)

    def _letter(self, char: str, end: int) -> _Atom:
        """Read a literal letter; where case is ignored, only letters whose other case is certain."""
        if not self.fold:
            return _Atom(end, char)
        return _Atom(end, char.lower()) if char.isascii() else _Atom(end)

    def _escape(self, at: int) -> _Atom:
        char = self.pattern[at]
        if char in _WIDTHLESS or char in _WIDE:
            return _Atom(at + 1, width=char in _WIDE)
        if char == "d":
            return _Atom(at + 1, needs=tuple("0123456789"))
        if char in _CONTROLS:
            return _Atom(at + 1, _CONTROLS[char])
        if char in "pP" and self.unicode:
            return _Atom(self.pattern.index("}", at) + 1) if "}" in self.pattern[at:] else self._unsure()
        if match := _HEX.match(self.pattern, at):
            code = int(match[1] or match[2], 16)
            return self._unsure() if code in _SURROGATES else self._letter(chr(code), match.end())
        return self._unsure() if char.isalnum() else self._letter(char, at + 1)

    def _unsure(self) -> _Atom:
        raise _UnclearError

    def _group(self, at: int, depth: int) -> _Atom:
        match = _GROUP.match(self.pattern, at)
        if match is None and self.pattern[at] == "?":
            raise _UnclearError
        need, end = self.alternatives(match.end() if match else at, depth + 1)
        if self.pattern[end] != ")":
            raise _UnclearError
        return _Atom(end + 1, width=False) if match and match[1] else _Atom(end + 1, needs=need)

    def _class(self, at: int) -> _Atom:
        if self.pattern[at] == "^":
            return _Atom(self._class_end(at + 1))
        end = self._class_end(at)
        chars: list[str] = []
        while at < end - 1:
            atom = self._escape(at + 1) if self.pattern[at] == "\\" else self._letter(self.pattern[at], at + 1)
            at = atom.end
            is_range = self.pattern[at] == "-" and at < end - 2
            if not atom.text or is_range or (ord(atom.text) > _ASTRAL and not self.unicode):
                return _Atom(end)
            chars.append(atom.text)
        return _Atom(end, needs=tuple(dict.fromkeys(chars))) if 0 < len(chars) <= _MOST else _Atom(end)

    def _class_end(self, at: int) -> int:
        while self.pattern[at] != "]":
            at += 2 if self.pattern[at] == "\\" else 1
        return at + 1


def _again(letter: str, least: int) -> str:
    """A letter as often as it is there at least; of two halves only the second is repeated, so that is left out."""
    return letter * min(least, _LONGEST_RUN) if ord(letter) <= _ASTRAL else ""


def _worth(needs: tuple[str, ...]) -> tuple[int, int]:
    """How selective a search for these is: long texts are rare, a few are fast to look for."""
    return min(map(len, needs)), -len(needs)
