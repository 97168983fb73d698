"""What can be wrong with a macro or template, one class a rule, and the place in its text.

::

    InputError
    └── MacroError                  a macro or template that cannot be evaluated; ``macro`` names it
        ├── MacroSyntaxError        unbalanced or malformed
        ├── UnknownMacroError       no macro, tag or filter of that name in the pack
        ├── UndefinedVariableError  a variable that is not set, where a template renders strictly
        └── MacroArgumentError      too few, too many or the wrong kind of arguments
    LimitError
    └── MacroLimitError             more expansions, nesting or output than a limit of `innkeeper.macros.engine.limits`

Outside data is tolerated: these become warnings and the text stays as written, unless the build is strict. `place_in` gives
line, column and the line itself, cut to what a terminal shows.
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.errors import InputError, LimitError, Where

__all__ = [
    "EXCERPT_CHARS",
    "MacroArgumentError",
    "MacroError",
    "MacroLimitError",
    "MacroSyntaxError",
    "UndefinedVariableError",
    "UnknownMacroError",
    "place_in",
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
    """More expansions, nesting or output than a limit of `innkeeper.macros.engine.limits` allows."""


EXCERPT_CHARS: Final = 100
"""How much of a line an error shows."""

_BEFORE: Final = 60


def place_in(text: str, index: int, asset: str | None = None) -> Where:
    r"""The place of the character at ``index`` (from 0), with the line around it.

    >>> place_in("one\ntwo {{", 8).pointer()
    'two {{\n    ^'
    """
    index = max(0, min(index, len(text)))
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", index)
    column = index - start
    cut = max(0, column - _BEFORE)
    line = text[start + cut : len(text) if end < 0 else end][:EXCERPT_CHARS].rstrip("\r")
    return Where(
        asset=asset, line=text.count("\n", 0, start) + 1, column=column + 1, excerpt=line.replace("\t", " "), cut=cut
    )
