"""The limits of sandboxed Python, and the errors of a piece of it, one class for each remedy.

What exceeds a limit ends the code with a `SandboxLimitError` that names it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from innkeeper.macros.engine.errors import MacroError, MacroLimitError, NamedLimits
from innkeeper.prompt.errors import InnkeeperError


class SandboxError(MacroError):
    """The code gives no value."""

    def __init__(self, message: str, **kwargs: Any) -> None:
        kwargs.setdefault("macro", "python")
        super().__init__(message, **kwargs)


class SandboxSyntaxError(SandboxError):
    """The code is not Python."""

    HINT = "write one Python expression, or lines that set `result`"


class SandboxForbiddenError(SandboxError):
    """The code is Python, but not of the part that the sandbox has."""

    HINT = "use values, operators, if/else, assignments and the functions of the sandbox: see docs/macros-python.md"


class SandboxRuntimeError(SandboxError):
    """A part of the code failed: a wrong type, a division by zero, an unknown name."""


class SandboxLimitError(SandboxError, MacroLimitError):
    """A part of the code would cost more than a named limit allows; it was not begun."""

    HINT = "make it smaller"


class SandboxLimits(NamedLimits, frozen=True, kw_only=True):
    """The limits of one run of one piece of code (`SandboxLimitError`). Each is checked before the cost is paid."""

    ERROR: ClassVar[type[MacroLimitError]] = SandboxLimitError

    code_chars: int = 10_000
    """The code, in characters."""
    brackets: int = 50
    """Brackets inside one another, and signs or ``not`` in a row."""
    depth: int = 100
    """Expressions and blocks inside one another; a chain such as ``a + b + c`` is one deeper for each operator."""
    int_bits: int = 14_000
    """Binary digits of a whole number (4,214 decimal digits; Python writes no more than 4,300 as text)."""
    text_chars: int = 1_000_000
    """Characters of one text, and of all texts in one list, tuple or dict, with 8 for each value in it."""
    items: int = 100_000
    """Items of one list, tuple or dict, and all values inside it."""
    value_depth: int = 50
    """Lists and dicts inside one another."""
    work: int = 4_000_000
    """All work of a run: characters made, compared or searched, and 8 for each value in a container."""
    format_width: int = 10_000
    """Width and precision of one ``%`` conversion."""
    number_chars: int = 4_200
    """Characters of a text that is read as a number."""
    pattern_chars: int = 1_000
    """A regular expression, or what replaces its matches."""
    pattern_repeats: int = 2_000
    """What the counted repeats of a regular expression come to when written out: ``(a{20}){30}`` is 651."""
    pattern_depth: int = 20
    """Groups of a regular expression inside one another."""
    pattern_seconds: float = 0.25
    """Processor seconds that all regular expressions of a run may take; in a build they end it (`AllowanceError`)."""
    date_chars: int = 100
    """A date to be read, and the pattern to read it with."""


SANDBOX_LIMITS: Final = SandboxLimits()
"""The defaults."""

CACHED_PROGRAMS: Final = 512
"""Compiled pieces of code in the cache; the least recently used are dropped first."""

CACHED_CODE_CHARS: Final = 300
"""Longer code is compiled each time: 300 characters make up to 120 KB of closures."""


FAILURES: Final = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    MemoryError,
    RecursionError,
    AttributeError,
    OSError,
)
"""Python's errors for plain data that an operation does not fit."""

_EXCERPT_CHARS: Final = 120


class SourcePosition:
    """The position of a node of the syntax. Closures keep this and not the node, which would keep the tree.

    ``usage`` shows how to use the function that is called there, when it is known.
    """

    __slots__ = ("line", "lines", "offset", "usage")

    def __init__(self, lines: list[str], line: int, offset: int, usage: str | None = None) -> None:
        self.lines = lines
        self.line = line
        self.offset = offset
        self.usage = usage

    def parts(self) -> dict[str, Any]:
        """The line and column, from 1, and the line itself. The parser counts columns in bytes of UTF-8."""
        line = self.lines[self.line - 1] if self.line <= len(self.lines) else ""
        column = len(line.encode()[: self.offset].decode(errors="ignore")) + 1
        return {"line": self.line, "column": column, "excerpt": line[:_EXCERPT_CHARS]}

    def error(self, error: BaseException) -> SandboxError:
        """The error to raise for one that happened here."""
        if isinstance(error, SandboxError):
            return error if error.where and error.where.line else error.at(**self.parts())
        if isinstance(error, InnkeeperError):
            return SandboxRuntimeError(error.message, hint=error.hint).at(**self.parts())
        if isinstance(error, MemoryError | RecursionError):
            return SandboxLimitError("the work of the code", limit="work", allowed=SANDBOX_LIMITS.work).at(
                **self.parts()
            )
        return self._failure(error).at(**self.parts())

    def _failure(self, error: BaseException) -> SandboxRuntimeError:
        message = f"there is no key {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        if self.usage is None:
            return SandboxRuntimeError(message)
        if isinstance(error, TypeError) and "argument" in message:
            message = f"{self.usage.split('(', 1)[0]} was called with the wrong arguments"
        return SandboxRuntimeError(message, hint=f"use it as {self.usage}")
