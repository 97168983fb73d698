"""Errors of the smart tavern's operations.

::

    FormatError
    ├── RoleError           a history message whose role is none of the four; a `ValueError` with the document's words
    ├── ShapeError          an argument, or a message, of the wrong type; a `ValueError`
    └── EntryNumberError    an order of a relative prompt or a world book's entry that is no whole number; a `ValueError`
"""

from __future__ import annotations

from typing import Any

from innkeeper.prompt.errors import FormatError, Where

__all__ = ["EntryNumberError", "RoleError", "ShapeError"]


class RoleError(FormatError, ValueError):
    """A role that is not one of the four (3-smarttavern, *errors and borders*). ``message`` is the original's text."""

    HINT = "roles are system, user, assistant and thinking, without blanks around them"

    def __init__(self, index: int, role: str) -> None:
        super().__init__(
            f"invalid message role at history[{index}]: {role}", where=Where(path=f"history[{index}].role")
        )


class ShapeError(FormatError, ValueError):
    """A value of the wrong type where the operation cannot go on without it."""

    def __init__(self, path: str, expected: str, found: Any, *, hint: str | None = None) -> None:
        super().__init__(f"expected {expected}, found {_kind(found)}", where=Where(path=path), hint=hint)


class EntryNumberError(FormatError, ValueError):
    """A number that framing needs and cannot read: the whole call fails, as in the original."""

    HINT = "write it as a whole number"


def _kind(value: Any) -> str:
    """The JSON word for a value's type, or its Python name."""
    if value is None:
        return "null"
    return {dict: "an object", list: "an array", str: "text", bool: "a boolean"}.get(type(value), type(value).__name__)
