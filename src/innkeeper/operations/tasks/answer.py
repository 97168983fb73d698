"""Answers of text tasks: `Written` is what a model wrote, `TaskAnswer` the checked answer with its route, tokens and cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.trace import RouteTrace
from innkeeper.library.library import Library
from innkeeper.library.log.enhancements import Done
from innkeeper.library.models.facts import NegativePrompt
from innkeeper.library.prepare.request import PreparedPrompt, resolution_facts, tier_facts
from innkeeper.prompt.data import EMPTY, FrozenDict, parse_json
from innkeeper.prompt.errors import InnkeeperError

REFUSALS: Final = frozenset({"refusal", "content_filter"})
"""Finish reasons that mean a refusal by the model or its provider."""

EMBEDDED_MODEL: Final = "embedded_model"
"""The reason for degradation of an answer by the embedded model."""


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A model's text for a task, before it is finished. Without a template no model is asked, and ``response`` is None."""

    prepared: PreparedPrompt
    response: ModelResponse | None = None
    trace: RouteTrace | None = None
    deployment: Deployment | None = None
    model_ms: float = 0.0

    @property
    def text(self) -> str:
        """The text or refusal of the model; the text of the request if no model was asked."""
        if self.response is None:
            fitted = self.prepared.fitted
            return self.prepared.request.text if fitted is None else fitted.text
        return self.response.text or self.response.refusal

    @property
    def finish_reason(self) -> str:
        """Why the model stopped."""
        if self.response is None:
            return "stop"
        return "refusal" if self.response.refusal else self.response.finish or "stop"

    @property
    def refused(self) -> bool:
        """Whether the model or its provider refused."""
        return self.finish_reason in REFUSALS


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
    known price; ``cost_source`` is ``provider``, ``catalogue``, or ``estimate`` if the provider reports no usage, or an attempt
    failed that may have been carried out. ``details`` are the task's own fields.
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
        """The id of the request."""
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


def answer_of(
    library: Library,
    written: Sequence[Written],
    text: str,
    *,
    reasons: Iterable[str],
    latency_ms: Mapping[str, float],
    details: Mapping[str, Any],
) -> TaskAnswer:
    """Return the answer of a task. ``written`` are all its texts, the latest last; ``text`` is the final one."""
    last = written[-1]
    prepared, deployment = last.prepared, last.deployment
    traces = tuple(draft.trace for draft in written if draft.trace is not None)
    usage, source = _usage(library, written)
    cost, source = _cost(written, usage, source)
    length = ("length",) if last.finish_reason == "length" else ()
    embedded = (EMBEDDED_MODEL,) if deployment is not None and deployment.embedded else ()
    routed = [reason for trace in traces for reason in trace.degraded]
    model_ms = sum(draft.model_ms for draft in written)
    times = {**prepared.latency_ms, "model": round(model_ms, 3), **latency_ms}
    times["total"] = round(prepared.latency_ms.get("total", 0.0) + model_ms + sum(latency_ms.values()), 3)
    budget = prepared.budget
    response = last.response
    named = None if response is None or deployment is None else response.provider.get("model") or deployment.route.model
    return TaskAnswer(
        text=text,
        prepared=prepared,
        finish_reason=last.finish_reason,
        execution=prepared.resolution.execution.value,
        traces=traces,
        usage=usage,
        tokens=TokenCounts(
            input=prepared.input_tokens,
            output=usage.output_tokens,
            budget=None if budget is None else budget.target,
            reserved=EMPTY if budget is None else budget.reserved,
            window=prepared.window_limit,
        ),
        cost_usd=cost,
        cost_source=source if cost is not None else "",
        model=str(named or ""),
        provider="" if deployment is None else deployment.route.provider,
        deployment="" if deployment is None else deployment.name,
        reasons=once_each((*prepared.reasons, *routed, *embedded, *length, *reasons)),
        latency_ms=FrozenDict(times),
        details=FrozenDict(details),
    )


def _usage(library: Library, written: Sequence[Written]) -> tuple[Usage, str]:
    """Return the tokens of all answers, counted here if a provider reports none, and the source of the counts."""
    read = made = cached = 0
    source = "catalogue"
    for draft in written:
        if draft.response is None:
            continue
        usage = draft.response.usage or Usage()
        if usage.input_tokens is None or usage.output_tokens is None:
            source = "estimate"
        count = library.counter.count(draft.text, None) if usage.output_tokens is None else usage.output_tokens
        read += draft.prepared.input_tokens if usage.input_tokens is None else usage.input_tokens
        made += count
        cached += usage.cached_tokens or 0
    total = read + made
    return Usage(input_tokens=read, output_tokens=made, total_tokens=total, cached_tokens=cached or None), source


def _cost(written: Sequence[Written], usage: Usage, source: str) -> tuple[float | None, str]:
    """Return the total cost and its source: that of the answers, and what attempts took that may have been carried out."""
    cost, source = _answers_cost(written, usage, source)
    steps = [step for draft in written if draft.trace is not None for step in draft.trace.steps]
    failed = sum(step.cost or 0.0 for step in steps if step.outcome != "answered")
    return (cost + failed, "estimate") if failed and cost is not None else (cost, source)


def _answers_cost(written: Sequence[Written], usage: Usage, source: str) -> tuple[float | None, str]:
    """Return the cost of all answers: the provider's report, else by the catalogue; None without a price."""
    costs = [_provider_cost(draft.response) for draft in written if draft.response is not None]
    known = [cost for cost in costs if cost is not None]
    if known and len(known) == len(costs):
        return sum(known), "provider"
    deployments = [draft.deployment for draft in written if draft.deployment is not None]
    if not deployments or any(deployment.price is None for deployment in deployments):
        return None, ""
    last = deployments[-1].price
    if len(deployments) == 1 and last is not None:
        return last.of_usage(usage), source
    steps = [step for draft in written if draft.trace is not None for step in draft.trace.steps]
    return sum(step.cost or 0.0 for step in steps if step.outcome == "answered"), source


def _provider_cost(response: ModelResponse) -> float | None:
    """Return the cost that a provider reports with the tokens, as OpenRouter does; else None."""
    usage = response.provider.get("usage")
    cost = usage.get("cost") if isinstance(usage, Mapping) else None
    if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost < math.inf:
        return None
    return float(cost)


def done_of(answer: TaskAnswer, written: Sequence[Written], dropped: Sequence[Mapping[str, Any]]) -> Done:
    """Return the log's data of an answer."""
    steps = [step for trace in answer.traces for step in trace.to_dict()["steps"]]
    fell_back = answer.model if any(len(trace.steps) > 1 for trace in answer.traces) else None
    mine = {name: took for name, took in answer.latency_ms.items() if name not in answer.prepared.latency_ms}
    asked = any(draft.response is not None for draft in written)
    return Done(
        output=answer.text,
        output_tokens=answer.usage.output_tokens if asked else None,
        attempts=steps,
        used_fallback_model=fell_back,
        latency_ms={name: took for name, took in mine.items() if name != "total"},
        usage=answer.usage.to_dict() if asked else EMPTY,
        cost_usd=answer.cost_usd,
        cost_source=answer.cost_source or None,
        dropped_segments=dropped,
    )


def once_each(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words in order, without repeats."""
    return tuple(dict.fromkeys(words))


def json_object(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object in a model's text, from its first brace to its last; None if there is none to read."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        value = parse_json(text[start : end + 1], asset="the model's answer")
    except InnkeeperError:
        return None
    return value if isinstance(value, Mapping) else None
