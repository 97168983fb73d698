"""JSON values as the operations read them, their errors and their limits.

Whole numbers are made of anything, as Python's original does it. Every limit of the smart tavern is here, each raised as a
`LimitError` that carries its name, and so are the errors of the operations::

    FormatError
    ├── RoleError           a history message whose role is none of the four; a `ValueError` with the document's words
    ├── ShapeError          an argument, or a message, of the wrong type; a `ValueError` (`innkeeper.content.json.values`)
    └── EntryNumberError    an order of a relative prompt or a world book's entry that is not a whole number; a `ValueError`
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.errors import FormatError, Where

__all__ = [
    "MAX_BOOK_DEPTH",
    "MAX_NUMBER",
    "MAX_RULES_SECONDS",
    "MIN_AUTOMATON_TOKENS",
    "EntryNumberError",
    "RoleError",
    "told_number",
    "whole_number",
]

MAX_BOOK_DEPTH: Final = 64
"""Arrays and objects inside one another around a world book's entries."""

MIN_AUTOMATON_TOKENS: Final = 9
"""From so many keywords on, one pass with an automaton is faster than looking for each."""

MAX_RULES_SECONDS: Final = 3.0
"""Wall time the regex rules of one call may search together (`PatternLimitError`); one rule has ``MAX_PATTERN_SECONDS``."""

MAX_NUMBER: Final = 2**53
"""The largest number that reports tell and that a preset's settings may be: what every JSON reader holds."""


class RoleError(FormatError, ValueError):
    """A role that is not one of the four (3-smarttavern, *errors and borders*). ``message`` is the original's text."""

    HINT = "roles are system, user, assistant and thinking, without blanks around them"

    def __init__(self, index: int, role: str) -> None:
        super().__init__(
            f"invalid message role at history[{index}]: {role}", where=Where(path=f"history[{index}].role")
        )


class EntryNumberError(FormatError, ValueError):
    """A number that framing needs and cannot read: the whole call fails, as in the original."""

    HINT = "write it as a whole number"


def whole_number(value: Any, default: int) -> int | None:
    """A whole number by Python's ``int``, the default for what is empty or false, ``None`` for what is no number.

    A zero that is a number is itself.
    """
    if type(value) is int:
        return value
    if not value and type(value) is not float:
        return default
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def told_number(value: int | None) -> int | None:
    """A whole number as reports tell it: one that JSON readers may not hold by the nearest they do."""
    return None if value is None else max(-MAX_NUMBER, min(value, MAX_NUMBER))
