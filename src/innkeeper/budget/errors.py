"""What can be wrong with a budget: the caller's mistake, found before anything is counted.

::

    UsageError
    └── BudgetError                 no budget, or a number of tokens that is negative or not whole
    PipelineError
    └── MaxTokensExceededError      (innkeeper.prompt) what may not be dropped does not fit
"""

from __future__ import annotations

from typing import Any

from innkeeper.prompt.display import shorten
from innkeeper.prompt.errors import UsageError

__all__ = ["BudgetError", "whole"]


class BudgetError(UsageError):
    """A budget that makes no sense: none at all, wrong numbers, or a strategy's options that do not fit."""


def whole(name: str, value: Any) -> int:
    """``value`` if it is a whole number of tokens from 0 up. Raises `BudgetError` naming the parameter."""
    if type(value) is int and value >= 0:
        return value
    shown = "a negative number" if type(value) is int else f"{type(value).__name__} {shorten(repr(value), 40)}"
    raise BudgetError(
        f"{name} must be a whole number of tokens, not {shown}", hint="numbers of tokens start at 0", name=name
    )
