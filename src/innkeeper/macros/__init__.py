"""Macros: one scanner, syntax tree and evaluator for the ``{{…}}`` languages of the taverns, and a pack per language."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.engine.environment import CardFields as CardFields
    from innkeeper.macros.engine.environment import MacroEnvironment as MacroEnvironment
    from innkeeper.macros.engine.evaluate import Evaluation as Evaluation
    from innkeeper.macros.engine.macro import Macro as Macro
    from innkeeper.macros.engine.macro import Pack as Pack
    from innkeeper.macros.engine.syntax import Grammar as Grammar

_HOMES: Final = {
    "engine.environment": ("CardFields", "MacroEnvironment"),
    "engine.evaluate": ("Evaluation",),
    "engine.macro": ("Macro", "Pack"),
    "engine.syntax": ("Grammar",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
