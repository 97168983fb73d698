"""Records: the log of calls, what it says by time and by template, and the names in the vault. For administrators alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from innkeeper.library.db.columns import moment_text
from innkeeper.library.log.logs import LogStore
from innkeeper.library.log.metrics import nearest_rank
from innkeeper.library.models.stores import SecretStore
from innkeeper.library.rows import EnhancementRow
from innkeeper.service.inspector.library.contents import DatabaseContents, LibraryContents
from innkeeper.service.inspector.views.records import (
    LogPage,
    LogRow,
    MetricsBucket,
    MetricsView,
    TemplateFigures,
    VaultName,
    VaultNames,
)

LOG_PAGE: Final = 100
"""Calls of the log in one reply (no error: the next are asked for)."""

MAX_HOURS: Final = 24 * 92
"""Hours that the charts of the log go back (no error: less is shown)."""

MAX_METRIC_CALLS: Final = 200_000
"""Calls that the charts of the log are made of: the newest (no error: the reply says that there are more)."""

_BUCKETS: Final = 60
_LENGTHS: Final = (60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800)


def log_page(contents: LibraryContents, before: int | None, where: Mapping[str, str]) -> LogPage:
    """The newest calls before one by its id, those whose columns have the values of ``where``."""
    if not isinstance(contents, DatabaseContents):
        return LogPage((), None)
    rows = LogStore(contents.library.db).newest(LOG_PAGE + 1, before=before, **where)
    shown = tuple(map(_row, rows[:LOG_PAGE]))
    return LogPage(shown, shown[-1].id if len(rows) > LOG_PAGE else None)


def _row(row: EnhancementRow) -> LogRow:
    return LogRow(
        id=row.id,
        when=row.created_at,
        request=row.request_id,
        use_case=row.use_case,
        template=row.template_name,
        version=row.template_version,
        level=row.resolution_level,
        source=row.template_source,
        tier=None if row.effective_tier is None else row.effective_tier.value,
        target=row.target_model,
        enhancer=row.enhancer_model,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        milliseconds=row.execution_time_ms,
        cost=row.cost_usd,
        status=row.status,
        error=row.error_code,
    )


# ----------------------------------------------------------------------------------------------------------------- figures


def metrics(contents: LibraryContents, hours: int, now: datetime) -> MetricsView:
    """The calls of the last hours, by time and by template."""
    hours = min(max(hours, 1), MAX_HOURS)
    seconds = next((one for one in _LENGTHS if hours * 3_600 / one <= _BUCKETS), _LENGTHS[-1])
    last = int(now.timestamp()) // seconds * seconds
    count = -(-hours * 3_600 // seconds)
    start = last - (count - 1) * seconds
    since = moment_text(datetime.fromtimestamp(start, UTC) - timedelta(microseconds=1))
    calls: Sequence[Any] = ()
    if isinstance(contents, DatabaseContents):
        calls = LogStore(contents.library.db).timed(MAX_METRIC_CALLS + 1, since=since)
    truncated, calls = len(calls) > MAX_METRIC_CALLS, calls[:MAX_METRIC_CALLS]
    buckets: list[list[Any]] = [[] for _ in range(count)]
    templates: dict[str, list[Any]] = {}
    for call in calls:
        at = int(datetime.fromisoformat(call.created_at).timestamp())
        buckets[min(max((at - start) // seconds, 0), count - 1)].append(call)
        if call.template_name is not None:
            templates.setdefault(call.template_name, []).append(call)
    each = (TemplateFigures(template=name, hit_rate=_hits(rows), **_figures(rows)) for name, rows in templates.items())
    return MetricsView(
        hours=hours,
        seconds=seconds,
        since=_moment(start),
        buckets=tuple(
            MetricsBucket(start=_moment(start + index * seconds), **_figures(bucket))
            for index, bucket in enumerate(buckets)
        ),
        all=TemplateFigures(template=None, hit_rate=_hits(calls), **_figures(calls)),
        templates=tuple(sorted(each, key=lambda one: (-one.calls, one.template or ""))),
        truncated=truncated,
    )


def _moment(at: int) -> str:
    return moment_text(datetime.fromtimestamp(at, UTC))


def _figures(calls: Sequence[Any]) -> dict[str, Any]:
    times = sorted(float(call.execution_time_ms) for call in calls if call.execution_time_ms is not None)
    ranks = {f"p{rank}": nearest_rank(times, rank) if times else None for rank in (50, 95, 99)}
    return {
        "calls": len(calls),
        "errors": sum(call.status == "error" for call in calls),
        "blocked": sum(call.status == "blocked" for call in calls),
        "degraded": sum(call.status == "degraded" for call in calls),
        **ranks,
        "input_tokens": sum(call.input_tokens or 0 for call in calls),
        "output_tokens": sum(call.output_tokens or 0 for call in calls),
        "cost": float(sum(call.cost_usd or 0 for call in calls)),
    }


def _hits(calls: Iterable[Any]) -> float | None:
    """The share that memory answered, of those of which it is known."""
    known = [call.cache_hit for call in calls if call.cache_hit is not None]
    return sum(known) / len(known) if known else None


# ------------------------------------------------------------------------------------------------------------------- vault


def vault_names(contents: LibraryContents) -> VaultNames:
    """The names in the vault, and when each was set and used. No value is read, nor what it is sealed as."""
    if not isinstance(contents, DatabaseContents):
        return VaultNames(())
    vault, db = contents.library.vault, contents.library.db
    created, uses = {row.name: row.created_at for row in SecretStore(db).list()}, vault.last_uses()
    return VaultNames(
        tuple(
            VaultName(
                name=one.name,
                scope=one.providers,
                is_set=one.is_set,
                created=created.get(one.name),
                changed=one.updated_at or None,
                changed_by=one.updated_by or None,
                last_used=uses.get(one.name),
            )
            for one in vault.list()
        )
    )
