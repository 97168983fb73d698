"""The limits of macro evaluation; each error or fallback that follows is named beside it."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CACHED_CHARS",
    "CACHED_TREES",
    "MAX_EXPANSIONS",
    "MAX_LIST_INDEX",
    "MAX_NESTING",
    "MAX_OUTPUT",
    "MAX_REPORTS",
]

MAX_EXPANSIONS: Final = 10_000
"""Macros evaluated in one build (`MacroLimitError`; the macros after it stay as text)."""

MAX_NESTING: Final = 64
"""Macros inside one another, and fields evaluated inside fields (`MacroLimitError`; deeper ones stay as text)."""

MAX_OUTPUT: Final = 4 * 1024 * 1024
"""Characters that macros may produce in one build (`MacroLimitError`; the macros after it stay as text)."""

MAX_REPORTS: Final = 200
"""Macros reported in one build; the next report says that there are more."""

MAX_LIST_INDEX: Final = 10_000
"""The highest index that writing a variable may create in a list (`MacroLimitError`)."""

CACHED_TREES: Final = 4096
"""Syntax trees kept by (grammar, text); the least recently used goes first."""

CACHED_CHARS: Final = 64 * 1024
"""Longer texts are parsed each time instead of being kept."""
