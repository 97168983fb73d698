"""Errors of the dialects, as branches of the tree in `innkeeper.prompt.errors`.

::

    UsageError
    └── ConfigError
        └── DialectOptionError       an option whose value the dialect does not have
    InputError
    ├── FormatError
    │   └── ChatTemplateError        a chat template that does not parse, fails, or refuses the messages
    └── LimitError                   (innkeeper.prompt) one that takes too many steps, too much memory or time
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from innkeeper.prompt.errors import ConfigError, FormatError

__all__ = ["ChatTemplateError", "DialectOptionError"]


class DialectOptionError(ConfigError):
    """An option of a dialect with a value it does not take."""

    def __init__(self, dialect: str, option: str, value: Any, allowed: Iterable[str]) -> None:
        super().__init__(
            f"{dialect}: option {option!r} cannot be {value!r:.60}", hint=f"it can be: {', '.join(allowed)}"
        )


class ChatTemplateError(FormatError):
    """A chat template that does not parse, fails while rendering, or refuses the messages it is given."""
