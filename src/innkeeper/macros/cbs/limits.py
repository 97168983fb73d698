"""The limits of one expansion. What goes beyond one raises `MacroLimitError`."""

from __future__ import annotations

from typing import Final

from innkeeper.macros.engine.errors import MacroLimitError

MAX_TAGS: Final = 100_000
"""Tags and blocks evaluated, those in fields and in texts that blocks insert included (`MacroLimitError`)."""

MAX_OPEN: Final = 512
"""Tags and blocks open at once in one text (`MacroLimitError`)."""

MAX_CALLS: Final = 20
"""Fields and functions inside one another (no error: deeper ones print a message, as in RisuAI)."""

MAX_CHARACTERS: Final = 4 * 1024 * 1024
"""Characters of a text, and characters that its tags and blocks produce together (`MacroLimitError`)."""

MAX_ITEMS: Final = 100_000
"""Items of a list that a tag makes (`MacroLimitError`)."""

MAX_DICE: Final = 100_000
"""Dice thrown in one text (`MacroLimitError`)."""


def exceeded(what: str, limit: str, allowed: int, actual: float | None = None) -> MacroLimitError:
    """Return the error for a limit of this module."""
    hint = "shorten the text, or split it into several"
    return MacroLimitError(what, limit=limit, allowed=allowed, found=actual, hint=hint)


def checked(count: float, what: str, limit: str, allowed: int) -> int:
    """Return a count within its limit. Raises `MacroLimitError`."""
    if not count <= allowed:
        raise exceeded(what, limit, allowed, count)
    return int(count)
