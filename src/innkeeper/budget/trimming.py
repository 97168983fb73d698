"""The step *trimming*: the plan cut to its window (2-wave4-contracts, *Stage 9: Trimming*)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.budget.costing import Costing
from innkeeper.budget.report import EvictionRecord, TrimReport, TrimResult
from innkeeper.budget.settings import CountingConfig, Setting, StrategyChoice, check_tokens, tokens_setting
from innkeeper.budget.strategies import Strategy
from innkeeper.budget.trim import ON_OVERFLOW, Room, trim_blocks
from innkeeper.prompt import (
    Block,
    FrozenDict,
    MaxTokensExceededError,
    NoteKind,
    Plan,
    State,
    Step,
    UnknownNameError,
    UsageError,
)
from innkeeper.tokens.tools import count_tools

__all__ = ["TRIMMING", "TrimmingConfig", "trim_state"]

_ROUNDS: Final = 4
"""How often a plan is trimmed again because its joined messages cost more than its blocks did."""


class TrimmingConfig(CountingConfig, StrategyChoice, frozen=True, kw_only=True):
    """Options of *trimming*: those of `CountingConfig` and `StrategyChoice`.

    ``budget_tokens`` replaces window less reserve. ``on_overflow`` is what happens when what may not be evicted does not fit:
    ``error``, or ``return`` for the best effort.
    """

    strategy: Setting = "group_order"
    step_tokens: int | None = None
    step_messages: int | None = None
    history_tokens: int | None = None
    budget_tokens: Setting = None
    on_overflow: str = "error"

    def __post_init__(self) -> None:
        """Refuse what could only fail in mid-build."""
        super().__post_init__()
        if not callable(self.strategy):
            self.chosen()
        check_tokens("budget_tokens", self.budget_tokens)
        if self.on_overflow not in ON_OVERFLOW:
            raise UnknownNameError("on_overflow", self.on_overflow, ON_OVERFLOW)


def trim_state(state: State, config: TrimmingConfig) -> None:
    """Trim the plan of ``state``; set its ``trim_report``, note what was evicted, send the numbers to the instrumenter.

    Call it again after something else has added blocks. Does nothing where no window is known.

    Raises:
        UsageError: there is no plan yet.
        MaxTokensExceededError: what may not be evicted does not fit.
    """
    plan = state.result.plan
    if plan is None:
        raise UsageError("there is no plan to trim", hint="put trimming after the step that makes the plan")
    room = _room(state, config)
    if room is None:
        return
    costing = config.costing(state)
    tools = count_tools(state.request.tools, costing.whole_counter, costing.model, costing.framing.name)
    room = msgspec.structs.replace(room, fixed_tokens=costing.framing.reply + tools.tokens)
    result = _trimmed(plan, config.chosen(state), costing, room, config, state.step)
    state.result.plan = plan.with_blocks(result.blocks)
    state.result.trim_report = result.report
    _tell(state, costing, result.report)
    _note(state, costing, result)


def _room(state: State, config: TrimmingConfig) -> Room | None:
    budget, window = tokens_setting("budget_tokens", config.budget_tokens, state), config.window(state)
    if budget is None and not window:
        return None
    return Room.of(window or None, config.reserve(state), budget)


def _trimmed(
    plan: Plan, strategy: Strategy, costing: Costing, room: Room, config: TrimmingConfig, step: str | None
) -> TrimResult:
    """Trim, count the messages as they are sent, and trim by the difference where joining made them dearer."""
    aim, on_overflow = room, config.on_overflow
    for _ in range(_ROUNDS):
        result = trim_blocks(plan.blocks, strategy, costing, aim, on_overflow=on_overflow, step=step)
        sent = _sent_tokens(plan, result.blocks, costing, room)
        report = msgspec.structs.replace(
            result.report, budget_tokens=room.budget_tokens, sent_tokens=sent, max_tokens=room.max_tokens
        )
        result = msgspec.structs.replace(result, report=report)
        over = (sent or 0) - room.budget_tokens
        if over <= 0:
            return result
        on_overflow = "return"
        aim = msgspec.structs.replace(aim, budget_tokens=max(min(aim.budget_tokens, report.final_tokens) - over, 0))
    return _last_resort(result, config, step)


def _last_resort(result: TrimResult, config: TrimmingConfig, step: str | None) -> TrimResult:
    if config.on_overflow == "return":
        return result
    report = result.report
    raise MaxTokensExceededError(
        estimated_tokens=report.sent_tokens or report.final_tokens,
        max_tokens=report.budget_tokens + report.reserve_tokens if report.max_tokens is None else report.max_tokens,
        reserve_tokens=report.reserve_tokens,
        step=step,
    )


def _sent_tokens(plan: Plan, blocks: tuple[Block, ...], costing: Costing, room: Room) -> int | None:
    """The tokens of the messages that are sent; ``None`` where no blocks are joined and the sum over blocks is right."""
    sent = plan.with_blocks(blocks).sent_blocks()
    if len(sent) == sum(block.enabled for block in blocks):
        return None
    return sum(cost.total for cost in costing.costs(sent)) + room.fixed_tokens


def _tell(state: State, costing: Costing, report: TrimReport) -> None:
    if state.inputs.ports.instrumenter is None:
        return
    state.stat("token_estimator", dict(costing.counter.describe(costing.model)))
    for key in ("budget_tokens", "initial_tokens", "final_tokens", "eviction_count"):
        state.stat(key, getattr(report, key))


def _note(state: State, costing: Costing, result: TrimResult) -> None:
    report = result.report
    for group, records in _by_group(report.evictions).items():
        tokens = sum(record.token_count for record in records)
        state.note(
            NoteKind.EVICTED,
            f"{len(records)} of {group} ({tokens:,} tokens) left out: {report.initial_tokens:,} tokens did not fit into "
            f"{report.budget_tokens:,}",
            data={"group": group, "blocks": len(records), "tokens": tokens, "strategy": report.strategy},
        )
    facts = costing.counter.describe(costing.model)
    if facts.get("exact") is not True:
        known = {key: facts.get(key) for key in ("tokenizer", "error_percent")}
        state.note(NoteKind.ESTIMATE, _estimated(facts), data=FrozenDict(known))
    media = sum(len(block.attachments) for block in result.kept)
    if media and not costing.attachment_tokens:
        message = f"{media} attachments are not counted: set attachment_tokens to what the provider takes for one"
        state.note(NoteKind.ESTIMATE, message, data={"attachments": media})


def _estimated(facts: Mapping[str, Any]) -> str:
    error = facts.get("error_percent")
    margin = "" if error is None else f", ± {error:g} %"
    return f"tokens are estimated ({facts.get('tokenizer') or 'unknown tokenizer'}{margin})"


def _by_group(records: tuple[EvictionRecord, ...]) -> dict[str, list[EvictionRecord]]:
    groups: dict[str, list[EvictionRecord]] = {}
    for record in records:
        groups.setdefault(str(record.budget_group), []).append(record)
    return groups


TRIMMING: Final = Step("trimming", trim_state, TrimmingConfig)
"""Trims the plan to the window."""
