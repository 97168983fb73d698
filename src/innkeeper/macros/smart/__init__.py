"""The macros of SmartTavern: ``{{…}}`` and ``<<…>>`` over one table of variables, with conditions and keyword tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.smart.environment import SmartEnvironment
    from innkeeper.macros.smart.expansion import (
        condition_holds,
        condition_value,
        expand,
        expand_pieces,
        process,
        process_text,
        process_text_batch,
    )
    from innkeeper.macros.smart.keywords import Keywords
    from innkeeper.macros.smart.options import (
        FIXED,
        SMARTTAVERN,
        Chance,
        CustomMacro,
        MacroCompat,
        MacroOptions,
        Policy,
        StreamChance,
    )

_HOMES = {
    "FIXED": "options",
    "SMARTTAVERN": "options",
    "Chance": "options",
    "CustomMacro": "options",
    "Keywords": "keywords",
    "MacroCompat": "options",
    "SmartEnvironment": "environment",
    "MacroEnvironment": "environment",
    "MacroOptions": "options",
    "Policy": "options",
    "StreamChance": "options",
    "condition_holds": "expansion",
    "condition_value": "expansion",
    "expand": "expansion",
    "expand_pieces": "expansion",
    "process": "expansion",
    "process_text": "expansion",
    "process_text_batch": "expansion",
}

__all__ = [
    "FIXED",
    "SMARTTAVERN",
    "Chance",
    "CustomMacro",
    "Keywords",
    "MacroCompat",
    "MacroOptions",
    "Policy",
    "SmartEnvironment",
    "StreamChance",
    "condition_holds",
    "condition_value",
    "expand",
    "expand_pieces",
    "process",
    "process_text",
    "process_text_batch",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
