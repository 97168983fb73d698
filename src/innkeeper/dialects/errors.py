"""The error that all dialects raise for an option, a `ConfigError` of the tree in `innkeeper.prompt.errors`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from innkeeper.prompt.errors import ConfigError

__all__ = ["option_error"]


def option_error(dialect: str, option: str, value: Any, allowed: Iterable[str]) -> ConfigError:
    """The error for an option of a dialect with a value that it does not take."""
    message = f"{dialect}: option {option!r} cannot be {value!r:.60}"
    return ConfigError(message, hint=f"it can be: {', '.join(allowed)}")
