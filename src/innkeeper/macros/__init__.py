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
    "CardFields": "engine.environment",
    "Evaluation": "engine.evaluate",
    "Grammar": "engine.syntax",
    "Macro": "engine.macro",
    "MacroEnvironment": "engine.environment",
    "Pack": "engine.macro",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
