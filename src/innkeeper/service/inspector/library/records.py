"""Records: the log of calls, what it says by time and by template, and the names in the vault. For administrators alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from innkeeper.library.db.tables.columns import moment_text
from innkeeper.library.log.logs import LogStore
from innkeeper.library.log.metrics import nearest_rank
from innkeeper.library.models.stores import SecretStore
from innkeeper.prompt.machine import utc_now
from innkeeper.service.inspector.library.contents import DatabaseContents, LibraryContents
from innkeeper.service.inspector.library.library_access import EmptyRequest, LibraryScope
from innkeeper.service.inspector.views.records import (
    LogPage,
    LogRow,
    MetricsBucket,
    MetricsView,
    TemplateFigures,
    VaultName,
    VaultNames,
)
from innkeeper.service.inspector.views.workspace import view_of

LOG_PAGE: Final = 100
"""Calls of the log in one reply (no error: the next are asked for)."""

MAX_HOURS: Final = 24 * 92
"""Hours that the charts of the log go back (no error: less is shown)."""

MAX_METRIC_CALLS: Final = 200_000
"""Calls that the charts of the log are made of: the newest (no error: the reply says that there are more)."""

_BUCKETS: Final = 60
_LENGTHS: Final = (60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800)


class LogQuery(msgspec.Struct, frozen=True):
    """Which calls are listed."""

    before: Annotated[int | None, Meta(description="the id of the last one of the page before")] = None
    template: Annotated[str, Meta(description="the name of a template")] = ""
    status: Annotated[str, Meta(description="ok, degraded, blocked or error")] = ""
    request: Annotated[str, Meta(description="the id of a request")] = ""
    tier: Annotated[str, Meta(description="sfw or nsfw")] = ""


class MetricsQuery(msgspec.Struct, frozen=True):
    """Which calls are counted."""

    hours: Annotated[int, Meta(description="how many; 24 where left out")] = 24


_COLUMNS: Final = {"template": "template_name", "status": "status", "request": "request_id", "tier": "effective_tier"}


def see_log(request: LogQuery, scope: LibraryScope) -> LogPage:
    """The newest calls."""
    if not isinstance(scope.contents, DatabaseContents):
        return LogPage((), None)
    where = {column: getattr(request, name) for name, column in _COLUMNS.items() if getattr(request, name)}
    rows = LogStore(scope.contents.library.db).newest(LOG_PAGE + 1, before=request.before, **where)
    shown = tuple(view_of(LogRow, row) for row in rows[:LOG_PAGE])
    return LogPage(shown, shown[-1].id if len(rows) > LOG_PAGE else None)


# ----------------------------------------------------------------------------------------------------------------- figures


def see_metrics(request: MetricsQuery, scope: LibraryScope) -> MetricsView:
    """The calls of the last hours by time."""
    return metrics(scope.contents, request.hours, utc_now())


def metrics(contents: LibraryContents, hours: int, now: datetime) -> MetricsView:
    """The calls of the last hours, by time and by template."""
    hours = min(max(hours, 1), MAX_HOURS)
    seconds = next((length for length in _LENGTHS if hours * 3_600 / length <= _BUCKETS), _LENGTHS[-1])
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


def see_vault(_: EmptyRequest, scope: LibraryScope) -> VaultNames:
    """The names in the vault, and when each was set and used. No value is read, nor what it is sealed as."""
    if not isinstance(scope.contents, DatabaseContents):
        return VaultNames(())
    library = scope.contents.library
    created, uses = {row.name: row.created_at for row in SecretStore(library.db).list()}, library.vault.last_uses()
    return VaultNames(
        tuple(
            view_of(
                VaultName,
                entry,
                created_at=created.get(entry.name),
                updated_at=entry.updated_at or None,
                updated_by=entry.updated_by or None,
                last_used=uses.get(entry.name),
            )
            for entry in library.vault.list()
        )
    )
