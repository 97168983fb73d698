"""The macros of SmartTavern: ``{{…}}`` and ``<<…>>`` over one table of variables, with conditions and keyword tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.smart.chance import Chance, StreamChance
    from innkeeper.macros.smart.compat import FIXED, SMARTTAVERN, MacroCompat
    from innkeeper.macros.smart.conditions import condition_holds, condition_value
    from innkeeper.macros.smart.environment import MacroEnvironment
    from innkeeper.macros.smart.errors import VariablePathError
    from innkeeper.macros.smart.expansion import expand
    from innkeeper.macros.smart.keywords import Keywords
    from innkeeper.macros.smart.operations import process, process_text, process_text_batch
    from innkeeper.macros.smart.options import CustomMacro, MacroOptions
    from innkeeper.macros.smart.policy import Policy

_HOMES = {
    "FIXED": "compat",
    "SMARTTAVERN": "compat",
    "Chance": "chance",
    "CustomMacro": "options",
    "Keywords": "keywords",
    "MacroCompat": "compat",
    "MacroEnvironment": "environment",
    "MacroOptions": "options",
    "Policy": "policy",
    "StreamChance": "chance",
    "VariablePathError": "errors",
    "condition_holds": "conditions",
    "condition_value": "conditions",
    "expand": "expansion",
    "process": "operations",
    "process_text": "operations",
    "process_text_batch": "operations",
}

__all__ = [
    "FIXED",
    "SMARTTAVERN",
    "Chance",
    "CustomMacro",
    "Keywords",
    "MacroCompat",
    "MacroEnvironment",
    "MacroOptions",
    "Policy",
    "StreamChance",
    "VariablePathError",
    "condition_holds",
    "condition_value",
    "expand",
    "process",
    "process_text",
    "process_text_batch",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
