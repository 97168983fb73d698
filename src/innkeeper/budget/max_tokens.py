"""The step *max_tokens*: a guard that measures the finished plan and never trims it (tavernkit §5.3)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from innkeeper.budget.costing import Costing
from innkeeper.budget.settings import CountingConfig, Setting, resolved
from innkeeper.prompt import MaxTokensExceededError, State, Step, UnknownNameError
from innkeeper.tokens.tools import count_tools

__all__ = ["MAX_TOKENS", "MaxTokensConfig"]

MODES: Final = ("warn", "error", "off", "none")
"""What happens over the limit: a warning (an error in strict mode), an error, or nothing."""


class MaxTokensConfig(CountingConfig, frozen=True, kw_only=True):
    """Options of *max_tokens*: those of `CountingConfig`, and ``mode``, one of `MODES`; none is ``off``."""

    mode: Setting = "warn"

    def __post_init__(self) -> None:
        """Refuse what could only fail in mid-build."""
        super().__post_init__()
        if not callable(self.mode):
            _mode(self.mode)


class _Measure(NamedTuple):
    content: int
    metadata: int
    overhead: int
    messages: int

    @property
    def total(self) -> int:
        return self.content + self.metadata + self.overhead


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
    measure = _measured(state, config, limit)
    if measure.total <= limit:
        return
    error = MaxTokensExceededError(
        estimated_tokens=measure.total, max_tokens=window, reserve_tokens=reserve, step=state.step
    )
    if mode == "error":
        raise error
    state.warn(error.message, hint=error.hint, data={"estimated_tokens": measure.total, "max_tokens": window})


def _measured(state: State, config: MaxTokensConfig, limit: int) -> _Measure:
    costing = config.costing(state)
    plan = state.result.plan
    blocks = [block for block in state.result.blocks if block.enabled] if plan is None else plan.sent_blocks()
    costs = costing.costs(blocks)
    tools = count_tools(state.request.tools, costing.whole_counter, costing.model, costing.framing.name).tokens
    overhead = sum(cost.overhead for cost in costs) + costing.framing.reply + tools
    measure = _Measure(sum(c.content for c in costs), sum(c.metadata for c in costs), overhead, len(costs))
    _tell(state, costing, measure, limit)
    return measure


def _tell(state: State, costing: Costing, measure: _Measure, limit: int) -> None:
    """The stats of tavernkit §2.7."""
    if state.inputs.ports.instrumenter is None:
        return
    stats = {
        "token_estimator": dict(costing.counter.describe(costing.model)),
        "estimated_prompt_tokens": measure.total,
        "estimated_content_tokens": measure.content,
        "estimated_metadata_tokens": measure.metadata,
        "message_overhead_per_message_tokens": costing.message_overhead_tokens + costing.framing.per_message,
        "message_overhead_tokens": measure.overhead,
        "message_count": measure.messages,
        "max_prompt_tokens": limit,
    }
    for key, value in stats.items():
        state.stat(key, value)


def _nothing(_state: State, _config: MaxTokensConfig) -> None: ...


MAX_TOKENS: Final = Step("max_tokens", _nothing, MaxTokensConfig, finish=_guard)
"""Warns, or raises, when the finished plan does not fit. Runs after all steps."""
