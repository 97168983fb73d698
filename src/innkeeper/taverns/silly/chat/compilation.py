"""Step ``compilation``: the messages of the fixed parts and of the example dialogues. Leaves `Compiled`.

Examples are the card's blocks with those of lore around them (what a block and a turn are is said in
`innkeeper.macros.silly.card`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from innkeeper.content.preset import PromptItem
from innkeeper.macros.silly.card import ExampleTurn, example_turns
from innkeeper.macros.silly.card import example_blocks as blocks_of
from innkeeper.prompt.block import Block, Origin, OriginAsset, Piece
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.chat.prompts import FIXED_FIRST, Prompt, prompts_of
from innkeeper.taverns.silly.chat.room import message_block
from innkeeper.taverns.silly.expansion import Pieces, pieces_of, text_of
from innkeeper.taverns.silly.injection import (
    InjectedText,
    Injections,
)
from innkeeper.taverns.silly.lore import LoreTexts
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.scratch import COMPILED, INJECTIONS, LORE_TEXTS, TURNS


class Fixed(msgspec.Struct, frozen=True):
    """A fixed message; ``first`` ones stand in front of what their slot already has."""

    block: Block
    first: bool = False


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """``slots`` in prompt order; ``fixed`` in the order they get their room; ``examples`` block by block."""

    slots: tuple[str, ...]
    fixed: tuple[Fixed, ...]
    examples: tuple[tuple[Block, ...], ...] = ()


def run(state: State, _config: NoConfig) -> None:
    """Turn prompts, injections beside the main prompt, and examples into blocks."""
    scene, prompts = scene_of(state), prompts_of(state)
    turns = [turn for turn in state.scratch[TURNS] if not turn.again]
    items = {turn.item.identifier: turn.item for turn in turns}
    unsent = _unsent(state, prompts, items)
    rest = [fixed for fixed in _rest(prompts, items) if fixed.block.slot not in unsent]
    # the parts that get their room before all others
    first = [_fixed(prompts[name]) for name in FIXED_FIRST if name in prompts and _stands(prompts[name])]
    fixed = [*first, *rest, *_beside(scene, state.scratch[INJECTIONS], prompts)]
    state.scratch[COMPILED] = Compiled(
        slots=_slots(prompts, items), fixed=tuple(fixed), examples=tuple(_examples(scene, state.scratch[LORE_TEXTS]))
    )
    state.stat("blocks", len(fixed))


def _slots(prompts: dict[str, Prompt], ordered: Collection[str]) -> tuple[str, ...]:
    """Places in prompt order. A persona that the order does not name stands behind the user's bias, other texts before it."""
    slots = [] if "main" in prompts else ["main"]
    for name in prompts:
        slots += ["bias", name] if name == "personaDescription" and name not in ordered else [name]
    return tuple(slots)


def _stands(prompt: Prompt) -> bool:
    return prompt.on and not prompt.in_chat


def _fixed(prompt: Prompt) -> Fixed:
    name, group = prompt.identifier, "lore" if prompt.identifier.startswith("worldInfo") else "system"
    return Fixed(message_block(prompt.role, prompt.pieces, name, name, group=group))


_PLACED_APART: Final = frozenset((*FIXED_FIRST, "dialogueExamples", "chatHistory"))
_SYSTEM_AFTER: Final = ("nsfw", "jailbreak")


def _rest(prompts: dict[str, Prompt], items: Mapping[str, PromptItem]) -> list[Fixed]:
    """System prompts, then the preset's own in order, then the enhancing one, then the user's bias."""
    names: list[str] = [name for name in _SYSTEM_AFTER if name in prompts]
    names += [
        name for name in prompts if name not in _PLACED_APART and name not in _SYSTEM_AFTER and _own(items.get(name))
    ]
    names += [name for name in prompts if name not in _PLACED_APART and name not in names]
    return [_fixed(prompts[name]) for name in names if _stands(prompts[name])]


def _own(item: PromptItem | None) -> bool:
    """Whether a prompt is the preset's own: SillyTavern asks for ``"system_prompt": false``, other spellings for nothing."""
    if item is None:
        return False
    return item.raw.get("system_prompt") is False if "identifier" in item.raw else not item.system_prompt


