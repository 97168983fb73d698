"""Step ``macro_expansion``: fill the window, and replace macros as their texts get in. Leaves `FilledRoom`.

By default the prompt is filled as SillyTavern does it (`sillytavern.md` 47, 69). Each message has its macros replaced when there
is room for it, so that those of messages beyond the window have no effect. For that the step owns the room, the history and its
frame. Where the step ``trimming`` is to cut a full prompt by a strategy of the budget, everything gets in and the strategy takes
out; the stepped one keeps a provider's prefix cache warm, since the oldest message moves once in many turns.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec

from innkeeper.budget.strategies import Stepped, Strategy, evictions
from innkeeper.prompt.block import Block, Origin, OriginAsset
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.cache_friendly import CUTS, note_friendly
from innkeeper.taverns.silly.chat.compilation import Compiled, headed
from innkeeper.taverns.silly.chat.history import History, again_expanded, history_of
from innkeeper.taverns.silly.chat.plan_assembly import resolve_greeting
from innkeeper.taverns.silly.chat.prompts import FIXED_FIRST, Pinned, pinned_of, prompts_of
from innkeeper.taverns.silly.chat.room import (
    REPLY_PRIMER,
    FilledRoom,
    NoRoomError,
    Room,
    is_empty,
    message_block,
    tool_tokens,
)
from innkeeper.taverns.silly.chat.trimming import SillyTrimmingConfig
from innkeeper.taverns.silly.expansion import pieces_of
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.scratch import COMPILED, FILLED, LORE_TEXTS
from innkeeper.text.javascript.values import strip


def run(state: State, _config: NoConfig) -> None:
    """Fill the room, or all there is and cut it by the strategy of the step ``trimming``; resolve the greeting before."""
    config, scene = state.configs.get("trimming"), scene_of(state)
    strategy = config.cutting() if isinstance(config, SillyTrimmingConfig) else None
    budget = scene.inputs.context_tokens
    if (friendly := scene.inputs.cache) is not None:
        strategy = strategy or Stepped(step_tokens=max(budget // CUTS, 1))
        fired = () if state.result.lore is None else [item.compiled.key for item in state.result.lore.activated]
        note_friendly(state, friendly, state.scratch[LORE_TEXTS].frozen, fired)
    room = Room(UNBOUNDED if strategy else budget, scene.count)
    history = history_of(state)
    resolve_greeting(state, scene)
    frame = frame_of(scene, pinned_of(state), history)
    no_room = None
    try:
        _fill(state, room, history, frame)
        if strategy is not None:
            cut(room, strategy, budget)
    except NoRoomError as error:
        no_room = error
        room.omit(_unplaced(state, room, history, frame))
    state.scratch[FILLED] = FilledRoom(room, strategy, no_room)


UNBOUNDED: Final = sys.maxsize
"""The tokens of a room that everything fits into."""


def _unplaced(state: State, room: Room, history: History, frame: HistoryFrame) -> list[Block]:
    """What is not in the prompt after the filling stopped, and not recorded yet."""
    compiled = state.scratch[COMPILED]
    opened = opened_history(scene_of(state), history, expand=False)
    continued = (*frame.prefilled, *opened.continued, opened.continue_nudge)
    around = (frame.bias, opened.new_chat, frame.nudge, *continued, *frame.control)
    blocks = [
        *(fixed.block for fixed in compiled.fixed),
        *(block for example in compiled.examples for block in example),
        *(block for block in around if block is not None),
        *history.rest(room),
    ]
    known = set(map(id, (*room.placed(), *room.omitted)))
    return [block for block in blocks if id(block) not in known and not is_empty(block)]


def _fill(state: State, room: Room, history: History, frame: HistoryFrame) -> None:
    """Fixed parts first, then history and examples as far as they fit; what stands last has its room before them."""
    scene, compiled = scene_of(state), state.scratch[COMPILED]
    for slot in compiled.slots:
        room.open(slot)
    first = [fixed for fixed in compiled.fixed if fixed.block.slot in FIXED_FIRST and not fixed.first]
    for fixed in first:
        room.put(fixed.block)
    last = [(block, room.reserve(block)) for block in frame.control]
    for fixed in compiled.fixed:
        if fixed not in first:
            room.put(fixed.block, 0 if fixed.first else None)
    if frame.bias is not None:
        room.put(frame.bias)
    last += [(block, room.reserve(block)) for block in reversed(frame.prefilled)]
    if scene.inputs.power.pin_examples:
        scene.order.follow({"pinned_examples": lambda: _examples(state, room, compiled)})
        _history(state, room, history, frame)
    else:
        _history(state, room, history, frame)
        scene.order.follow({"examples": lambda: _examples(state, room, compiled)})
    for block, tokens in last:
        room.release(tokens)
        room.put(block)


def _history(state: State, room: Room, history: History, frame: HistoryFrame) -> None:
    if not _is_on(state, "chatHistory"):
        state.note(
            NoteKind.IGNORED, "the preset has no place for the chat's history: it is left out with what is in it"
        )
        return
    scene = scene_of(state)
    if scene.inputs.offers_tools:  # a request without tools costs what an empty list does
        room.left -= tool_tokens(state.request.tools, scene.count)
    opened = opened_history(scene, history)
    around = [block for block in (opened.new_chat, frame.nudge, opened.continue_nudge) if block is not None]
    reserved, tail = room.reserve(*around), room.reserve(*opened.continued)
    scene.order.follow({"history": lambda: history.fill(room)})
    room.release(reserved)
    room.put(opened.new_chat, 0)
    if frame.nudge is not None:
        room.put(frame.nudge)
    room.release(tail)
    if opened.continue_nudge is not None:
        _continue(state, room, opened, opened.continue_nudge)


def _continue(state: State, room: Room, opened: Opened, nudge: Block) -> None:
    """The message to go on with and the nudge, behind what is placed so far; the examples may take that very place."""
    compiled = state.scratch[COMPILED]
    slots = [slot for slot in compiled.slots if slot == "main" or _is_on(state, slot)]
    taken = {fixed.block.slot for fixed in compiled.fixed} | {"chatHistory"}
    if scene_of(state).inputs.power.pin_examples:
        taken.add("dialogueExamples")
    index = 1 + max(index for index, slot in enumerate(slots) if slot in taken)
    if slots[index : index + 1] == ["dialogueExamples"] and _is_on(state, "dialogueExamples"):
        message = "the message to continue and its nudge are left out, as in SillyTavern: the examples take their place"
        state.note(NoteKind.QUIRK, message, hint="put the examples before the chat history, or a prompt behind them")
        room.reserve(*opened.continued, nudge)  # as in SillyTavern, nothing else may use their room
        return
    room.open_before("continue", slots[index] if index < len(slots) else "")
    for block in (*reversed(opened.continued), nudge):
        room.put(block)


def _is_on(state: State, slot: str) -> bool:
    prompt = prompts_of(state).get(slot)
    return prompt is not None and prompt.on


def _examples(state: State, room: Room, compiled: Compiled) -> None:
    if not _is_on(state, "dialogueExamples"):
        return
    examples = headed(scene_of(state), compiled.examples)
    for index, example in enumerate(examples):
        if not room.fits(*example):
            room.omit(block for rest in examples[index:] for block in rest)
            return
        for block in example:
            room.put(block)


def cut(room: Room, strategy: Strategy, budget: int) -> None:
    """Take out of a full room what the strategy evicts. Raises `NoRoomError` when what may not go exceeds ``budget``."""
    blocks = room.placed()
    tokens = [room.tokens(block) for block in blocks]
    evicted = evictions(blocks, tokens, strategy, sum(tokens) + REPLY_PRIMER, budget)
    room.evict({index for unit in evicted for index in unit.members})
    room.narrow(budget)
    if room.left < 0:
        raise NoRoomError(max(room.placed(), key=room.tokens), 0)


class HistoryFrame(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds the history. ``nudge`` stands behind it, ``control`` at the very end.

    ``prefilled`` is the beginning of the reply: it stands at the very end, even without a history.
    """

    nudge: Block | None = None
    control: tuple[Block, ...] = ()
    prefilled: tuple[Block, ...] = ()
    bias: Block | None = None


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """What frames a history that is sent: ``continued`` stands behind it, before the nudge that asks to go on with it."""

    new_chat: Block
    continued: tuple[Block, ...] = ()
    continue_nudge: Block | None = None


