"""The step *prepare*: the request's assets, variables and settings in this tavern's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.smart.limits import MAX_NUMBER
from innkeeper.taverns.smart.smart_inputs import SmartInputs, read_inputs
from innkeeper.taverns.tavern import note_unused

__all__ = ["PREPARE"]

_UNUSED: Final[Mapping[str, str]] = {
    "group": "the smart tavern knows one character and one user",
    "force_lore": "whether an entry is in is up to its condition",
    "injections": "use prompts whose position is in-chat",
    "authors_note": "use a prompt whose position is in-chat",
    "lore_state": "entries of the smart tavern do not last",
    "meta": "the smart tavern has no texts for a single build",
    "locale": "macros write dates as Python does",
}

_CONFIGURED: Final = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "stream")
"""Settings of a preset's ``api_config`` that are options of a request."""


def run(state: State, _config: NoConfig) -> None:
    """Read the inputs, note what has no effect, take the options of the preset."""
    note_unused(state, _UNUSED)
    if state.request.generation != "normal":
        message = f"generation {state.request.generation!r} has no effect: the smart tavern builds one kind of prompt"
        state.note(NoteKind.IGNORED, message, data={"input": "generation"})
    for name in ("hooks", "injections"):
        if getattr(state.inputs.ports, name) is not None:
            message = f"the {name} registry has no effect: the smart tavern has no step that asks it"
            state.note(NoteKind.IGNORED, message)
    inputs = read_inputs(state)
    state.scratch["prepare"] = inputs
    for name, value in _configured(inputs.preset).items():
        if name in _CONFIGURED:
            state.result.options.setdefault(name, value)
    _greet(state, inputs)


def _configured(preset: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a preset turns on: all of its ``api_config``, or those it lists as enabled."""
    config = preset.get("api_config")
    if not isinstance(config, Mapping) or config.get("enabled") is not True:
        return {}
    chosen = config.get("enabled_fields")
    listed = chosen if isinstance(chosen, (list, tuple)) else list(config)
    return {name: value for name, value in config.items() if name in listed and _is_setting(value)}


def _is_setting(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) and abs(value) <= MAX_NUMBER


def window_of(inputs: SmartInputs) -> int | None:
    """The window that the preset says its prompts are for, in tokens."""
    window = _configured(inputs.preset).get("max_context")
    return window if type(window) is int and window > 0 else None


def _greet(state: State, inputs: SmartInputs) -> None:
    index = state.request.greeting
    if index is None:
        return
    place = max(index, 0)
    if place >= len(inputs.greetings):
        state.warn(f"there is no greeting {index}; the card has {len(inputs.greetings)}")
        place = 0
    state.result.greeting = inputs.greetings[place] if inputs.greetings else ""
    state.result.greeting_index = place


PREPARE: Final = Step("prepare", run, NoConfig)
"""Reads everything the other steps need."""
