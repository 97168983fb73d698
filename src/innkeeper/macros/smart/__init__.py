"""The macros of SmartTavern: ``{{…}}`` and ``<<…>>`` over one table of variables, with conditions and keyword tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.smart.compat import FIXED, SMARTTAVERN, MacroCompat
    from innkeeper.macros.smart.environment import MacroEnvironment
    from innkeeper.macros.smart.options import MacroOptions

__all__ = ["FIXED", "SMARTTAVERN", "MacroCompat", "MacroEnvironment", "MacroOptions"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "FIXED": "compat",
        "SMARTTAVERN": "compat",
        "MacroCompat": "compat",
        "MacroEnvironment": "environment",
        "MacroOptions": "options",
    },
)
