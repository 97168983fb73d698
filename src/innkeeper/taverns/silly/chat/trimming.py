"""Step ``trimming``: fill the prompt within the budget, record what stays out, squash, and make the plan.

By default the prompt is filled as SillyTavern does it (`sillytavern.md` 47, 69). A strategy of the budget can cut a
full prompt instead; the stepped one keeps a provider's prefix cache warm, since the oldest message moves once in many
turns. Either way the `TrimReport` has a record for every block that stayed out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

import msgspec

from innkeeper.budget.report import EvictionReason, EvictionRecord, TrimReport
from innkeeper.budget.settings import StrategyChoice
from innkeeper.budget.steps import tell_report
from innkeeper.budget.strategies import Fill, Strategy
from innkeeper.budget.strategies.strategy import latest_user, units_of
from innkeeper.prompt.block import Block
from innkeeper.prompt.errors import MaxTokensExceededError, UnknownNameError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.run.pipeline import Step, StepConfig, run_step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.chat.compilation import Compiled, headed
from innkeeper.taverns.silly.chat.macro_expansion import History
from innkeeper.taverns.silly.chat.plan_assembly import FRAME, Assembly, Opened, opened_history
from innkeeper.taverns.silly.chat.prompts import FIXED_FIRST, prompts_of
from innkeeper.taverns.silly.chat.room import REPLY_PRIMER, NoRoomError, Room, is_empty, tool_tokens
from innkeeper.taverns.silly.expansion import LINE_BREAK
from innkeeper.taverns.silly.injection import Injections
from innkeeper.taverns.silly.lore import Carry
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.stored import stored_by

FILL: Final = Fill.name
"""The strategy's name in reports: SillyTavern fills prompts rather than trimming them (`sillytavern.md` 47, 69)."""


def finish_plan(
    state: State,
    blocks: Iterable[Block],
    *,
    budget: int,
    window: int,
    final: int,
    evicted: Iterable[int],
    strategy: Strategy | None = None,
) -> None:
    """Set the plan, what it leaves to the next build, and its report.

    ``final`` tokens of ``budget`` are used; ``evicted`` are those of the disabled blocks.
    """
    injections: Injections = state.made_by("injection")
    timed = state.result.lore.state if state.result.lore is not None else None
    generation = scene_of(state).expand.env.generation
    state.result.carry = Carry(timed, injections.carried, generation).to_dict()
    reason = strategy.reason if strategy else EvictionReason.BUDGET_EXCEEDED
    plan = Plan(blocks=tuple(blocks))
    absent = [block for block in plan.blocks if not block.enabled]
    records = tuple(_record(block, tokens, reason) for block, tokens in zip(absent, evicted, strict=True))
    state.result.plan = plan
    state.result.stored = stored_by(state, scene_of(state), plan)
    state.result.trim_report = TrimReport(
        strategy=strategy.name if strategy else FILL,
        budget_tokens=budget,
        max_tokens=window,
        reserve_tokens=max(window - budget, 0),
        initial_tokens=final + sum(record.token_count for record in records),
        final_tokens=final,
        evictions=records,
        tokenizer=state.request.model,
    )
    state.stat("plan_blocks", len(plan.blocks))
    tell_report(state, state.result.trim_report)


def _record(block: Block, tokens: int, reason: str) -> EvictionRecord:
    return EvictionRecord(
        block_id=block.id,
        slot=block.slot,
        token_count=tokens,
        reason=_reason(block.bundle) or reason,
        budget_group=block.group,
        source=block.source,
        bundle=block.bundle,
    )


def _reason(bundle: str | None) -> EvictionReason | None:
    if bundle is None:
        return None
    return EvictionReason.TOOL_PAIR if bundle.startswith("tools:") else EvictionReason.GROUP_OVERFLOW


ON_OVERFLOW: Final = ("error", "warn")
"""What happens when fixed parts do not fit."""


class SillyTrimmingConfig(StepConfig, StrategyChoice, frozen=True, kw_only=True):
    """How a prompt gets into its window.

    ``strategy`` is ``fill``, which is SillyTavern's way, or another of `innkeeper.budget.STRATEGIES`, which chat prompts may
    ask for instead. ``on_overflow`` is what to do when fixed parts do not fit: ``error``, or with ``fill`` also ``warn`` and
    keep what was placed.
    """

    on_overflow: str = "error"
    strategy: str = FILL
    step_tokens: int | None = None
    step_messages: int | None = None
    history_tokens: int | None = None

    def __post_init__(self) -> None:
        """Refuse what could only fail in mid-build."""
        if self.on_overflow not in ON_OVERFLOW:
            raise UnknownNameError("on_overflow", self.on_overflow, ON_OVERFLOW)
        self.cutting()

    def cutting(self) -> Strategy | None:
        """The strategy that cuts a full prompt; ``None`` where it is filled."""
        return None if self.strategy == FILL else self.chosen()


