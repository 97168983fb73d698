"""What can be wrong with a budget: all of it the caller's mistake, found before anything is counted.

::

    UsageError
    └── BudgetError
        ├── BudgetMissingError      neither ``budget_tokens`` nor ``max_tokens``
        └── BudgetNumberError       a number of tokens that is negative or not whole
    PipelineError
    └── MaxTokensExceededError      (innkeeper.prompt) what may not be dropped does not fit
"""

from __future__ import annotations

from typing import Any

from innkeeper.prompt.display import shorten
from innkeeper.prompt.errors import UsageError

__all__ = ["BudgetError", "BudgetMissingError", "BudgetNumberError"]


class BudgetError(UsageError):
    """A budget that makes no sense."""


class BudgetMissingError(BudgetError):
    """Trimming was asked for without saying to what. No budget is not a budget of zero."""

    def __init__(self) -> None:
        super().__init__("no token budget", hint="give max_tokens (the context window) or budget_tokens")


class BudgetNumberError(BudgetError):
    """A number of tokens that is negative, not whole, or no number. ``name`` is the parameter."""

    def __init__(self, name: str, value: Any) -> None:
        number = type(value) is int
        found = "a negative number" if number else f"{type(value).__name__} {shorten(repr(value), 40)}"
        super().__init__(f"{name} must be a whole number of tokens, not {found}", hint="numbers of tokens start at 0")
        self.name = name


def whole(name: str, value: Any) -> int:
    """``value`` if it is a whole number from 0 up. Raises `BudgetNumberError`."""
    if type(value) is not int or value < 0:
        raise BudgetNumberError(name, value)
    return value
