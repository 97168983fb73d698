"""The numbers that keep the library bounded; the error or decision that follows one is named beside it."""

from __future__ import annotations

from typing import Final

__all__ = ["ADULT_AGE"]

ADULT_AGE: Final = 18
"""Years from which on a person counts as an adult."""
