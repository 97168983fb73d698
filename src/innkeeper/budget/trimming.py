"""The step *trimming*: the plan cut to its window (2-wave4-contracts, *Stage 9: Trimming*)."""

from __future__ import annotations

from typing import Final

from innkeeper.budget.costing import Costing
from innkeeper.budget.fit import fit_blocks, notes_of
from innkeeper.budget.report import TrimReport
from innkeeper.budget.settings import CountingConfig, Setting, StrategyChoice, check_tokens, tokens_setting
from innkeeper.budget.trim import ON_OVERFLOW, Room
from innkeeper.prompt import (
    State,
    Step,
    UnknownNameError,
    UsageError,
)

__all__ = ["TRIMMING", "TrimmingConfig", "trim_state"]


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
    room = room.besides(costing, state.request.tools)
    result = fit_blocks(plan, config.chosen(state), costing, room, on_overflow=config.on_overflow, step=state.step)
    state.result.plan = plan.with_blocks(result.blocks)
    state.result.trim_report = result.report
    _tell(state, costing, result.report)
    state.result.notes.extend(notes_of(result, costing, state.step))


def _room(state: State, config: TrimmingConfig) -> Room | None:
    budget, window = tokens_setting("budget_tokens", config.budget_tokens, state), config.window(state)
    if budget is None and not window:
        return None
    return Room.of(window or None, config.reserve(state), budget)


def _tell(state: State, costing: Costing, report: TrimReport) -> None:
    if state.inputs.ports.instrumenter is None:
        return
    state.stat("token_estimator", dict(costing.counter.describe(costing.model)))
    for key in ("budget_tokens", "initial_tokens", "final_tokens", "eviction_count"):
        state.stat(key, getattr(report, key))


TRIMMING: Final = Step("trimming", trim_state, TrimmingConfig)
"""Trims the plan to the window."""
