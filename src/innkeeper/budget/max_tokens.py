"""The step *max_tokens*: a guard that measures the finished plan and never trims it (tavernkit §5.3)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from innkeeper.budget.costing import Costing
from innkeeper.budget.errors import whole
from innkeeper.budget.settings import (
    Setting,
    check_settings,
    counter_for,
    framing_for,
    model_for,
    resolved,
    tokens_setting,
)
from innkeeper.prompt import MaxTokensExceededError, State, Step, StepConfig, UnknownNameError
from innkeeper.tokens.framing import FRAMINGS
from innkeeper.tokens.tools import count_tools

__all__ = ["MAX_TOKENS", "MaxTokensConfig"]

MODES: Final = ("warn", "error", "off", "none")
"""What happens over the limit: a warning (an error in strict mode), an error, or nothing."""


class MaxTokensConfig(StepConfig, frozen=True, kw_only=True):
    """Options of *max_tokens*. Each of them may be a function of the state.

    ``max_tokens`` is the window (default: the request's ``context_window``; 0 or none: no guard), ``reserve_tokens`` the reply's
    share (default: the request's ``reserved_tokens``). ``mode`` is one of `MODES`; none is ``off``.
    """

    max_tokens: Setting = None
    reserve_tokens: Setting = None
    mode: Setting = "warn"
    token_estimator: Any = None
    model_hint: Setting = None
    framing: Setting = None
    message_overhead_tokens: Setting = 0
    include_message_metadata_tokens: Setting = False

    def __post_init__(self) -> None:
        """Refuse what could only fail in mid-build."""
        check_settings(self, "max_tokens", "reserve_tokens", "message_overhead_tokens")
        if not callable(self.mode):
            _mode(self.mode)
        if isinstance(self.framing, str) and self.framing not in FRAMINGS:
            raise UnknownNameError("framing", self.framing, FRAMINGS)


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
    request = state.request
    window = tokens_setting("max_tokens", config.max_tokens, state)
    window = whole("context_window", request.context_window or 0) if window is None else window
    mode = _mode(resolved(config.mode, state))
    if not window or mode in ("off", "none"):
        return
    reserve = tokens_setting("reserve_tokens", config.reserve_tokens, state)
    reserve = whole("reserved_tokens", request.reserved_tokens) if reserve is None else reserve
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
    costing = Costing(
        counter=counter_for(state, config.token_estimator),
        model=model_for(state, config.model_hint),
        framing=framing_for(state, config.framing),
        message_overhead_tokens=tokens_setting("message_overhead_tokens", config.message_overhead_tokens, state) or 0,
        include_message_metadata_tokens=bool(resolved(config.include_message_metadata_tokens, state)),
    )
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
