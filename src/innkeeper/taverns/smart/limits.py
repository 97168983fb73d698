"""Every limit of the smart tavern, in one place; each is raised as a `LimitError` that carries its name."""

from __future__ import annotations

from typing import Final

__all__ = [
    "MAX_AUTOMATON_TOKEN",
    "MAX_BOOK_DEPTH",
    "MAX_NUMBER",
    "MAX_RULES_SECONDS",
    "MAX_SEGMENT",
    "MIN_AUTOMATON_TOKENS",
    "REBUILD_AFTER",
]

MAX_BOOK_DEPTH: Final = 64
"""Arrays and objects inside one another around a world book's entries."""

MIN_AUTOMATON_TOKENS: Final = 9
"""From so many keywords on, one pass with an automaton is faster than looking for each."""

MAX_AUTOMATON_TOKEN: Final = 64
"""Longer keywords are looked for one by one: so no more than this many keywords can end at one place of the text."""

MAX_SEGMENT: Final = 8_192
"""Characters of the history that are searched at a time, so that finds never take much memory."""

REBUILD_AFTER: Final = 2_048
"""Finds in one segment after which the automaton is built anew without the keywords that are already found."""

MAX_RULES_SECONDS: Final = 3.0
"""Wall time the regex rules of one call may search together (`PatternLimitError`); one rule has ``MAX_PATTERN_SECONDS``."""

MAX_NUMBER: Final = 2**53
"""The largest number that reports tell and that a preset's settings may be: what every JSON reader holds."""
