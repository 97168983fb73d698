"""Step ``entries``: which prompts of the preset take part, and in which order. Leaves a tuple of `PromptItem`."""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.content.preset import PromptItem, PromptPosition
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.scene import scene_of

__all__ = ["DEFAULT_ORDER", "ENTRIES", "MARKERS", "Turn"]

MARKERS: Final = (
    "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario", "worldInfoAfter",
    "dialogueExamples", "chatHistory",
)  # fmt: skip
"""Prompts that stand for text from elsewhere, by SillyTavern's identifiers."""

DEFAULT_ORDER: Final = (
    "main", "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario",
    "enhanceDefinitions", "nsfw", "worldInfoAfter", "dialogueExamples", "chatHistory", "jailbreak",
)  # fmt: skip
"""The order a preset without one gets."""

_OFF_BY_DEFAULT: Final = frozenset({"enhanceDefinitions"})
_FORCED_RELATIVE: Final = frozenset({"chatHistory", "dialogueExamples"})


class Turn(msgspec.Struct, frozen=True):
    """A prompt in its turn. ``on`` is false for one that is disabled or not for this type: its place remains."""

    item: PromptItem
    on: bool = True


def run(state: State, _config: NoConfig) -> None:
    """Order the prompts, drop unknown ones, switch off those that are not for this generation type."""
    inputs = scene_of(state).inputs
    preset, type_ = inputs.preset, inputs.type
    order = preset.order_for()
    named = [(item.identifier, item.enabled) for item in order] if order is not None else _default()
    items = {item.identifier: item for item in reversed(preset.prompts)}
    turns: dict[str, Turn] = {}
    for identifier, enabled in named:
        item = items.get(identifier) or _builtin(identifier)
        if item is None:
            state.note(NoteKind.IGNORED, f"the prompt order names {identifier!r}, which the preset does not have")
            continue
        if item.identifier in _FORCED_RELATIVE and item.position is not PromptPosition.RELATIVE:
            item = msgspec.structs.replace(item, position=PromptPosition.RELATIVE)
        wanted = not item.triggers or type_ in item.triggers
        turns.setdefault(identifier, Turn(item, enabled and wanted))
    state.scratch["entries"] = tuple(turns.values())
    state.stat("prompt_entries", len(turns))


def _default() -> list[tuple[str, bool]]:
    return [(identifier, identifier not in _OFF_BY_DEFAULT) for identifier in DEFAULT_ORDER]


def _builtin(identifier: str) -> PromptItem | None:
    """A marker that a preset need not list to order it."""
    if identifier in DEFAULT_ORDER:
        return PromptItem(identifier=identifier, marker=identifier in MARKERS, system_prompt=True)
    return None


ENTRIES: Final = Step("entries", run, NoConfig)
