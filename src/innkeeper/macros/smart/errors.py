"""What can be wrong with a smart macro beyond `innkeeper.macros.errors`.

::

    MacroError
    └── VariablePathError       a variable's path that cannot be written; SmartTavern leaks an IndexError there
"""

from __future__ import annotations

from innkeeper.macros.errors import MacroError

__all__ = ["VariablePathError"]


class VariablePathError(MacroError):
    """A negative index beyond the start of its list."""
