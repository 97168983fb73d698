"""The limits of macro evaluation; each error or fallback that follows is named beside it."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = [
    "CACHED_CHARS",
    "CACHED_TEMPLATES",
    "CACHED_TEMPLATE_BYTES",
    "CACHED_TREES",
    "HANDLEBARS_LIMITS",
    "LIQUID_LIMITS",
    "MAX_DICE",
    "MAX_EXPANSIONS",
    "MAX_LIST_INDEX",
    "MAX_NESTING",
    "MAX_OUTPUT",
    "MAX_REPORTS",
    "HandlebarsLimits",
    "LiquidLimits",
]

MAX_EXPANSIONS: Final = 10_000
"""Macros evaluated in one build (`MacroLimitError`; the macros after it stay as text)."""

MAX_NESTING: Final = 64
"""Macros inside one another, and fields evaluated inside fields (`MacroLimitError`; deeper ones stay as text)."""

MAX_OUTPUT: Final = 4 * 1024 * 1024
"""Characters that macros may produce in one build (`MacroLimitError`; the macros after it stay as text)."""

MAX_REPORTS: Final = 200
"""Macros reported in one build; the next report says that there are more."""

MAX_DICE: Final = 100_000
"""Dice thrown in one build (`MacroLimitError`; the throw stays as text)."""

MAX_LIST_INDEX: Final = 10_000
"""The highest index ``{{setvarkey}}`` may create in a list (`MacroLimitError`; the macro stays as text)."""

CACHED_TREES: Final = 4096
"""Syntax trees kept by (grammar, text); the least recently used goes first."""

CACHED_CHARS: Final = 64 * 1024
"""Longer texts are parsed each time instead of being kept."""


class LiquidLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one Liquid template (`MacroLimitError`; in a tolerant build the whole template stays as text)."""

    template_bytes: int = 200_000
    """The template, in bytes of UTF-8."""
    output_bytes: int = 200_000
    """What it renders to, or captures at once, in bytes of UTF-8."""
    tags: int = 10_000
    """Tags and outputs in it."""
    nesting: int = 64
    """Blocks inside one another."""
    brackets: int = 100
    """Brackets and parentheses in one expression."""
    value_size: int = 1_000_000
    """One value: characters of its texts, plus 8 for each item or number."""
    namespace_size: int = 2_000_000
    """All values assigned or captured, sized likewise."""
    items: int = 200_000
    """Items of a range or list."""
    loop_iterations: int = 10_000
    """Turns of a loop, times those of the loops around it."""
    steps: int = 200_000
    """Work: one step for a variable, filter, output or turn of a loop and each tag in it, more for long texts."""
    seconds: float = 2.0
    """Wall time. ``steps`` are spent long before on any usual machine, so that what renders does not hang on its speed."""
    number_bits: int = 1024
    """Binary digits of a whole number."""
    dice: int = 1_000
    """Dice in one throw."""
    dice_sides: int = 1_000_000_000
    """Sides of a die."""


LIQUID_LIMITS: Final = LiquidLimits()
"""The defaults."""

CACHED_TEMPLATES: Final = 256
"""Parsed Liquid templates kept, those used last."""

CACHED_TEMPLATE_BYTES: Final = 4_000_000
"""Bytes of the texts of all Liquid templates kept."""


class HandlebarsLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one Handlebars template (`MacroLimitError`)."""

    template_chars: int = 200_000
    """The template."""
    output_chars: int = 4 * 1024 * 1024
    """What it renders to."""
    nesting: int = 64
    """Blocks and parentheses inside one another."""
    steps: int = 200_000
    """Pieces of text and tags rendered, those in loops each time."""
    cached: int = 64
    """Parsed templates kept."""


HANDLEBARS_LIMITS: Final = HandlebarsLimits()
"""The defaults."""
