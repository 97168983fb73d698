"""The user's input before it is stored: Liquid in it is rendered, where the application wants that.

Outside of the pipeline (VibeTavern's UserInputPreprocessor): what is stored is what later builds see as history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.macros.liquid.templates import LiquidResult, liquid_registers, render
from innkeeper.prompt import Clock, Context, VariablesStore
from innkeeper.prompt.frozen import EMPTY

__all__ = ["TOGGLE", "preprocess_user_input"]

TOGGLE: Final = "expand_user_input_macros"
"""The key in ``context.toggles`` that turns it on: exactly this spelling, and exactly ``True``."""


def preprocess_user_input(  # noqa: PLR0913 - the document's inputs, all by keyword
    text: str,
    *,
    variables: VariablesStore | None = None,
    assigns: Mapping[str, Any] = EMPTY,
    context: Context | Mapping[str, Any] | None = None,
    enabled: bool | None = None,
    strict: bool = False,
    on_error: str = "passthrough",
    clock: Clock | None = None,
) -> LiquidResult:
    """The input with its Liquid rendered, or as it is when that is not wanted.

    Args:
        text: what the user wrote.
        variables: the chat's variables; write tags change them.
        assigns: names that the input may use.
        context: the application's snapshot: its toggle decides where ``enabled`` is not given, filters read it.
        enabled: whether to render at all.
        strict: as in `innkeeper.macros.liquid.templates.render`.
        on_error: likewise.
        clock: likewise.

    Raises:
        MacroError: only with ``strict`` or ``on_error="raise"``.
    """
    snapshot = Context.build(context or {})
    if not (_toggled(snapshot) if enabled is None else enabled):
        return LiquidResult(text)
    return render(
        text,
        assigns,
        variables=variables,
        strict=strict,
        on_error=on_error,
        registers=liquid_registers(snapshot),
        clock=clock,
    )


def _toggled(context: Context) -> bool:
    toggles = context.get("toggles")
    return isinstance(toggles, Mapping) and toggles.get(TOGGLE) is True