def run(state: State, config: SillyTrimmingConfig) -> None:
    """Fill and finish. Leaves its configuration for what comes later."""
    scene = scene_of(state)
    state.scratch["trimming"] = config
    strategy, budget = config.cutting(), scene.inputs.context_tokens
    room = Room(UNBOUNDED if strategy else budget, scene.count, scene.counted_by)
    try:
        _fill(state, scene, room)
        if strategy is not None:
            cut(room, strategy, budget)
    except NoRoomError as error:
        source = error.block.source
        refuse_or_warn(
            state,
            config,
            f"fixed prompts exceed the context: {source} and what follows is left out",
            budget=room.budget,
            needed=room.budget - room.left + error.tokens,
        )
        room.omit(_unplaced(state, room))
    else:
        _check_message(state, scene, room, config)
    _finish(state, scene, room, strategy)


def refuse_or_warn(
    state: State, config: SillyTrimmingConfig, message: str, *, budget: int, needed: int, hint: str | None = None
) -> None:
    """Raise `MaxTokensExceededError`, or warn where the configuration says so. Only a filled prompt can be sent all the same."""
    if config.on_overflow == "warn" and (config.strategy == FILL or scene_of(state).inputs.is_text):
        state.warn(message, kind=NoteKind.LIMIT, hint=hint, data={"needed": needed, "budget": budget})
        return
    window = scene_of(state).inputs.max_context
    hints = {"hint": f"{message}: {hint}"} if hint else {}
    raise MaxTokensExceededError(
        estimated_tokens=needed, max_tokens=window, reserve_tokens=max(window - budget, 0), step="trimming", **hints
    )


def _unplaced(state: State, room: Room) -> list[Block]:
    """What is not in the prompt after the filling stopped, and not recorded yet."""
    compiled: Compiled = state.made_by("compilation")
    assembly: Assembly = state.made_by("plan_assembly")
    opened = opened_history(state, expand=False)
    continued = (*assembly.prefilled, *opened.continued, opened.continue_nudge)
    frame = (assembly.bias, opened.new_chat, assembly.nudge, *continued, *assembly.control)
    blocks = [
        *(fixed.block for fixed in compiled.fixed),
        *(block for example in compiled.examples for block in example),
        *(block for block in frame if block is not None),
        *state.made_by("macro_expansion").rest(),
    ]
    known = set(map(id, (*room.placed(), *room.omitted)))
    return [block for block in blocks if id(block) not in known and not is_empty(block)]


LEFT_OUT: Final = "the user's message does not fit and is left out"
MESSAGE_HINT: Final = "shorten it or the fixed prompts, raise the context window, or lower the reply length"


def _check_message(state: State, scene: Scene, room: Room, config: SillyTrimmingConfig) -> None:
    """Refuse to leave out what the user says now, and say it of a message that others of the chat have pushed out."""
    newest = next((line for line in reversed(scene.lines) if line.is_user), None)
    left_out = [block for block in room.omitted if newest is not None and block.id == f"history-{newest.index}"]
    if not left_out:
        return
    if newest is not scene.lines[-1]:
        state.note(NoteKind.LIMIT, "the user's latest message does not fit: what was said after it fills the context")
        return
    needed = room.budget - room.left + sum(map(room.tokens, left_out))
    refuse_or_warn(state, config, LEFT_OUT, budget=room.budget, needed=needed, hint=MESSAGE_HINT)


def _fill(state: State, scene: Scene, room: Room) -> None:
    compiled: Compiled = state.made_by("compilation")
    assembly: Assembly = state.made_by("plan_assembly")
    for slot in compiled.slots:
        room.open(slot)
    first = [fixed for fixed in compiled.fixed if fixed.block.slot in FIXED_FIRST and not fixed.first]
    for fixed in first:
        room.put(fixed.block)
    last = [(block, room.reserve(block)) for block in assembly.control]
    for fixed in compiled.fixed:
        if fixed not in first:
            room.put(fixed.block, 0 if fixed.first else None)
    if assembly.bias is not None:
        room.put(assembly.bias)
    last += [(block, room.reserve(block)) for block in reversed(assembly.prefilled)]
    if scene.inputs.power.pin_examples:
        scene.order.follow({"pinned_examples": lambda: _examples(state, room, compiled)})
        _history(state, room, assembly)
    else:
        _history(state, room, assembly)
        scene.order.follow({"examples": lambda: _examples(state, room, compiled)})
    for block, tokens in last:
        room.release(tokens)
        room.put(block)


