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
from innkeeper.budget.strategies import Fill, Strategy
from innkeeper.budget.unit import latest_user, units_of
from innkeeper.prompt.block import Block
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.state import State
from innkeeper.prompt.step import Step, StepConfig
from innkeeper.taverns.silly.compilation import Compiled
from innkeeper.taverns.silly.injection import Injections
from innkeeper.taverns.silly.lore import Carry
from innkeeper.taverns.silly.macro_expansion import History
from innkeeper.taverns.silly.plan_assembly import Assembly
from innkeeper.taverns.silly.prompts import FIXED_FIRST, prompts_of
from innkeeper.taverns.silly.room import REPLY_PRIMER, Draft, NoRoomError, Room, block_of, tool_tokens
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["FILL", "TRIMMING", "UNBOUNDED", "SillyTrimmingConfig", "cut", "finish_plan"]

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
    """Set the plan and its report: ``final`` tokens of ``budget`` are used; ``evicted`` are those of the disabled blocks."""
    reason = strategy.reason if strategy else EvictionReason.BUDGET_EXCEEDED
    plan = Plan(blocks=tuple(blocks))
    absent = [block for block in plan.blocks if not block.enabled]
    records = tuple(_record(block, tokens, reason) for block, tokens in zip(absent, evicted, strict=True))
    state.result.plan = plan
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
    state.stat("evictions", len(records))


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
    """Fill and finish."""
    scene = scene_of(state)
    strategy, budget = config.cutting(), scene.inputs.context_tokens
    room = Room(UNBOUNDED if strategy else budget, scene.count, scene.counted_by)
    try:
        _fill(state, scene, room)
        if strategy is not None:
            cut(room, strategy, budget)
    except NoRoomError as error:
        _overflow(state, room, error, config)
    _finish(state, scene, room, strategy)


def _fill(state: State, scene: Scene, room: Room) -> None:
    compiled: Compiled = state.made_by("compilation")
    assembly: Assembly = state.made_by("plan_assembly")
    for slot in compiled.slots:
        room.open(slot)
    first = [fixed for fixed in compiled.fixed if fixed.slot in FIXED_FIRST and not fixed.first]
    for fixed in first:
        room.put(fixed.slot, fixed.draft)
    control = [(draft, room.reserve(draft)) for draft in assembly.control]
    for fixed in compiled.fixed:
        if fixed not in first:
            room.put(fixed.slot, fixed.draft, 0 if fixed.first else None)
    if assembly.bias is not None:
        room.put("bias", assembly.bias)
    prefill = assembly.continued if assembly.prefilled else ()
    control += [(draft, room.reserve(draft)) for draft in reversed(prefill)]
    if scene.inputs.power.pin_examples:
        _examples(state, room, compiled)
        _history(state, room, assembly)
    else:
        _history(state, room, assembly)
        _examples(state, room, compiled)
    for draft, tokens in control:
        room.release(tokens)
        room.put("continue" if draft in assembly.continued else "control", draft)


def _history(state: State, room: Room, assembly: Assembly) -> None:
    history: History = state.made_by("macro_expansion")
    if not _is_on(state, "chatHistory"):
        state.note(
            NoteKind.IGNORED, "the preset has no place for the chat's history: it is left out with what is in it"
        )
        return
    slot, scene = "chatHistory", scene_of(state)
    if scene.inputs.calls_tools:
        room.left -= tool_tokens(state.request.tools, scene.count)
    frame = [draft for draft in (assembly.new_chat, assembly.nudge, assembly.continue_nudge) if draft is not None]
    reserved = room.reserve(*frame)
    tail = room.reserve(*(() if assembly.prefilled else assembly.continued))
    _walk(room, slot, history)
    room.release(reserved)
    room.put(slot, assembly.new_chat, 0)
    if assembly.nudge is not None:
        room.put(slot, assembly.nudge)
    room.release(tail)
    if assembly.continue_nudge is not None:
        _continue(state, room, assembly, assembly.continue_nudge)


def _continue(state: State, room: Room, assembly: Assembly, nudge: Draft) -> None:
    """The message to go on with and the nudge, behind what is placed so far; the examples may take that very place."""
    compiled: Compiled = state.made_by("compilation")
    slots = [slot for slot in compiled.slots if slot == "main" or _is_on(state, slot)]
    taken = {fixed.slot for fixed in compiled.fixed} | {"chatHistory"}
    if scene_of(state).inputs.power.pin_examples:
        taken.add("dialogueExamples")
    place = 1 + max(index for index, slot in enumerate(slots) if slot in taken)
    if slots[place : place + 1] == ["dialogueExamples"] and _is_on(state, "dialogueExamples"):
        message = "the message to continue and its nudge are left out, as in SillyTavern: the examples take their place"
        state.note(NoteKind.QUIRK, message, hint="put the examples before the chat history, or a prompt behind them")
        return
    room.place("continue", slots[place] if place < len(slots) else "")
    for draft in reversed(assembly.continued):
        room.put("continue", draft)
    room.put("continue", nudge)


