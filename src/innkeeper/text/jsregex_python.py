"""A JavaScript regular expression as one of the `regex` package, where both certainly match the same; else none.

The package is several times as quick. What the two read differently is not translated: back references, groups in repetitions
(JavaScript forgets them at each round), repetitions of what may be empty, letters beyond ASCII where case is ignored, the flag
``u``, and whatever could match nothing. Texts must be without characters beyond the basic plane, which JavaScript sees as two.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.text.javascript.values import SPACES
from innkeeper.text.pattern_cost import cost_of, pieces_of

if TYPE_CHECKING:
    import regex


_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{(\d{1,4})(?:,(\d{0,4}))?\})\??")
_NAMED: Final = re.compile(r"\?<([A-Za-z_]\w*)>", re.ASCII)
_LOOK: Final = re.compile(r"\?<?[=!]")
_HEX: Final = re.compile(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})")
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_LINE_ENDS: Final = r"\n\r\u2028\u2029"
_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": SPACES}
_ALL: Final = frozenset({r"\s\S", r"\S\s", r"\d\D", r"\D\d", r"\w\W", r"\W\w"})
_ANYTHING: Final = r"[\x00-\U0010ffff]"
_LAST_ASCII: Final = 0x7F
_BASIC: Final = range(0xD800)
_PRIVATE: Final = range(0xE000, 0x10000)
_DEEPEST: Final = 60
_MOST_REPEATS: Final = 1_000
"""The total of counted repetitions, nested or not: the package writes them out."""

_MOST_WRITTEN: Final = 20_000
"""Atoms with repetitions written out; nested ``+`` double them at each level."""


def python_of(pattern: str, flags: str) -> regex.Pattern[str] | None:
    """The pattern compiled, or ``None`` where it is not sure that both find the same. JavaScript must have accepted it."""
    import regex as regexes

    if set(flags) - set("gims"):
        return None
    try:
        whole = _Translator(pattern, flags).alternatives(0, 0)
        if whole.end != len(pattern) or whole.is_nullable:
            return None
        if cost_of(pieces_of(whole.text)).written > _MOST_WRITTEN:
            return None
        ignored = regexes.IGNORECASE if "i" in flags else 0
        return regexes.compile(whole.text, regexes.VERSION0 | regexes.ASCII | ignored, cache_pattern=False)
    except (_UnsureError, IndexError, regexes.error):
        return None


class _UnsureError(Exception):
    """Something that is not sure to mean the same."""


class _TranslatedPart(NamedTuple):
    """A part translated; where it ends, whether it can match nothing, whether it has groups, whether it only looks."""

    text: str
    end: int
    is_nullable: bool = False
    has_groups: bool = False
    looks: bool = False


class _Translator:
    def __init__(self, pattern: str, flags: str) -> None:
        self.pattern, self.fold, self.repeats = pattern, "i" in flags, 1
        self.start = rf"(?:\A|(?<=[{_LINE_ENDS}]))" if "m" in flags else r"\A"
        self.stop = rf"(?=[{_LINE_ENDS}]|\Z)" if "m" in flags else r"\Z"
        self.dot = _ANYTHING if "s" in flags else f"[^{_LINE_ENDS}]"

    def alternatives(self, at: int, depth: int) -> _TranslatedPart:
        """Alternatives up to a closing bracket or the end."""
        if depth > _DEEPEST:
            raise _UnsureError
        texts, nullable, groups = [], False, False
        while True:
            branch = self._sequence(at, depth)
            texts.append(branch.text)
            nullable, groups, at = nullable or branch.is_nullable, groups or branch.has_groups, branch.end
            if at >= len(self.pattern) or self.pattern[at] == ")":
                return _TranslatedPart("|".join(texts), at, nullable, groups)
            at += 1

    def _sequence(self, at: int, depth: int) -> _TranslatedPart:
        texts, nullable, groups = [], True, False
        while at < len(self.pattern) and self.pattern[at] not in "|)":
            part = self._quantified(self._atom(at, depth))
            texts.append(part.text)
            nullable, groups, at = nullable and part.is_nullable, groups or part.has_groups, part.end
        return _TranslatedPart("".join(texts), at, nullable, groups)

    def _quantified(self, part: _TranslatedPart) -> _TranslatedPart:
        match = _QUANTIFIER.match(self.pattern, part.end)
        if match is None:
            return part
        if part.is_nullable or part.has_groups or part.looks:
            raise _UnsureError
        least = int(match[1]) if match[1] else int(match[0][0] == "+")
        self.repeats *= max(least, int(match[2] or 0), 1)
        if self.repeats > _MOST_REPEATS:
            raise _UnsureError
        return _TranslatedPart(part.text + match[0], match.end(), least == 0)

    def _atom(self, at: int, depth: int) -> _TranslatedPart:
        char = self.pattern[at]
        if char == "(":
            return self._group(at + 1, depth)
        if char == "[":
            return self._class(at + 1)
        if char == "\\":
            return self._escape(at + 1)
        if char in "^$":
            return _TranslatedPart(self.start if char == "^" else self.stop, at + 1, is_nullable=True, looks=True)
        if char == ".":
            return _TranslatedPart(self.dot, at + 1)
        if char in "*+?" or _QUANTIFIER.match(self.pattern, at):
            raise _UnsureError
        return _TranslatedPart(self._letter(ord(char)), at + 1)

    def _letter(self, code: int) -> str:
        """A character that stands for itself."""
        if (self.fold and code > _LAST_ASCII) or not (code in _BASIC or code in _PRIVATE):
            raise _UnsureError
        char = chr(code)
        return char if char.isalnum() or code > _LAST_ASCII else f"\\x{code:02x}"

    def _escape(self, at: int) -> _TranslatedPart:
        char = self.pattern[at]
        if char in "bB":
            return _TranslatedPart(f"\\{char}", at + 1, is_nullable=True, looks=True)
        if char.lower() in _CLASSES:
            return _TranslatedPart(f"[{'^' * char.isupper()}{_CLASSES[char.lower()]}]", at + 1)
        code, end = self._code(at)
        return _TranslatedPart(self._letter(code), end)

    def _code(self, at: int) -> tuple[int, int]:
        """The character that an escape stands for, and where the escape ends."""
        char = self.pattern[at]
        if char in _CONTROLS:
            return ord(_CONTROLS[char]), at + 1
        if match := _HEX.match(self.pattern, at):
            return int(match[1] or match[2], 16), match.end()
        if char.isalnum():
            raise _UnsureError
        return ord(char), at + 1

    def _group(self, at: int, depth: int) -> _TranslatedPart:
        opening, looks, captures = "(", False, True
        if self.pattern.startswith("?:", at):
            opening, captures = "(?:", False
        elif match := _NAMED.match(self.pattern, at):
            opening = f"(?P<{match[1]}>"
        elif match := _LOOK.match(self.pattern, at):
            opening, looks, captures = f"({match[0]}", True, False
        elif self.pattern[at] == "?":
            raise _UnsureError
        skipped = match.end() - at if (match := _NAMED.match(self.pattern, at)) else len(opening) - 1
        inner = self.alternatives(at + skipped, depth + 1)
        if self.pattern[inner.end] != ")" or (looks and inner.has_groups):
            raise _UnsureError
        text, end = f"{opening}{inner.text})", inner.end + 1
        return _TranslatedPart(text, end, looks or inner.is_nullable, captures or inner.has_groups, looks)

    def _class(self, at: int) -> _TranslatedPart:
        negated = self.pattern[at] == "^"
        at += negated
        close = at
        while self.pattern[close] != "]":
            close += 2 if self.pattern[close] == "\\" else 1
        if self.pattern[at:close] in _ALL and not negated:
            return _TranslatedPart(_ANYTHING, close + 1)
        items = []
        while at < close:
            item, at = self._item(at)
            items.append(item)
        if not items:
            raise _UnsureError
        return _TranslatedPart(f"[{'^' * negated}{''.join(items)}]", close + 1)

    def _item(self, at: int) -> tuple[str, int]:
        """A character of a class, a range, or a class in it, and where it ends."""
        if self.pattern[at] == "\\" and self.pattern[at + 1] in _CLASSES:
            end = at + 2
            if self.pattern[end] == "-" and self.pattern[end + 1] != "]":
                raise _UnsureError
            return _CLASSES[self.pattern[at + 1]], end
        low, end = self._one(at)
        if self.pattern[end] != "-" or self.pattern[end + 1] == "]":
            return self._letter(low), end
        high, end = self._one(end + 1)
        return f"{self._letter(low)}-{self._letter(high)}", end

    def _one(self, at: int) -> tuple[int, int]:
        if self.pattern[at] != "\\":
            return ord(self.pattern[at]), at + 1
        if self.pattern[at + 1].isalpha() and self.pattern[at + 1] not in "nrtfvux":
            raise _UnsureError
        return self._code(at + 1)