def frame_of(scene: Scene, pinned: Pinned, history: History) -> HistoryFrame:
    """What surrounds the history, as its macros have been expanded before."""
    nudge = bias = None
    if scene.inputs.group is not None and scene.type != "impersonate" and pinned.group_nudge:
        nudge = message_block("system", pinned.group_nudge, "group_nudge_prompt", "chatHistory")
    control = []
    if scene.type == "impersonate" and pinned.impersonation:
        control.append(message_block("system", pinned.impersonation, "impersonation_prompt", "control"))
    if pinned.quiet:
        control.append(message_block("system", pinned.quiet, "quiet_prompt", "control"))
    if strip(pinned.bias):
        origin = Origin(OriginAsset.REQUEST, "settings", "user_prompt_bias")
        bias = message_block("assistant", pinned.bias, "user_prompt_bias", "bias", origin=origin)
    prefilled = history.continued if scene.inputs.preset.continue_prefill else ()
    return HistoryFrame(nudge=nudge, control=tuple(control), prefilled=prefilled, bias=bias)


def opened_history(scene: Scene, history: History, *, expand: bool = True) -> Opened:
    """What frames the history, its macros replaced when its turn has come; without ``expand`` as it is written."""
    preset = scene.inputs.preset
    text = preset.new_chat_prompt if scene.inputs.group is None else preset.new_group_chat_prompt
    opened = Opened(new_chat=_preset_block(text, "new_chat_prompt", "chatHistory"))
    if scene.type == "continue" and not preset.continue_prefill:
        nudge = _preset_block(preset.continue_nudge_prompt, "continue_nudge_prompt", "continue")
        opened = msgspec.structs.replace(opened, continued=history.continued, continue_nudge=nudge)
    if not expand:
        return opened
    replaced: dict[str, Any] = {}
    scene.order.follow(
        {
            "new_chat": lambda: replaced.update(new_chat=again_expanded(scene, opened.new_chat)),
            "continued": lambda: replaced.update(_continued(scene, opened, history.last_text)),
        }
    )
    return msgspec.structs.replace(opened, **replaced)


def _preset_block(text: str, source: str, slot: str) -> Block:
    return message_block("system", pieces_of(text, Origin(OriginAsset.PRESET, source)), source, slot)


def _continued(scene: Scene, opened: Opened, last_text: str) -> dict[str, Any]:
    """The nudge, the message to continue, and the nudge once more, with the message in it as it is written."""
    if opened.continue_nudge is None:
        return {}
    nudge = again_expanded(scene, opened.continue_nudge)
    continued = tuple(again_expanded(scene, block) for block in opened.continued)
    text = nudge.content.replace("{{lastChatMessage}}", strip(last_text))
    if text != nudge.content:
        nudge = nudge.with_(content=text, pieces=())
    return {"continued": continued, "continue_nudge": again_expanded(scene, nudge)}


MACRO_EXPANSION: Final = Step("macro_expansion", run, NoConfig)
