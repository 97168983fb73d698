"""Step ``pinned_groups``: the text of every prompt and marker. Leaves `Prompt` values by identifier, in prompt order."""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.content.persona import PersonaPosition
from innkeeper.content.preset import PromptItem, PromptPosition
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.prompt.text import Origin
from innkeeper.taverns.silly.entries import Turn
from innkeeper.taverns.silly.lore_texts import LoreTexts
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["PINNED_GROUPS", "Prompt", "prompts_of"]

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


def run(state: State, _config: NoConfig) -> None:
    """Expand markers first (personality and scenario through their formats), then the preset's prompts in order."""
    scene = scene_of(state)
    turns: tuple[Turn, ...] = state.made_by("entries")
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


def _prompt(scene: Scene, turn: Turn, marked: dict[str, str]) -> Prompt:
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
    "worldInfoBefore": Origin("lore", "before_char"),
    "worldInfoAfter": Origin("lore", "after_char"),
}

PINNED_GROUPS: Final = Step("pinned_groups", run, NoConfig)
