"""A SillyTavern preset in the words of this tavern: its prompts in their order, with the markers this tavern has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.preset import Preset, PromptItem, PromptPosition
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State

__all__ = ["carried_preset", "is_smart_preset"]

_POSITIONS: Final = frozenset({"relative", "in-chat"})

_PLACES: Final[Mapping[str, str]] = {
    "chatHistory": "chatHistory",
    "worldInfoBefore": "charBefore",
    "worldInfoAfter": "charAfter",
    "charDescription": "charDescription",
    "personaDescription": "personaDescription",
}
"""Markers with a placeholder of the same meaning."""

_TEXTS: Final[Mapping[str, str]] = {"charPersonality": "personality", "scenario": "scenario"}
"""Markers that stand for a text of the card, which is put in their place."""

_OPTIONS: Final = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "stream")


def is_smart_preset(raw: Mapping[str, Any]) -> bool:
    """Whether a preset file is written in this tavern's words: prompts with its positions, and no order beside them."""
    prompts = raw.get("prompts")
    if "prompt_order" in raw or not isinstance(prompts, (list, tuple)):
        return False
    positions = [item.get("position") for item in prompts if isinstance(item, Mapping)]
    named = [position for position in positions if position is not None]
    if any(not isinstance(position, str) or position.lower() not in _POSITIONS for position in named):
        return False
    return bool(named) or "api_config" in raw or "regex_rules" in raw


def carried_preset(preset: Preset, character: Character | None, state: State) -> dict[str, Any]:
    """The preset as this tavern's file would have it. What has no place in it is noted."""
    prompts = [carried for item, on in _ordered(preset) if (carried := _prompt(item, character, state, on=on))]
    config = {name: getattr(preset, name) for name in _OPTIONS if getattr(preset, name) is not None}
    if preset.context_window:
        config["max_context"] = preset.context_window
    return {"name": preset.name, "api_config": {"enabled": True, **config}, "prompts": prompts, "regex_rules": []}


def _ordered(preset: Preset) -> Iterator[tuple[PromptItem, bool]]:
    order = preset.order_for()
    if order is None:
        yield from ((item, item.enabled is not False) for item in preset.prompts)
        return
    for turn in order:
        item = preset.prompt(turn.identifier)
        if item is not None:
            yield item, turn.enabled


def _prompt(item: PromptItem, character: Character | None, state: State, *, on: bool) -> dict[str, Any] | None:
    name = _PLACES.get(item.identifier, item.identifier)
    content = item.content
    if item.identifier in _TEXTS:
        content = "" if character is None else getattr(character, _TEXTS[item.identifier])
    elif item.marker and item.identifier not in _PLACES:
        if on:
            state.note(
                NoteKind.IGNORED,
                f"the preset's {item.identifier} has no place in this tavern",
                data={"input": f"preset.{item.identifier}"},
            )
        return None
    placed = {"identifier": name, "name": item.name, "enabled": on, "role": item.role, "content": content}
    if item.position is PromptPosition.IN_CHAT:
        return {**placed, "position": "in-chat", "depth": item.depth, "order": item.order}
    return {**placed, "position": "relative"}
