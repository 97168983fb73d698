"""Liquid templates, rendered by python-liquid with everything bounded."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.liquid.templates import LiquidResult as LiquidResult
    from innkeeper.macros.liquid.templates import Participant as Participant
    from innkeeper.macros.liquid.templates import check as check
    from innkeeper.macros.liquid.templates import liquid_assigns as liquid_assigns
    from innkeeper.macros.liquid.templates import liquid_registers as liquid_registers
    from innkeeper.macros.liquid.templates import render as render
    from innkeeper.macros.liquid.templates import variables_used as variables_used

_HOMES: Final = {
    "templates": (
        "LiquidResult",
        "Participant",
        "check",
        "liquid_assigns",
        "liquid_registers",
        "render",
        "variables_used",
    ),
}

__all__ = ["LiquidResult", "Participant", "check", "liquid_assigns", "liquid_registers", "render", "variables_used"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
