"""Whole numbers of tokens: what the caller's mistake with a budget is, found before anything is counted."""

from __future__ import annotations

from typing import Any

from innkeeper.prompt.display import shorten
from innkeeper.prompt.errors import UsageError

__all__ = ["whole"]


def whole(name: str, value: Any) -> int:
    """``value`` if it is a whole number of tokens from 0 up. Raises `UsageError` naming the parameter."""
    if type(value) is int and value >= 0:
        return value
    shown = "a negative number" if type(value) is int else f"{type(value).__name__} {shorten(repr(value), 40)}"
    raise UsageError(
        f"{name} must be a whole number of tokens, not {shown}", hint="numbers of tokens start at 0", name=name
    )
