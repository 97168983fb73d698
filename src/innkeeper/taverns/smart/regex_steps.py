"""The steps *regex_before* and *regex_after*: the model's regex rules before and after the macros."""

from __future__ import annotations

from functools import partial
from typing import Final

from innkeeper.prompt.note import Note
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.smart.regex_rules import apply_messages
from innkeeper.taverns.smart.smart_inputs import inputs_of

__all__ = ["REGEX_AFTER", "REGEX_BEFORE", "VIEW"]

VIEW: Final = "assistant_view"
"""Whose view a prompt is: the model's."""


def run(state: State, _config: NoConfig, *, placement: str, of: str) -> None:
    """Apply the rules of a placement to what the step ``of`` made. Conditions of rules see the variables as they came in."""
    inputs = inputs_of(state)
    messages = state.made_by(of)
    if inputs.rules["regex_rules"]:
        notes: list[Note] = []
        messages = apply_messages(
            inputs.rules, placement, VIEW, messages, inputs.table, options=inputs.options, notes=notes
        )["message"]
        for note in notes:
            state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint)
    state.scratch[state.step or placement] = messages


REGEX_BEFORE: Final = Step("regex_before", partial(run, placement="before_macro", of="framing"), NoConfig)
"""Rules that see texts as they were written."""

REGEX_AFTER: Final = Step("regex_after", partial(run, placement="after_macro", of="macros"), NoConfig)
"""Rules that see what macros made of them."""
