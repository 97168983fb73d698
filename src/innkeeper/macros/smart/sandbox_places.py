"""Places in sandboxed code, and failures told as typed errors at their place."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.macros.smart.sandbox_errors import SandboxError, SandboxLimitError, SandboxRuntimeError
from innkeeper.macros.smart.sandbox_limits import SANDBOX_LIMITS
from innkeeper.prompt.errors import InnkeeperError

__all__ = ["FAILURES", "Place"]

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
