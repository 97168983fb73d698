"""Step ``macro_expansion``: fill the window, and replace macros as their texts get in. Leaves `FilledRoom`.

By default the prompt is filled as SillyTavern does it (`sillytavern.md` 47, 69). Each message has its macros replaced when there
is room for it, so that those of messages beyond the window have no effect. For that the step owns the room, the history and its
frame. Where the step ``trimming`` is to cut a full prompt by a strategy of the budget, everything gets in and the strategy takes
out; the stepped one keeps a provider's prefix cache warm, since the oldest message moves once in many turns.
"""

from __future__ import annotations

import sys
from typing import Final

from innkeeper.budget.strategies import Strategy
from innkeeper.budget.units import latest_user, units_of
from innkeeper.prompt.block import Block
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.pipeline import NoConfig, Step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.chat.compilation import Compiled, headed
from innkeeper.taverns.silly.chat.frame import HistoryFrame, Opened, frame_of, opened_history
from innkeeper.taverns.silly.chat.history import History, history_of
from innkeeper.taverns.silly.chat.plan_assembly import resolve_greeting
from innkeeper.taverns.silly.chat.prompts import FIXED_FIRST, pinned_of, prompts_of
from innkeeper.taverns.silly.chat.room import REPLY_PRIMER, FilledRoom, NoRoomError, Room, is_empty, tool_tokens
from innkeeper.taverns.silly.chat.trimming import SillyTrimmingConfig
from innkeeper.taverns.silly.scene import scene_of
from innkeeper.taverns.silly.scratch import COMPILED, FILLED


def run(state: State, _config: NoConfig) -> None:
    """Fill the room, or all there is and cut it by the strategy of the step ``trimming``; resolve the greeting before."""
    config, scene = state.configs.get("trimming"), scene_of(state)
    strategy = config.cutting() if isinstance(config, SillyTrimmingConfig) else None
    budget = scene.inputs.context_tokens
    room = Room(UNBOUNDED if strategy else budget, scene.count, scene.counted_by)
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
        *history.rest(),
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
        room.left -= tool_tokens(state.tools, scene.count)
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
    total = sum(tokens) + REPLY_PRIMER
    if total > budget or strategy.caps:
        user = latest_user(blocks) if strategy.keeps_latest_user else None
        evicted = strategy.choose(units_of(blocks, tokens, () if user is None else (user,)), total, budget)
        room.evict({index for unit in evicted for index in unit.members})
    room.narrow(budget)
    if room.left < 0:
        raise NoRoomError(max(room.placed(), key=room.tokens), 0)


MACRO_EXPANSION: Final = Step("macro_expansion", run, NoConfig)