def _walk(room: Room, slot: str, history: History) -> None:
    """From the newest message on, until the first that does not fit."""
    taken: list[Draft] = []
    for unit in history.units:
        if not room.take(unit):
            room.omit(slot, history.rest())
            break
        taken += unit
    room.open(slot)[:0] = reversed(taken)


def _is_on(state: State, slot: str) -> bool:
    prompt = prompts_of(state).get(slot)
    return prompt is not None and prompt.on


def _examples(state: State, room: Room, compiled: Compiled) -> None:
    if not _is_on(state, "dialogueExamples"):
        return
    for place, block in enumerate(compiled.examples):
        if not room.fits(*block):
            room.omit("dialogueExamples", [draft for rest in compiled.examples[place:] for draft in rest])
            return
        for draft in block:
            room.put("dialogueExamples", draft)


def _overflow(state: State, room: Room, error: NoRoomError, config: SillyTrimmingConfig) -> None:
    from innkeeper.prompt.errors import MaxTokensExceededError

    scene = scene_of(state)
    window = scene.inputs.max_context
    reserve = max(window - scene.inputs.context_tokens, 0)
    needed = room.budget - room.left + error.tokens
    if config.on_overflow == "error" or config.strategy != FILL:
        raise MaxTokensExceededError(
            estimated_tokens=needed, max_tokens=window, reserve_tokens=reserve, step="trimming"
        ) from error
    state.warn(
        f"fixed prompts exceed the context: {error.draft.source} and what follows is left out",
        kind=NoteKind.LIMIT,
        data={"needed": needed, "budget": room.budget},
    )


def _finish(state: State, scene: Scene, room: Room, strategy: Strategy | None) -> None:
    placed = room.placed()
    if scene.inputs.preset.squash_system_messages and not scene.inputs.generation.dry_run:
        placed = _squashed(placed)
    blocks = [
        *(block_of(slot, draft) for slot, draft in placed),
        *(block_of(s, d, enabled=False) for s, d in room.omitted),
    ]
    injections: Injections = state.made_by("injection")
    timed = state.result.lore.state if state.result.lore is not None else None
    state.result.carry = Carry(timed, injections.carried).to_dict()
    finish_plan(
        state,
        blocks,
        budget=room.budget,
        window=scene.inputs.max_context,
        final=room.used(),
        evicted=[room.tokens(draft) for _, draft in room.omitted],
        strategy=strategy,
    )


def _squashed(placed: list[tuple[str, Draft]]) -> list[tuple[str, Draft]]:
    """Neighbouring system messages as one; separators, examples and named messages stay apart."""
    squashed: list[tuple[str, Draft]] = []
    for slot, draft in placed:
        if draft.role == "system" and not draft.content and not draft.metadata:
            continue
        last = squashed[-1][1] if squashed else None
        if last is not None and _joins(last) and _joins(draft):
            joined = msgspec.structs.replace(last, content=f"{last.content}\n{draft.content}")
            squashed[-1] = (squashed[-1][0], joined)
        else:
            squashed.append((slot, draft))
    return squashed


def _joins(draft: Draft) -> bool:
    return draft.role == "system" and not draft.name and not draft.apart and not draft.metadata


TRIMMING: Final = Step("trimming", run, SillyTrimmingConfig)


UNBOUNDED: Final = sys.maxsize
"""The tokens of a room that everything fits into."""


def cut(room: Room, strategy: Strategy, budget: int) -> None:
    """Take out of a full room what the strategy evicts. Raises `NoRoomError` when what may not go exceeds ``budget``."""
    placed = room.placed()
    blocks = [block_of(slot, draft) for slot, draft in placed]
    tokens = [room.tokens(draft) for _, draft in placed]
    total = sum(tokens) + REPLY_PRIMER
    if total > budget or strategy.caps:
        user = latest_user(blocks) if strategy.keeps_latest_user else None
        gone = strategy.choose(units_of(blocks, tokens, () if user is None else (user,)), total, budget)
        room.evict({index for unit in gone for index in unit.members})
    room.narrow(budget)
    if room.left < 0:
        _, largest = max(room.placed(), key=lambda item: room.tokens(item[1]))
        raise NoRoomError(largest, 0)
