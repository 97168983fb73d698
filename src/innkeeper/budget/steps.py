"""The two budget steps: *trimming* cuts the plan to its window, *max_tokens* measures it and never trims.

(2-wave4-contracts, *Stage 9: Trimming*; tavernkit, *max_tokens*.)
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.budget.costing import COUNTED, Cost, Costing, CountedBlocks
from innkeeper.budget.fit import fit_blocks, notes_of
from innkeeper.budget.report import TrimReport, tell_report
from innkeeper.budget.settings import (
    TRIMMED,
    CountingConfig,
    Setting,
    StrategyChoice,
    check_tokens,
    resolved,
    tokens_setting,
)
from innkeeper.budget.trim import ON_OVERFLOW, TokenRoom
from innkeeper.prompt import MaxTokensExceededError, State, Step, UnknownNameError, UsageError


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
    room = room.besides(costing, state.tools, state.result.options)
    strategy = config.chosen(state)
    state.scratch[TRIMMED] = config
    result = fit_blocks(plan, strategy, costing, room, on_overflow=config.on_overflow, step=state.step)
    state.result.plan = plan.with_blocks(result.blocks)
    state.result.trim_report = result.report
    _tell(state, costing, result.report)
    state.result.notes.extend(notes_of(result, costing, state.step))


def _room(state: State, config: TrimmingConfig) -> TokenRoom | None:
    budget, window = tokens_setting("budget_tokens", config.budget_tokens, state), config.window(state)
    if budget is None and not window:
        return None
    return TokenRoom.of(window or None, config.reserve(state), budget)


def _tell(state: State, costing: Costing, report: TrimReport) -> None:
    if state.inputs.ports.instrumenter is None:
        return
    state.stat("token_estimator", dict(costing.counter.describe(costing.model)))
    tell_report(state, report)


TRIMMING: Final = Step("trimming", trim_state, TrimmingConfig)
"""Trims the plan to the window."""


MODES: Final = ("warn", "error", "off", "none")
"""The reaction above the limit: a warning (an error in strict mode), an error, or nothing."""


class MaxTokensConfig(CountingConfig, frozen=True, kw_only=True):
    """Options of *max_tokens*: those of `CountingConfig`, and ``mode``, one of `MODES`; no mode is ``off``."""

    mode: Setting = "warn"

    def __post_init__(self) -> None:
        """Refuse what could only fail in mid-build."""
        super().__post_init__()
        if not callable(self.mode):
            _mode(self.mode)


def _mode(value: Any) -> str:
    if value is None:
        return "off"
    if value not in MODES:
        raise UnknownNameError("mode", str(value), MODES)
    return str(value)


def _guard(state: State, config: MaxTokensConfig) -> None:
    window, mode = config.window(state), _mode(resolved(config.mode, state))
    if not window or mode in ("off", "none"):
        return
    reserve = config.reserve(state)
    limit = max(window - reserve, 0)
    total = _measured(state, config, limit)
    if total <= limit:
        return
    error = MaxTokensExceededError(estimated_tokens=total, max_tokens=window, reserve_tokens=reserve, step=state.step)
    if mode == "error":
        raise error
    state.warn(error.message, hint=error.hint, data={"estimated_tokens": total, "max_tokens": window})


def _measured(state: State, config: MaxTokensConfig, limit: int) -> int:
    """The tokens of the prompt. What *fit* counted is not counted again."""
    costing = config.costing(state)
    plan = state.result.plan
    blocks = [block for block in state.result.blocks if block.enabled] if plan is None else plan.sent_blocks()
    besides = TokenRoom.of(limit).besides(costing, state.tools, state.result.options).fixed_tokens
    fitted = state.scratch.get(COUNTED)
    known = fitted if isinstance(fitted, CountedBlocks) and fitted.counts(costing, blocks) else None
    if known is not None and state.inputs.ports.instrumenter is None:
        return known.tokens + besides
    costs = costing.costs(blocks) if known is None or known.costs is None else known.costs
    marks = 0 if known is None else known.tokens - sum(cost.total for cost in costs)
    overhead = sum(cost.overhead for cost in costs) + marks + besides
    whole = Cost(sum(cost.content for cost in costs), sum(cost.metadata for cost in costs), overhead)
    _send_stats(state, costing, whole, len(costs), limit)
    return whole.total


def _send_stats(state: State, costing: Costing, cost: Cost, messages: int, limit: int) -> None:
    """The stats of tavernkit §2.7."""
    if state.inputs.ports.instrumenter is None:
        return
    stats = {
        "token_estimator": dict(costing.counter.describe(costing.model)),
        "estimated_prompt_tokens": cost.total,
        "estimated_content_tokens": cost.content,
        "estimated_metadata_tokens": cost.metadata,
        "message_overhead_per_message_tokens": costing.message_overhead_tokens + costing.framing.per_message,
        "message_overhead_tokens": cost.overhead,
        "message_count": messages,
        "max_prompt_tokens": limit,
    }
    for key, value in stats.items():
        state.stat(key, value)


def _nothing(_state: State, _config: MaxTokensConfig) -> None: ...


MAX_TOKENS: Final = Step("max_tokens", _nothing, MaxTokensConfig, finish=_guard)
"""Warns, or raises, when the finished plan does not fit. Runs after all steps."""
