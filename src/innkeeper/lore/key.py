"""Key: one activation key of an entry: plain text, or a JavaScript regular expression."""

from __future__ import annotations

import re
from typing import Final

import msgspec

__all__ = ["Key", "RegexKey", "parse_key", "required_literal"]

_FLAGS: Final = frozenset("gimsuyvd")
_SPECIAL: Final = frozenset("\\^$.|?*+()[]{}")
_QUANTIFIERS: Final = ("?", "*", "{")
_PLAIN: Final = re.compile(r"[ -~]+")


class RegexKey(msgspec.Struct, frozen=True):
    """A ``/pattern/flags`` key. ``literal`` is lower-case text every match must contain, or empty when none is sure."""

    pattern: str
    flags: str
    literal: str = ""


class Key(msgspec.Struct, frozen=True):
    """A key as written (``text``, trimmed) and, when it has that form, as a regular expression."""

    text: str
    regex: RegexKey | None = None

    @property
    def words(self) -> int:
        """How many words it has; whole-word matching holds for one-word keys only."""
        return len(self.text.split())


def parse_key(text: str) -> Key:
    """The key a text stands for. ``/…/flags`` with an unescaped slash inside, or unknown flags, is plain text."""
    trimmed = text.strip()
    end = trimmed.rfind("/")
    if not trimmed.startswith("/") or end < 2:  # noqa: PLR2004 - "//" holds no pattern
        return Key(trimmed)
    pattern, flags = trimmed[1:end], trimmed[end + 1 :]
    if not _FLAGS.issuperset(flags) or len(set(flags)) != len(flags) or _has_bare_slash(pattern):
        return Key(trimmed)
    return Key(trimmed, RegexKey(pattern.replace("\\/", "/"), flags, required_literal(pattern, flags)))


def _has_bare_slash(pattern: str) -> bool:
    return re.search(r"(?<!\\)(?:\\\\)*/", pattern) is not None


def required_literal(pattern: str, flags: str) -> str:
    """The longest plain ASCII run that every match of the pattern contains, in lower case; empty when unsure.

    Only runs outside groups, classes and alternations count, so that a wrong guess cannot hide a match. With ``iu`` some
    letters match others beyond ASCII, so nothing is sure.
    """
    if "|" in pattern or ("i" in flags and ("u" in flags or "v" in flags)):
        return ""
    runs, index = [""], 0
    while index < len(pattern):
        char, following = pattern[index], pattern[index + 1 : index + 2]
        if char in "([{" or (char == "\\" and following.isalnum()):
            break
        if char in _SPECIAL or following in _QUANTIFIERS or not _PLAIN.fullmatch(char):
            runs.append("")
        else:
            runs[-1] += char
        index += 2 if char == "\\" else 1
    return _longest(runs)


def _longest(runs: list[str]) -> str:
    best = max(runs, key=len)
    return best.lower() if len(best) > 1 else ""
