"""TaskAnswer: the answer of a task, with its route, reasons, tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import msgspec

from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.trace import RouteTrace
from innkeeper.library.models.facts import NegativePrompt
from innkeeper.library.prepare.request import PreparedPrompt, resolution_facts, tier_facts
from innkeeper.library.tier import Tier
from innkeeper.prompt.data import EMPTY, FrozenDict


class TokenCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of the prompt, the answer, and the target's limit (``budget``); None if unknown.

    ``reserved`` is the part of the budget for later additions, ``window`` the context window of the model that answered.
    """

    input: int = 0
    output: int | None = None
    budget: int | None = None
    reserved: Mapping[str, int] = EMPTY
    window: int | None = None


class TaskOutcome(TypedDict, total=False):
    """How an answer came about: the common part of all task replies."""

    request_id: str
    degraded: bool
    reasons: list[str]
    execution: Literal["model", "rules", "none"]
    resolution: dict[str, Any]
    tier: dict[str, Any]
    tokens: dict[str, Any]
    route_trace: dict[str, Any] | None
    usage: dict[str, Any]
    cost_usd: float | None
    latency_ms: dict[str, Any]


class TaskAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a task.

    ``text`` is the final text; a refusal is verbatim, and ``finish_reason`` is ``refusal`` then. ``execution`` is ``model``,
    ``rules``, or ``none`` for an unchanged text. ``traces`` has one entry per request to a model. ``cost_usd`` is None without a
    known price; ``cost_source`` is ``provider``, ``catalogue``, or ``estimate`` if the provider reports no usage. ``details``
    are the task's own fields.
    """

    text: str
    prepared: PreparedPrompt
    finish_reason: str = "stop"
    execution: str = "model"
    traces: tuple[RouteTrace, ...] = ()
    usage: Usage = Usage()
    tokens: TokenCounts = TokenCounts()
    cost_usd: float | None = None
    cost_source: str = ""
    model: str = ""
    provider: str = ""
    deployment: str = ""
    reasons: tuple[str, ...] = ()
    latency_ms: Mapping[str, float] = EMPTY
    details: FrozenDict = EMPTY

    @property
    def request_id(self) -> str:
        """The number of the request."""
        return self.prepared.request_id

    @property
    def refused(self) -> bool:
        """Whether the model or its provider refused."""
        return self.finish_reason in REFUSALS

    @property
    def degraded(self) -> bool:
        """Whether the answer is degraded."""
        return bool(self.reasons)

    @property
    def tier(self) -> Tier:
        """The tier of the answer."""
        return self.prepared.tier.effective

    @property
    def negative(self) -> NegativePrompt | None:
        """The negative prompt for the target, if it takes one."""
        return self.prepared.negative

    @property
    def route_trace(self) -> dict[str, Any] | None:
        """The route of the last request; None if no model was asked."""
        return self.traces[-1].to_dict() if self.traces else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, including the text."""
        return {
            "request_id": self.request_id,
            "text": self.text,
            "finish_reason": self.finish_reason,
            "degraded": self.degraded,
            "reasons": list(self.reasons),
            "execution": self.execution,
            "resolution": resolution_facts(self.prepared.resolution),
            "tier": tier_facts(self.prepared.tier),
            "tokens": msgspec.to_builtins(self.tokens, enc_hook=dict),
            "model": self.model,
            "provider": self.provider,
            "route_trace": self.route_trace,
            "usage": self.usage.to_dict(),
            "cost_usd": self.cost_usd,
            "cost_source": self.cost_source,
            "latency_ms": dict(self.latency_ms),
        }


REFUSALS = frozenset({"refusal", "content_filter"})
"""Finish reasons that mean a refusal by the model or its provider."""
