"""The step *macros*: the macros of every message, in their order, over one table of variables."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.errors import InnkeeperError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.smart.smart_inputs import inputs_of

if TYPE_CHECKING:
    from innkeeper.macros.smart import MacroEnvironment

__all__ = ["MACROS"]


def run(state: State, _config: NoConfig) -> None:
    """Expand all messages, then stage the variables that macros set."""
    from innkeeper.macros.smart import MacroEnvironment

    inputs = inputs_of(state)
    env = MacroEnvironment.of(inputs.table, inputs.settings.policy, inputs.options.macros)
    chat_env = env
    if not inputs.options.compat.chat_python:
        chat_env = dataclasses.replace(env, options=msgspec.structs.replace(env.options, python=False))
    before = MacroEnvironment.of(inputs.table, None, inputs.options.macros).table
    expanded = []
    for index, message in enumerate(state.made_by("regex_before")):
        own = chat_env if message["source"]["type"].startswith("history.") else env
        expanded.append({**message, "content": _expanded(message["content"], own, state, index)})
    if state.result.greeting:
        state.result.greeting = _expanded(state.result.greeting, env, state, None)
    state.scratch["macros"] = expanded
    for note in env.notes:
        state.warn(note.message, kind=NoteKind.MACRO, where=note.where, hint=note.hint)
    _stage(state, before, env.table)


def _expanded(text: str, env: MacroEnvironment, state: State, index: int | None) -> str:
    """The text with its macros replaced, or as it is, with a warning, where they fail."""
    if "{{" not in text and "<<" not in text:
        return text
    from innkeeper.macros.smart import expand

    try:
        return expand(text, env)
    except InnkeeperError as error:
        place = Where(asset="prompt", path="greeting" if index is None else f"messages[{index}]")
        state.warn(f"macros are left as they are: {error.message}", kind=NoteKind.MACRO, where=place, hint=error.hint)
        return text


def _stage(state: State, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Stage what was set: in the scope where the variable is, else in the chat's."""
    for name, value in after.items():
        if name not in before or before[name] != value:
            is_global = state.variables.has(name, "global") and not state.variables.has(name)
            state.variables.set(name, value, "global" if is_global else "local")


MACROS: Final = Step("macros", run, NoConfig)
"""Replaces macros by what they stand for."""
