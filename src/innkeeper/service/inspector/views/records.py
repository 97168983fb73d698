"""Records: calls that were logged, their figures by time, and the names in the vault."""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.prompt.tier import Tier

_LOG: Final = {
    "created_at": "when",
    "request_id": "request",
    "template_name": "template",
    "template_version": "version",
    "resolution_level": "level",
    "template_source": "source",
    "effective_tier": "tier",
    "target_model": "target",
    "enhancer_model": "enhancer",
    "execution_time_ms": "milliseconds",
    "cost_usd": "cost",
    "error_code": "error",
}
"""What the page calls the columns of the log."""


class LogRow(msgspec.Struct, frozen=True, kw_only=True, rename=_LOG):
    """A call: what answered it, in which tier, how long it took and what it cost. No text is kept in the log."""

    id: int
    created_at: str
    request_id: str | None
    use_case: str | None
    template_name: str | None
    template_version: int | None
    resolution_level: str | None
    template_source: str | None
    effective_tier: Tier | None
    target_model: str | None
    enhancer_model: str | None
    input_tokens: int | None
    output_tokens: int | None
    execution_time_ms: float | None
    cost_usd: float | None
    status: str
    error_code: str | None


class LogPage(msgspec.Struct, frozen=True):
    """Calls, the newest first. ``next`` is what ``before`` is for the page after; null where there is none."""

    rows: tuple[LogRow, ...]
    next: int | None


class CallFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What calls came to. Percentiles are exact, by nearest rank; null where nothing was measured."""

    calls: int
    errors: int
    blocked: int
    degraded: int
    p50: float | None
    p95: float | None
    p99: float | None
    input_tokens: int
    output_tokens: int
    cost: float


class TemplateFigures(CallFigures, frozen=True, kw_only=True):
    """The calls of a template, or of all (null)."""

    template: str | None
    hit_rate: float | None


class MetricsBucket(CallFigures, frozen=True, kw_only=True):
    """The calls of a stretch of time that begins at ``start``."""

    start: str


class MetricsView(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of the last hours by time and by template. ``truncated``: there were more calls than are looked at."""

    hours: int
    seconds: int
    since: str
    buckets: tuple[MetricsBucket, ...]
    all: TemplateFigures
    templates: tuple[TemplateFigures, ...]
    truncated: bool


class VaultName(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"providers": "scope", "created_at": "created", "updated_at": "changed", "updated_by": "changed_by"},
):
    """That a secret is set, or wanted by a provider, and no more than that. ``scope``: the providers that name it."""

    name: str
    providers: tuple[str, ...]
    is_set: bool
    created_at: str | None
    updated_at: str | None
    updated_by: str | None
    last_used: str | None


class VaultNames(msgspec.Struct, frozen=True):
    """The names in the vault. Values are shown to nobody."""

    names: tuple[VaultName, ...]
