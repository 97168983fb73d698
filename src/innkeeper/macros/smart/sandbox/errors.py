"""What can be wrong with a piece of sandboxed Python, one class a rule, and its place in the code.

::

    MacroError
    └── SandboxError              code of ``{{python:…}}`` that gives no value; says line and column
        ├── SandboxSyntaxError    it cannot be read
        ├── SandboxForbiddenError it uses what the language of the sandbox does not have; nothing of it ran
        ├── SandboxRuntimeError   a part of it failed; what was set before stays set
        └── SandboxLimitError     it would cost more than a limit of `SandboxLimits` (also a `MacroLimitError`)

`Place` turns Python's own failures into these, at the place of the code that failed.
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.macros.engine.errors import MacroError, MacroLimitError
from innkeeper.macros.smart.sandbox.limits import SANDBOX_LIMITS
from innkeeper.prompt.errors import InnkeeperError

__all__ = [
    "FAILURES",
    "Place",
    "SandboxError",
    "SandboxForbiddenError",
    "SandboxLimitError",
    "SandboxRuntimeError",
    "SandboxSyntaxError",
]


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
"""What plain data raises when an operation does not fit it."""

_EXCERPT_CHARS: Final = 120


class Place:
    """Where a node of the syntax stands. Closures keep this and not the node, which would keep the tree.

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
