"""Errors and limits of macros: how much an expansion may take, and what is raised beyond."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from innkeeper.prompt.errors import InputError, LimitError, Where


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
    """There is no macro, tag or filter of that name, or no such variable where a template renders strictly."""


class MacroArgumentError(MacroError):
    """Too few, too many or the wrong kind of arguments."""


class MacroLimitError(LimitError):
    """More expansions, nesting or output than a limit of `innkeeper.macros.engine.errors` allows."""


class NamedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one engine as fields, and the error beyond one of them."""

    PREFIX: ClassVar[str] = ""
    """The text before a limit's name in errors."""
    ERROR: ClassVar[type[MacroLimitError]] = MacroLimitError

    def exceeded(
        self, name: str, what: str, actual: float | None = None, where: Where | None = None
    ) -> MacroLimitError:
        """Return the error for ``what`` is beyond the limit of this name."""
        return self.ERROR(what, limit=self.PREFIX + name, allowed=getattr(self, name), found=actual, where=where)


EXCERPT_CHARS: Final = 100
"""Characters of a line that an error shows."""

_BEFORE: Final = 60


def where_in(text: str, index: int, asset: str | None = None) -> Where:
    r"""The place of the character at ``index`` (from 0), with the line around it.

    >>> where_in("one\ntwo {{", 8).pointer()
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


MAX_EXPANSIONS: Final = 10_000
"""Macros evaluated in one build (`MacroLimitError`; the macros after it stay as text)."""

MAX_MARKS: Final = 100_000
"""Openers, closers and separators read in one text (`MacroLimitError`; everything behind them stays as text)."""

MAX_NESTING: Final = 64
"""Macros inside one another, and fields evaluated inside fields (`MacroLimitError`; deeper ones stay as text)."""

MAX_OUTPUT: Final = 4 * 1024 * 1024
"""Characters that macros may produce in one build (`MacroLimitError`; the macros after it stay as text)."""

MAX_REPORTS: Final = 200
"""Macros reported in one build (a note says that there are more)."""

MAX_LIST_INDEX: Final = 10_000
"""The highest index that writing a variable may create in a list (`MacroLimitError`)."""

CACHED_TREES: Final = 4096
"""Syntax trees cached by (grammar, text); the least recently used are dropped first."""

CACHED_CHARS: Final = 64 * 1024
"""Longer texts are parsed each time instead of being cached."""
