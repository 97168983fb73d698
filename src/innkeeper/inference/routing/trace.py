"""RouteTrace: where a request went, in which order and why: what stands in a result as ``route_trace``, and `explain` shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.tier import Tier


class RouteStep(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt. ``outcome`` is ``answered`` or a `Failure`; ``error`` the kind of the error, never its text.

    ``tier`` is the one that it was planned for, ``body_sha256`` names what was sent. ``estimate`` is money, None where nobody
    knows a price, and ``cost`` is what it took: nothing, where no model has worked. ``cost_source`` is ``catalogue`` for a usage
    that was reported, and ``estimate`` where nobody knows what was used. ``began_ms`` and ``ms`` are
    counted from the request's begin, and from the attempt's.
    """

    number: int
    deployment: str
    provider: str
    model: str
    worker: str = ""
    tier: Tier = Tier.SFW
    outcome: str = ""
    error: str = ""
    body_sha256: str = ""
    estimate: float | None = None
    cost: float | None = None
    cost_source: str = ""
    began_ms: float = 0.0
    ms: float = 0.0


class RouteTrace(msgspec.Struct, frozen=True, kw_only=True):
    """All attempts of one request. ``ended`` is ``answered``, a `Failure`, or the bound that was reached.

    ``skipped`` counts by reason the deployments that were not tried, where that decided the end. ``degraded``: the answer is of a
    lower tier than was asked for, or not of the first choice.
    """

    policy: str
    modality: str
    task: str
    tier: Tier
    steps: tuple[RouteStep, ...] = ()
    ended: str = ""
    spent: float = 0.0
    skipped: Mapping[str, int] = EMPTY

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why the answer is a makeshift; empty where it is not."""
        if not self.steps or self.ended != "answered":
            return ()
        reasons = ("fallback",) if len(self.steps) > 1 else ()
        return (*reasons, "tier_lowered") if self.steps[-1].tier is not self.tier else reasons

    def header(self, answering: str) -> str:
        """The attempts as a header tells them, before the answer is whole; ``answering`` is the deployment of the last.

        >>> RouteTrace(policy="default", modality="chat", task="", tier=Tier.SFW).header("there/big")
        '[{"deployment":"there/big","outcome":"answering"}]'
        """
        tried = [{"deployment": step.deployment, "outcome": step.outcome} for step in self.steps]
        return json.dumps([*tried, {"deployment": answering, "outcome": "answering"}], separators=(",", ":"))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=dict)
        return {**facts, "degraded": list(self.degraded)}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One deployment as a request sees it. ``place`` counts from 1; None, where ``refused`` says why it is not tried."""

    deployment: str
    provider: str
    model: str
    place: int | None = None
    refused: str = ""
    tier: Tier = Tier.SFW
    busy: float = 0.0
    estimate: float | None = None
    priority: int = 0
    context_window: int | None = None
