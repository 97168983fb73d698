"""Step ``trimming``: what does not fit is refused, or warned of, and reported.

The `TrimReport` has a record for every block that stayed out, whether the prompt was filled as SillyTavern does it or cut by a
strategy of the budget (`macro_expansion`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from innkeeper.budget.report import EvictionReason, EvictionRecord, TrimReport, tell_report
from innkeeper.budget.settings import TRIMMED, StrategyChoice
from innkeeper.budget.strategies import Fill, Strategy
from innkeeper.prompt.block import Block
from innkeeper.prompt.errors import MaxTokensExceededError, UnknownNameError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.run.pipeline import Step, StepConfig
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.chat.room import Room
from innkeeper.taverns.silly.scene import scene_of
from innkeeper.taverns.silly.scratch import ASSEMBLED, FILLED

FILL: Final = Fill.name
"""The strategy's name in reports: SillyTavern fills prompts rather than trimming them (`sillytavern.md` 47, 69)."""


def report_trimming(
    state: State, plan: Plan, evicted: Iterable[int], *, budget: int, final: int, strategy: Strategy | None = None
) -> None:
    """Set the report: ``final`` tokens of ``budget`` are used, ``evicted`` those of the plan's disabled blocks."""
    reason, window = strategy.reason if strategy else EvictionReason.BUDGET_EXCEEDED, scene_of(state).inputs.max_context
    absent = [block for block in plan.blocks if not block.enabled]
    records = tuple(_record(block, tokens, reason) for block, tokens in zip(absent, evicted, strict=True))
    state.result.trim_report = TrimReport(
        strategy=strategy.name if strategy else FILL,
        budget_tokens=budget,
        max_tokens=window,
        reserve_tokens=max(window - budget, 0),
        initial_tokens=final + sum(record.token_count for record in records),
        final_tokens=final,
        filled_tokens=final,
        evictions=records,
        tokenizer=state.request.model,
    )
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
    """Refuse a prompt that lacks what has to be in it, or warn, and report. Leaves its configuration for what comes later."""
    state.scratch[TRIMMED] = config
    filled = state.scratch[FILLED]
    room, error = filled.room, filled.no_room
    if error is not None:
        message = f"fixed prompts exceed the context: {error.block.source} and what follows is left out"
        needed = room.budget - room.left + error.tokens
        refuse_or_warn(state, config, message, budget=room.budget, needed=needed)
    else:
        _check_message(state, room, config)
    plan, evicted = state.scratch[ASSEMBLED], map(room.tokens, room.omitted)
    report_trimming(state, plan, evicted, budget=room.budget, final=room.used, strategy=filled.strategy)


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


LEFT_OUT: Final = "the user's message does not fit and is left out"
MESSAGE_HINT: Final = "shorten it or the fixed prompts, raise the context window, or lower the reply length"


def _check_message(state: State, room: Room, config: SillyTrimmingConfig) -> None:
    """Refuse to leave out what the user says now, and say it of a message that others of the chat have pushed out."""
    scene = scene_of(state)
    newest = next((line for line in reversed(scene.lines) if line.is_user), None)
    left_out = [block for block in room.omitted if newest is not None and block.id == f"history-{newest.index}"]
    if not left_out:
        return
    if newest is not scene.lines[-1]:
        state.note(NoteKind.LIMIT, "the user's latest message does not fit: what was said after it fills the context")
        return
    needed = room.budget - room.left + sum(map(room.tokens, left_out))
    refuse_or_warn(state, config, LEFT_OUT, budget=room.budget, needed=needed, hint=MESSAGE_HINT)


TRIMMING: Final = Step("trimming", run, SillyTrimmingConfig)