def _history(state: State, room: Room, assembly: Assembly) -> None:
    history: History = state.made_by("macro_expansion")
    if not _is_on(state, "chatHistory"):
        state.note(
            NoteKind.IGNORED, "the preset has no place for the chat's history: it is left out with what is in it"
        )
        return
    scene = scene_of(state)
    if scene.inputs.offers_tools:  # a request without tools costs what an empty list does
        room.left -= tool_tokens(state.tools, scene.count)
    frames: list[Opened] = []
    run_step(state, "plan_assembly", lambda: frames.append(opened_history(state)))
    opened = frames[0]
    frame = [block for block in (opened.new_chat, assembly.nudge, opened.continue_nudge) if block is not None]
    reserved, tail = room.reserve(*frame), room.reserve(*opened.continued)
    fill = {"history": lambda: history.fill(room)}
    run_step(state, "macro_expansion", lambda: scene.order.follow(fill))
    room.release(reserved)
    room.put(opened.new_chat, 0)
    if assembly.nudge is not None:
        room.put(assembly.nudge)
    room.release(tail)
    if opened.continue_nudge is not None:
        _continue(state, room, opened, opened.continue_nudge)


def _continue(state: State, room: Room, opened: Opened, nudge: Block) -> None:
    """The message to go on with and the nudge, behind what is placed so far; the examples may take that very place."""
    compiled: Compiled = state.made_by("compilation")
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


def _finish(state: State, scene: Scene, room: Room, strategy: Strategy | None) -> None:
    placed = room.placed()
    if scene.inputs.preset.squash_system_messages and not scene.inputs.generation.dry_run:
        placed = _squashed(state, placed)
    sent = [block for block in placed if block.content or not is_empty(block)]
    finish_plan(
        state,
        (*sent, *(msgspec.structs.replace(block, enabled=False) for block in room.omitted)),
        budget=room.budget,
        window=scene.inputs.max_context,
        final=room.used(),
        evicted=[room.tokens(block) for block in room.omitted],
        strategy=strategy,
    )


def _squashed(state: State, placed: list[Block]) -> list[Block]:
    """Neighbouring system messages as one; separators, examples and named messages stay apart, others are between them."""
    vanish = scene_of(state).inputs.compat.squashed_media_vanish
    squashed: list[Block] = []
    for block in placed:
        if block.role == "system" and is_empty(block):
            continue
        last = squashed[-1] if squashed else None
        if last is not None and _joins(last) and _joins(block):
            if last.attachments or block.attachments:
                if not vanish:
                    squashed.append(block)
                    continue
                last, block = _without_media(state, last), _without_media(state, block)  # noqa: PLW2901 - as text
            pieces = (*last.ranges(), LINE_BREAK, *block.ranges())
            squashed[-1] = last.with_(content=f"{last.content}\n{block.content}", pieces=pieces)
        else:
            squashed.append(block)
    return squashed


def _without_media(state: State, block: Block) -> Block:
    """A message with media as the text that SillyTavern makes of its parts (quirk ``squashed_media_vanish``)."""
    if not block.attachments:
        return block
    message = "a system message with media is joined with its neighbour: text and media are lost, as in SillyTavern"
    hint = "turn squash_system_messages off, or use the profile `fixed`"
    state.note(NoteKind.QUIRK, message, data={"block": block.id}, hint=hint)
    parts = [item for item in block.attachments if item.data_url]
    text = ",".join(["[object Object]"] * (1 + len(parts)))
    return block.with_(content=text, attachments=())


def _joins(block: Block) -> bool:
    apart = block.group == "examples" or (block.slot == "chatHistory" and block.source in FRAME)
    return block.role == "system" and not (block.name or block.message_metadata or apart)


TRIMMING: Final = Step("trimming", run, SillyTrimmingConfig)


UNBOUNDED: Final = sys.maxsize
"""The tokens of a room that everything fits into."""


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
