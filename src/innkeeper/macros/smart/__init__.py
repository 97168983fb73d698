"""The macros of SmartTavern: ``{{…}}`` and ``<<…>>`` over one table of variables, with conditions and keyword tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.smart.environment import SmartEnvironment as SmartEnvironment
    from innkeeper.macros.smart.expansion import condition_holds as condition_holds
    from innkeeper.macros.smart.expansion import condition_value as condition_value
    from innkeeper.macros.smart.expansion import expand as expand
    from innkeeper.macros.smart.expansion import expand_pieces as expand_pieces
    from innkeeper.macros.smart.expansion import process as process
    from innkeeper.macros.smart.expansion import process_text as process_text
    from innkeeper.macros.smart.expansion import process_text_batch as process_text_batch
    from innkeeper.macros.smart.keywords import Keywords as Keywords
    from innkeeper.macros.smart.options import FIXED as FIXED
    from innkeeper.macros.smart.options import SMARTTAVERN as SMARTTAVERN
    from innkeeper.macros.smart.options import Chance as Chance
    from innkeeper.macros.smart.options import CustomMacro as CustomMacro
    from innkeeper.macros.smart.options import MacroCompat as MacroCompat
    from innkeeper.macros.smart.options import MacroOptions as MacroOptions
    from innkeeper.macros.smart.options import Policy as Policy
    from innkeeper.macros.smart.options import StreamChance as StreamChance
    from innkeeper.macros.smart.sandbox import SANDBOX_LIMITS as SANDBOX_LIMITS
    from innkeeper.macros.smart.sandbox import evaluate as evaluate

_HOMES: Final = {
    "environment": ("MacroEnvironment", "SmartEnvironment"),
    "expansion": (
        "condition_holds",
        "condition_value",
        "expand",
        "expand_pieces",
        "process",
        "process_text",
        "process_text_batch",
    ),
    "keywords": ("Keywords",),
    "options": (
        "Chance",
        "CustomMacro",
        "FIXED",
        "MacroCompat",
        "MacroOptions",
        "Policy",
        "SMARTTAVERN",
        "StreamChance",
    ),
    "sandbox": ("SANDBOX_LIMITS", "evaluate"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
