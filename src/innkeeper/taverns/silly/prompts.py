"""Steps ``entries`` and ``pinned_groups``: the preset's prompts, their order and their texts.

``entries`` decides which prompts and markers take part, and in which order; it leaves a tuple of `PromptTurn`.
``pinned_groups`` expands the text of each; it leaves `Prompt` values by identifier, in prompt order.
"""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.content.persona import PersonaPosition
from innkeeper.content.preset import PromptItem, PromptPosition
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.origin import Origin, OriginAsset
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.lore import LoreTexts
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["DEFAULT_ORDER", "ENTRIES", "MARKERS", "PINNED_GROUPS", "Prompt", "PromptTurn", "prompts_of"]

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


class PromptTurn(msgspec.Struct, frozen=True):
    """A prompt in its turn. ``on`` is false for one that is disabled or not for this type: its place remains."""

    item: PromptItem
    on: bool = True


def _run_entries(state: State, _config: NoConfig) -> None:
    """Order the prompts, drop unknown ones, switch off those that are not for this generation type."""
    inputs = scene_of(state).inputs
    preset, type_ = inputs.preset, inputs.type
    order = preset.order_for()
    named = [(item.identifier, item.enabled) for item in order] if order is not None else _default()
    items = {item.identifier: item for item in reversed(preset.prompts)}
    turns: dict[str, PromptTurn] = {}
    for identifier, enabled in named:
        item = items.get(identifier) or _builtin(identifier)
        if item is None:
            state.note(NoteKind.IGNORED, f"the prompt order names {identifier!r}, which the preset does not have")
            continue
        if item.identifier in _FORCED_RELATIVE and item.position is not PromptPosition.RELATIVE:
            item = msgspec.structs.replace(item, position=PromptPosition.RELATIVE)
        wanted = not item.triggers or type_ in item.triggers
        turns.setdefault(identifier, PromptTurn(item, enabled and wanted))
    state.scratch["entries"] = tuple(turns.values())
    state.stat("prompt_entries", len(turns))


def _default() -> list[tuple[str, bool]]:
    return [(identifier, identifier not in _OFF_BY_DEFAULT) for identifier in DEFAULT_ORDER]


def _builtin(identifier: str) -> PromptItem | None:
    """A marker that a preset need not list to order it."""
    if identifier in DEFAULT_ORDER:
        return PromptItem(identifier=identifier, marker=identifier in MARKERS, system_prompt=True)
    return None


ENTRIES: Final = Step("entries", _run_entries, NoConfig)


FIXED_FIRST: Final = (
    "worldInfoBefore", "main", "worldInfoAfter", "charDescription", "charPersonality", "scenario", "personaDescription",
)  # fmt: skip
"""The prompts that get their room first, in this order (`sillytavern.md` 47)."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt with its text after macros. ``in_chat`` ones go to ``depth``; ``on`` is false for a place without text."""

    identifier: str
    role: str
    content: str
    on: bool = True
    in_chat: bool = False
    depth: int = 4
    order: int = 100
    origin: Origin | None = None


def prompts_of(state: State) -> dict[str, Prompt]:
    """What this step made."""
    prompts: dict[str, Prompt] = state.made_by("pinned_groups")
    return prompts


def _run_pinned_groups(state: State, _config: NoConfig) -> None:
    """Expand markers first (personality and scenario through their formats), then the preset's prompts in order."""
    scene = scene_of(state)
    turns: tuple[PromptTurn, ...] = state.made_by("entries")
    marked = _marked(scene, state.made_by("lore"))
    prompts = {turn.item.identifier: _prompt(scene, turn, marked) for turn in turns}
    for identifier, text in marked.items():
        if identifier not in prompts and (text or identifier != "personaDescription"):
            prompts[identifier] = Prompt(identifier=identifier, role="system", content=text, origin=_origin(identifier))
    state.scratch["pinned_groups"] = prompts
    state.stat("pinned_groups", len(prompts))


def _marked(scene: Scene, lore: LoreTexts) -> dict[str, str]:
    texts, preset, expand = scene.texts, scene.inputs.preset, scene.expand
    personality = (
        expand(preset.personality_format) if texts.personality and preset.personality_format else texts.personality
    )
    scenario = expand(preset.scenario_format) if texts.scenario and preset.scenario_format else texts.scenario
    persona = texts.persona if scene.inputs.persona.position in _IN_PROMPT else ""
    return {
        "worldInfoBefore": _formatted(scene, "\n".join(lore.before)),
        "worldInfoAfter": _formatted(scene, "\n".join(lore.after)),
        "charDescription": texts.description,
        "charPersonality": personality,
        "scenario": scenario,
        "personaDescription": persona,
    }


_IN_PROMPT: Final = (PersonaPosition.IN_PROMPT, PersonaPosition.AFTER_CHAR)


def _formatted(scene: Scene, text: str) -> str:
    """Lore through ``wi_format``: every ``{0}`` is the text; a blank format is none."""
    form = scene.inputs.preset.wi_format
    return form.replace("{0}", text) if text and form.strip() else text


def _prompt(scene: Scene, turn: PromptTurn, marked: dict[str, str]) -> Prompt:
    item = turn.item
    text = marked.get(item.identifier)
    content = "" if not turn.on else _written(scene, item) if text is None else scene.expand(text)
    return Prompt(
        identifier=item.identifier,
        role=item.role or "system",
        content=content,
        on=turn.on,
        in_chat=item.position is PromptPosition.IN_CHAT,
        depth=item.depth,
        order=item.order,
        origin=_origin(item.identifier),
    )


def _written(scene: Scene, item: PromptItem) -> str:
    """A prompt's own text; for the main and the tail prompt the card's in its place, with ``{{original}}`` in it."""
    override = {"main": scene.texts.system, "jailbreak": scene.texts.jailbreak}.get(item.identifier, "")
    if override and not item.forbid_overrides:
        return scene.expand(override, original=scene.expand(item.content))
    return scene.expand(item.content)


def _origin(identifier: str) -> Origin:
    return _ORIGINS.get(identifier) or Origin("preset", "prompts", identifier)


_ORIGINS: Final = {
    "charDescription": Origin("character", "description"),
    "charPersonality": Origin("character", "personality"),
    "scenario": Origin("character", "scenario"),
    "personaDescription": Origin("persona", "description"),
    "worldInfoBefore": Origin(OriginAsset.LOREBOOK, "before_char"),
    "worldInfoAfter": Origin(OriginAsset.LOREBOOK, "after_char"),
}

PINNED_GROUPS: Final = Step("pinned_groups", _run_pinned_groups, NoConfig)
