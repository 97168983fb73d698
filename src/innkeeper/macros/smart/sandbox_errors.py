"""What can be wrong with a piece of sandboxed Python, one class a rule.

::

    MacroError
    └── SandboxError              code of ``{{python:…}}`` that gives no value; says line and column
        ├── SandboxSyntaxError    it cannot be read
        ├── SandboxForbiddenError it uses what the language of the sandbox does not have; nothing of it ran
        ├── SandboxRuntimeError   a part of it failed; what was set before stays set
        └── SandboxLimitError     it would cost more than a limit of `sandbox_limits` (also a `MacroLimitError`)
"""

from __future__ import annotations

from typing import Any

from innkeeper.macros.errors import MacroError, MacroLimitError

__all__ = ["SandboxError", "SandboxForbiddenError", "SandboxLimitError", "SandboxRuntimeError", "SandboxSyntaxError"]


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