def _unsent(state: State, prompts: dict[str, Prompt], items: Mapping[str, PromptItem]) -> frozenset[str]:
    """Prompts in their turn that SillyTavern takes for its own and, not knowing them, never sends; each is noted."""
    if not scene_of(state).inputs.compat.own_prompts_say_so:
        return frozenset()
    unsent = frozenset(
        name for name, item in items.items() if name not in _SENT and "identifier" in item.raw and not _own(item)
    )
    for name, prompt in prompts.items():
        if name in unsent and _stands(prompt) and prompt.content:
            what = 'without "system_prompt": false SillyTavern takes it for one of its own'
            hint = 'write "system_prompt": false in it, or use the profile "fixed"'
            where = Where(asset="preset", path=f"prompts.{name}")
            state.note(NoteKind.QUIRK, f"the prompt {name!r} is not sent: {what}", where=where, hint=hint)
    return unsent


_SENT: Final = _PLACED_APART | frozenset((*_SYSTEM_AFTER, "enhanceDefinitions"))
"""Prompts that SillyTavern knows by their identifiers."""


def _beside(scene: Scene, injections: Injections, prompts: dict[str, Prompt]) -> list[Fixed]:
    """Texts before and after the main prompt. Without a main prompt in the order they vanish (`sillytavern.md` 45)."""
    main = prompts.get("main")
    if scene.inputs.compat.injections_need_main if main is None else main.in_chat:
        return []
    after = [Fixed(_injected(item)) for item in injections.after]
    return [*after, *(Fixed(_injected(item), first=True) for item in reversed(injections.before))]


def _injected(item: InjectedText) -> Block:
    return message_block(item.role, item.pieces, "injection", "main")


def _examples(scene: Scene, lore: LoreTexts) -> list[tuple[Block, ...]]:
    """The example blocks: each its separator and its turns. The separators' macros are as written: see `headed`."""
    if scene.inputs.power.strip_examples:
        return []
    origin = Origin(OriginAsset.PRESET, "new_example_chat_prompt")
    heading = pieces_of(scene.inputs.preset.new_example_chat_prompt, origin)
    return [
        _example(scene, heading, example, index) for index, (example, _) in enumerate(example_dialogues(scene, lore))
    ]


def headed(scene: Scene, examples: Sequence[tuple[Block, ...]]) -> tuple[tuple[Block, ...], ...]:
    """The examples with the macros of their separator replaced, once for all of them."""
    if not examples or scene.expand.is_settled(examples[0][0].content):
        return tuple(examples)
    heading = scene.expand.pieces(examples[0][0].ranges())
    pieces = () if len(heading) == 1 else heading
    return tuple((first.with_(content=text_of(heading), pieces=pieces), *messages) for first, *messages in examples)


def _example(scene: Scene, heading: Pieces, example: Piece, index: int) -> tuple[Block, ...]:
    form = partial(
        message_block,
        "system",
        slot="dialogueExamples",
        group="examples",
        bundle=f"examples:{index}",
    )
    messages = [
        form(
            content=f"{turn.name}: {turn.text}" if scene.inputs.group is not None else turn.text,
            source="examples",
            origin=example.origin,
            name=f"example_{'user' if turn.is_user else 'assistant'}",
        )
        for turn in turns_of(scene, example.text)
    ]
    return (form(content=heading, source="example_separator"), *(message for message in messages if message.content))


COMPILATION: Final = Step("compilation", run, NoConfig)


def example_dialogues(scene: Scene, lore: LoreTexts) -> list[tuple[Piece, str]]:
    """The blocks in prompt order, each with its separator: lore at the top, newest first, the card's, lore at the bottom."""
    card = scene.texts.pieces["examples"]
    blocks = _blocks(scene.texts.examples, card[0].origin, scene.separator) if card else []
    for entry in lore.examples:
        own = _blocks(text_of(entry.pieces), entry.pieces[0].origin, entry.separator) if entry.pieces else []
        blocks = [*own, *blocks] if entry.top else [*blocks, *own]
    return blocks


def _blocks(text: str, origin: Origin, separator: str) -> list[tuple[Piece, str]]:
    origin = msgspec.structs.replace(origin, macro=None)
    return [(Piece(block, origin), separator) for block in blocks_of(text.replace("\r", ""))]


def turns_of(scene: Scene, block: str) -> list[ExampleTurn]:
    """A block's turns between the user and the character, or the members of the group."""
    inputs = scene.inputs
    return example_turns(block, inputs.user, inputs.char, inputs.group.names if inputs.group else ())
