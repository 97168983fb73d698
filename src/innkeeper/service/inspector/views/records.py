"""Records: calls that were logged, their figures by time, and the names in the vault."""

from __future__ import annotations

import msgspec

from innkeeper.service.inspector.views.library import TierName


class LogRow(msgspec.Struct, frozen=True, kw_only=True):
    """A call: what answered it, in which tier, how long it took and what it cost. No text is kept in the log."""

    id: int
    when: str
    request: str | None
    use_case: str | None
    template: str | None
    version: int | None
    level: str | None
    source: str | None
    tier: TierName | None
    target: str | None
    enhancer: str | None
    input_tokens: int | None
    output_tokens: int | None
    milliseconds: float | None
    cost: float | None
    status: str
    error: str | None


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


class VaultName(msgspec.Struct, frozen=True, kw_only=True):
    """That a secret is set, or wanted by a provider, and no more than that. ``scope``: the providers that name it."""

    name: str
    scope: tuple[str, ...]
    is_set: bool
    created: str | None
    changed: str | None
    changed_by: str | None
    last_used: str | None


class VaultNames(msgspec.Struct, frozen=True):
    """The names in the vault. Values are shown to nobody."""

    names: tuple[VaultName, ...]
