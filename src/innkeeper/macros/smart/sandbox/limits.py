"""The limits of sandboxed Python. What exceeds one ends the code with a `SandboxLimitError` that names it."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["CACHED_CODE_CHARS", "CACHED_PROGRAMS", "SANDBOX_LIMITS", "SandboxLimits"]


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one run of one piece of code. Each is checked before the cost is paid."""

    code_chars: int = 10_000
    """The code, in characters."""
    brackets: int = 50
    """Brackets inside one another, and signs or ``not`` in a row."""
    depth: int = 100
    """Expressions and blocks inside one another; a chain such as ``a + b + c`` is one deeper for each operator."""
    int_bits: int = 14_000
    """Binary digits of a whole number (4,214 decimal digits; Python writes no more than 4,300 as text)."""
    text_chars: int = 1_000_000
    """Characters of one text, and of all texts in one list, tuple or dict, with 8 for each value in it."""
    items: int = 100_000
    """Items of one list, tuple or dict, and all values inside it."""
    value_depth: int = 50
    """Lists and dicts inside one another."""
    work: int = 4_000_000
    """All work of a run: characters made, compared or searched, and 8 for each value in a container."""
    format_width: int = 10_000
    """Width and precision of one ``%`` conversion."""
    number_chars: int = 4_200
    """Characters of a text that is read as a number."""
    pattern_chars: int = 1_000
    """A regular expression, or what replaces its matches."""
    pattern_repeats: int = 2_000
    """What the counted repeats of a regular expression come to when written out: ``(a{20}){30}`` is 600."""
    pattern_depth: int = 20
    """Groups of a regular expression inside one another."""
    pattern_seconds: float = 0.25
    """Wall time that all regular expressions of a run may take."""
    date_chars: int = 100
    """A date to be read, and the pattern to read it with."""


SANDBOX_LIMITS: Final = SandboxLimits()
"""The defaults."""

CACHED_PROGRAMS: Final = 512
"""Compiled pieces of code kept; the least recently used goes first."""

CACHED_CODE_CHARS: Final = 300
"""Longer code is compiled each time: 300 characters make up to 120 KB of closures."""
