"""Every limit of the contracts' floor, in one place; each is raised as a `LimitError` that carries its name."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_VARIABLES"]

MAX_DEPTH: Final = 64
"""Objects and lists inside one another, in any data that comes from outside."""

MAX_DIGITS: Final = 4000
"""Decimal digits of a whole number: more cannot be written as text in linear time."""

MAX_VARIABLES: Final = 100_000
"""How many variables one scope may hold, and how many one build may write."""
