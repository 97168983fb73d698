"""What can be wrong with a macro or template, one class a rule.

::

    InputError
    └── MacroError                  a macro or template that cannot be evaluated; ``macro`` names it
        ├── MacroSyntaxError        unbalanced or malformed
        ├── UnknownMacroError       no macro, tag or filter of that name in the pack
        ├── UndefinedVariableError  a variable that is not set, where a template renders strictly
        └── MacroArgumentError      too few, too many or the wrong kind of arguments
    LimitError
    └── MacroLimitError             more expansions, nesting or output than a limit of `innkeeper.macros.limits`

Outside data is tolerated: these become warnings and the text stays as written, unless the build is strict.
"""

from __future__ import annotations

from typing import Any

from innkeeper.prompt.errors import InputError, LimitError

__all__ = [
    "MacroArgumentError",
    "MacroError",
    "MacroLimitError",
    "MacroSyntaxError",
    "UndefinedVariableError",
    "UnknownMacroError",
]


class MacroError(InputError):
    """A macro or template cannot be evaluated. ``macro`` is its name where known."""

    def __init__(self, message: str, *, macro: str | None = None, **kwargs: Any) -> None:
        if macro is not None:
            kwargs["macro"] = macro
        super().__init__(message, **kwargs)
        self.macro = macro


class MacroSyntaxError(MacroError):
    """Unbalanced braces, an unclosed block, a tag that is none."""


class UnknownMacroError(MacroError):
    """The pack has no macro, tag or filter of that name."""


class UndefinedVariableError(MacroError):
    """A template uses a variable that is not set, and renders strictly."""


class MacroArgumentError(MacroError):
    """Too few, too many or the wrong kind of arguments."""


class MacroLimitError(LimitError):
    """More expansions, nesting or output than a limit of `innkeeper.macros.limits` allows."""
