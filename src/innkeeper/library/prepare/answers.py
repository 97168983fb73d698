"""Answers: what was resolved, rendered and prepared, each with its tier decision and whether it is degraded."""

from __future__ import annotations

from typing import Any

import msgspec

from innkeeper.budget import Evicted
from innkeeper.budget.window import evicted_of
from innkeeper.library.catalogue.resolver import Resolution
from innkeeper.library.errors import DegradedError
from innkeeper.library.models.negatives import NegativePrompt
from innkeeper.library.prepare.budgets import Budget, Fitted
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.library.templates.rendering import RenderedTemplate
from innkeeper.library.tier import Decision, TierDecision
from innkeeper.prompt.message import Message
from innkeeper.prompt.plan import Plan
from innkeeper.taverns.template import HISTORY_ID

__all__ = [
    "PreparedPrompt",
    "RenderedAnswer",
    "Resolved",
    "require_complete",
    "resolution_facts",
    "template_facts",
    "tier_facts",
]


class Resolved(msgspec.Struct, frozen=True):
    """A resolution in the tier that was granted."""

    tier: TierDecision
    resolution: Resolution

    @property
    def degraded(self) -> bool:
        """Whether the answer is less than what was asked for."""
        return bool(self.reasons)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is, in words for programs."""
        return (*_tier_reasons(self.tier), *self.resolution.reasons)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {**resolution_facts(self.resolution), **_common(self), "tier": tier_facts(self.tier)}


class RenderedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered template. ``cached``: the text was kept from an equal request before."""

    tier: TierDecision
    resolution: Resolution | None
    rendered: RenderedTemplate
    cached: bool = False

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the answer is a makeshift, where it is."""
        return (*_tier_reasons(self.tier), *(self.resolution.reasons if self.resolution else ()))

    @property
    def degraded(self) -> bool:
        """Whether the answer is less than what was asked for."""
        return bool(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        found = {**msgspec.to_builtins(self.rendered), **_common(self), "tier": tier_facts(self.tier)}
        return found if self.resolution is None else {**found, "resolution": resolution_facts(self.resolution)}


class PreparedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, ready to be sent, and everything that was decided on the way to it.

    ``plan`` is what a model gets, with the origin of every range of it, for any dialect; its ``messages`` are for the enhancer or
    chat model. Where no template answered (``execution`` is ``none``) there are none: then the plan holds the text for the
    target as it is, and so does ``fitted``. ``budget`` is the room of what the target reads, ``window_limit`` that of
    the model that reads the messages, None where it is not known.
    """

    request: PrepareRequest
    request_id: str
    tier: TierDecision
    resolution: Resolution
    rendered: RenderedTemplate | None = None
    plan: Plan
    fitted: Fitted | None = None
    budget: Budget
    input_tokens: int = 0
    window_limit: int | None = None
    negative: NegativePrompt | None = None
    cached: bool = False
    latency_ms: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    """Further reasons why the answer is a makeshift: ``log_failed``, ``rules_unread``."""
    cache_age_s: float | None = None
    log_id: int | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the enhancer or chat model is sent; nothing where no template answered."""
        return () if self.rendered is None else self.plan.messages

    @property
    def evicted(self) -> tuple[Evicted, ...]:
        """Which messages were left out; places are those of the system prompt and the history, from 0."""
        report = self.plan.trim_report
        return () if report is None else evicted_of(report, lambda id_: 1 + int(id_.removeprefix(HISTORY_ID)))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the answer is a makeshift, where it is."""
        return tuple(dict.fromkeys((*_tier_reasons(self.tier), *self.resolution.reasons, *self.notes)))

    @property
    def degraded(self) -> bool:
        """Whether the answer is less than what was asked for."""
        return bool(self.reasons)

    @property
    def compressed(self) -> bool:
        """Whether anything was left out to make it fit."""
        return bool(self.evicted or (self.fitted and (self.fitted.cut or self.fitted.dropped)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts, the texts among them."""
        return {
            "request_id": self.request_id,
            **_common(self),
            "tier": tier_facts(self.tier),
            "resolution": resolution_facts(self.resolution),
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "text": None if self.fitted is None else self.fitted.text,
            "variables": [] if self.rendered is None else msgspec.to_builtins(self.rendered.variables),
            "budget": msgspec.to_builtins(self.budget),
            "tokens": {"input": self.input_tokens, "window": self.window_limit},
            "evicted": msgspec.to_builtins(self.evicted),
            "negative": msgspec.to_builtins(self.negative),
            "cached": self.cached,
            "latency_ms": self.latency_ms,
            "log_id": self.log_id,
        }


def _tier_reasons(tier: TierDecision) -> tuple[str, ...]:
    lowered = tier.effective.rank < tier.requested.rank
    return tier.reasons if lowered or tier.decision is Decision.REVIEW else ()


def _common(answer: Resolved | RenderedAnswer | PreparedPrompt) -> dict[str, Any]:
    return {"degraded": answer.degraded, "reasons": list(answer.reasons)}


def require_complete(answer: Resolved | RenderedAnswer | PreparedPrompt) -> None:
    """Raise `DegradedError` for an answer that is less than what was asked for."""
    if answer.degraded:
        raise DegradedError(answer.reasons)


def tier_facts(tier: TierDecision) -> dict[str, Any]:
    """A tier decision, JSON-ready; it never holds a text."""
    found: dict[str, Any] = msgspec.to_builtins(tier)
    return {**found, "passed": tier.passed}


def resolution_facts(resolution: Resolution) -> dict[str, Any]:
    """A resolution, JSON-ready, without the template's text."""
    return {
        "level": resolution.level.value,
        "matched": resolution.matched.value,
        "fallback_level": resolution.fallback_level,
        "source": resolution.source.value,
        "execution": resolution.execution.value,
        "tier_lowered": resolution.tier_lowered,
        "enhanced": resolution.enhanced,
        "template": None if resolution.template is None else template_facts(resolution.template),
        "trace": [msgspec.to_builtins(step) for step in resolution.trace],
        "revision": resolution.revision,
    }


def template_facts(version: Any) -> dict[str, Any]:
    """What names a version and its budgets."""
    return {
        "name": version.name,
        "version": version.version,
        "id": version.template_id,
        "key": msgspec.to_builtins(version.key),
        "token_limit": version.token_limit,
        "max_output_tokens": version.max_output_tokens,
        "sha256": version.content_sha256,
    }
