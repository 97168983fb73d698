"""Keys made ready: as plain texts with the numbers by which the index knows them, as regular expressions, or as they are.

Most keys are plain. `Patterns.numbers` sees that at a glance and numbers them, and nothing is made of a key until its entry
is looked at (`key_tests`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from innkeeper.lore.matcher import Pattern, RegexKey, is_word, parse_key
from innkeeper.text.javascript.values import WHITE_SPACE, strip
from innkeeper.text.jsregex import RegexRunner


class KeyTest(msgspec.Struct, frozen=True, gc=False):
    """One key ready to be tried: by the index (``number``), as a regular expression, or only after macros (``macro``)."""

    text: str
    number: int | None = None
    regex: RegexKey | None = None
    literal: int | None = None
    macro: bool = False
    checked: bool = False
    """Whether JavaScript has accepted ``regex``."""


class Patterns:
    """Numbers the plain texts of keys, and asks JavaScript once whether a regular expression is one."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, bool, bool], int] = {}
        self._regex: RegexRunner | None = RegexRunner(lambda _what, _why: None)

    def number(self, text: str, *, exact_case: bool = False, whole_word: bool = False) -> int:
        """The number of a plain text, which is in lower case unless its case counts."""
        return self._numbers.setdefault((text, exact_case, whole_word), len(self._numbers))

    def numbers(self, keys: Iterable[str], *, exact_case: bool, whole_words: bool) -> list[int] | None:
        """Return the numbers of keys that are all plain, without empty ones; ``None`` if one might be anything else."""
        known, numbers = self._numbers, []
        for key in keys:
            if not key:
                continue
            text = key.strip(WHITE_SPACE)
            if not text or text[0] == "/" or "{" in text or "\\" in text or "<" in text:
                return None
            written = text if exact_case else text.lower()
            facts = (written, exact_case, whole_words and is_word(text))
            numbers.append(known.setdefault(facts, len(known)))
        return numbers

    def accepts(self, regex: RegexKey) -> bool:
        """Whether JavaScript takes it for a regular expression. Not to be asked after `done`."""
        return self._regex is not None and self._regex.valid(regex)

    def done(self, *, unicode_words: bool) -> list[Pattern]:
        """All patterns by their numbers. No regular expression is asked about from now on."""
        self._regex = None
        return [Pattern(text, case, whole, whole and unicode_words) for text, case, whole in self._numbers]


def key_tests(
    keys: Iterable[str], *, exact_case: bool, whole_words: bool, patterns: Patterns | None = None
) -> tuple[KeyTest, ...]:
    """Each non-empty key as a `KeyTest`. Without ``patterns`` (after macros) plain keys stay texts to be searched for.

    A key that looks like a regular expression but is not one to JavaScript is plain text (`sillytavern.md` 24).
    """
    return tuple([_test(text, patterns, exact_case=exact_case, whole_words=whole_words) for text in keys if text])


_MACRO: Final = re.compile(r"\{\{|\\[{}]|<(?:user|bot|char|group|charifnotgroup)>", re.IGNORECASE)
"""The marks of macros in a key. A regular expression has backslashes and ``<`` of its own."""


def _test(text: str, patterns: Patterns | None, *, exact_case: bool, whole_words: bool) -> KeyTest:
    if patterns is not None and _MACRO.search(text) is not None:
        return KeyTest(text, macro=True)
    trimmed = strip(text)
    regex = parse_key(trimmed).regex if trimmed.startswith("/") else None
    if regex is not None and (patterns is None or patterns.accepts(regex)):
        if patterns is None:
            return KeyTest(trimmed, regex=regex)
        literal = patterns.number(regex.literal) if regex.literal else None
        return KeyTest(trimmed, regex=regex, literal=literal, checked=True)
    if not trimmed or patterns is None:
        return KeyTest(trimmed)
    written = trimmed if exact_case else trimmed.lower()
    return KeyTest(
        trimmed, patterns.number(written, exact_case=exact_case, whole_word=whole_words and is_word(trimmed))
    )


def pattern_of(text: str, *, exact_case: bool, whole_words: bool, unicode_words: bool = False) -> Pattern:
    """The pattern of a plain key. Whole words hold for one-word keys only (`sillytavern.md` 23)."""
    whole = whole_words and is_word(text)
    return Pattern(text if exact_case else text.lower(), exact_case, whole, whole and unicode_words)
