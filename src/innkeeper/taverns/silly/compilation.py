"""Step ``compilation``: the messages of the fixed parts and the examples. Leaves `Compiled`."""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.content.preset import PromptItem
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.prompt.text import Origin
from innkeeper.taverns.silly.examples import example_blocks, example_turns
from innkeeper.taverns.silly.injection import Injections
from innkeeper.taverns.silly.lore_texts import LoreTexts
from innkeeper.taverns.silly.pinned_groups import FIXED_FIRST, Prompt, prompts_of
from innkeeper.taverns.silly.room import Draft
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["COMPILATION", "Compiled", "Fixed"]


class Fixed(msgspec.Struct, frozen=True):
    """A fixed message and the slot it goes to; ``first`` ones stand in front of what the slot already has."""

    slot: str
    draft: Draft
    first: bool = False


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """``slots`` in prompt order; ``fixed`` in the order they get their room; ``examples`` block by block."""

    slots: tuple[str, ...]
    fixed: tuple[Fixed, ...]
    examples: tuple[tuple[Draft, ...], ...] = ()


def run(state: State, _config: NoConfig) -> None:
    """Turn prompts, injections beside the main prompt, and examples into drafts."""
    scene, prompts = scene_of(state), prompts_of(state)
    fixed = [*_first(prompts), *_rest(scene, prompts), *_beside(scene, state.made_by("injection"), prompts)]
    slots = tuple(prompts) if "main" in prompts else ("main", *prompts)
    state.scratch["compilation"] = Compiled(
        slots=slots, fixed=tuple(fixed), examples=tuple(_examples(scene, state.made_by("lore")))
    )
    state.stat("blocks", len(fixed))


def _first(prompts: dict[str, Prompt]) -> list[Fixed]:
    """The parts that get their room before all others."""
    return [_fixed(prompts[name]) for name in FIXED_FIRST if name in prompts and _stands(prompts[name])]


def _stands(prompt: Prompt) -> bool:
    return prompt.on and not prompt.in_chat


def _fixed(prompt: Prompt) -> Fixed:
    kind = "lore" if prompt.identifier.startswith("worldInfo") else "system"
    draft = Draft(role=prompt.role, content=prompt.content, source=prompt.identifier, kind=kind, origin=prompt.origin)
    return Fixed(prompt.identifier, draft)


_PLACED_APART: Final = frozenset((*FIXED_FIRST, "dialogueExamples", "chatHistory"))
_SYSTEM_AFTER: Final = ("nsfw", "jailbreak")


def _rest(scene: Scene, prompts: dict[str, Prompt]) -> list[Fixed]:
    """System prompts, then the preset's own in order, then the enhancing one, then the user's bias."""
    items = {item.identifier: item for item in scene.inputs.preset.prompts}
    names: list[str] = [name for name in _SYSTEM_AFTER if name in prompts]
    names += [
        name for name in prompts if name not in _PLACED_APART and name not in _SYSTEM_AFTER and _own(items.get(name))
    ]
    names += [name for name in prompts if name not in _PLACED_APART and name not in names]
    return [_fixed(prompts[name]) for name in names if _stands(prompts[name])]


def _own(item: PromptItem | None) -> bool:
    return item is not None and not item.system_prompt


def _beside(scene: Scene, injections: Injections, prompts: dict[str, Prompt]) -> list[Fixed]:
    """Texts before and after the main prompt. Without a main prompt in the order they vanish (`sillytavern.md` 45)."""
    main = prompts.get("main")
    if scene.inputs.compat.injections_need_main if main is None else main.in_chat:
        return []
    after = [Fixed("main", _injected(item.role, item.content, item.id)) for item in injections.after]
    before = [Fixed("main", _injected(i.role, i.content, i.id), first=True) for i in reversed(injections.before)]
    return [*after, *before]


def _injected(role: str, content: str, key: str) -> Draft:
    return Draft(role=role, content=content, source="injection", origin=Origin("injection", entry=key))


def _examples(scene: Scene, lore: LoreTexts) -> list[tuple[Draft, ...]]:
    """The example blocks: each its separator and its turns."""
    if scene.inputs.power.strip_examples:
        return []
    blocks = example_blocks(scene.texts.examples)
    for text in lore.em_top:
        blocks = [*example_blocks(scene.expand(text)), *blocks]
    for text in lore.em_bottom:
        blocks = [*blocks, *example_blocks(scene.expand(text))]
    heading = scene.expand(scene.inputs.preset.new_example_chat_prompt) if blocks else ""
    return [_example(scene, heading, block, place) for place, block in enumerate(blocks)]


def _example(scene: Scene, heading: str, block: str, place: int) -> tuple[Draft, ...]:
    bundle, origin = f"examples:{place}", Origin("character", "mes_example")
    separator = Draft(
        role="system",
        content=heading,
        source="example_separator",
        kind="examples",
        bundle=bundle,
        apart=True,
        origin=origin,
    )
    group = scene.inputs.group
    turns = example_turns(block, scene.inputs.user, scene.inputs.char, group.names if group else ())
    said = [
        Draft(
            role="system",
            content=f"{turn.name}: {turn.text}" if group else turn.text,
            name=f"example_{'user' if turn.speaker == 'user' else 'assistant'}",
            source="examples",
            kind="examples",
            bundle=bundle,
            apart=True,
            origin=origin,
        )
        for turn in turns
    ]
    return (separator, *(draft for draft in said if draft.content))


COMPILATION: Final = Step("compilation", run, NoConfig)
