"""LogStats: what the log says of a time: how often, how fast, from where, for each template; percentiles by nearest rank."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.library.columns import moment_text
from innkeeper.library.metrics import Percentiles, percentiles
from innkeeper.library.query import shifted

if TYPE_CHECKING:
    from innkeeper.library.engine import Database

__all__ = ["LogStats", "log_stats", "since_moment"]

_SHORT: Final = re.compile(r"(\d{1,6})\s*([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}.*")


class LogStats(msgspec.Struct, frozen=True):
    """The calls of one template (None: those without one), or of all.

    ``hit_rate`` is the share that memory answered, ``degraded``, ``blocked`` and ``failed`` count calls, ``fallback`` is the
    mean of the document's fallback level; ``milliseconds`` and ``tokens`` are exact.
    """

    template: str | None
    calls: int
    hit_rate: float | None
    degraded: int
    blocked: int
    failed: int
    fallback: float | None
    milliseconds: Percentiles
    tokens: Percentiles
    cost_usd: float


def since_moment(text: str, now: datetime) -> str:
    """The moment that a text names: ``24h``, ``7 days``, or an ISO 8601 moment. Raises `FormatError`."""
    if _DATE.fullmatch(text.strip()):
        return moment_text(text.strip())
    short = _SHORT.fullmatch(text.strip())
    return moment_text(shifted(now, "-", f"{short[1]} {_UNITS[short[2]]}" if short else text))


def log_stats(db: Database, *, since: str | None = None) -> tuple[LogStats, tuple[LogStats, ...]]:
    """All calls after the moment ``since``, and those of each template, the most frequent first. Raises `DatabaseError`."""
    from sqlalchemy import select

    from innkeeper.library.tables import enhancement_logs as table

    names = ("template_name", "execution_time_ms", "input_tokens", "fallback_level", "cache_hit", "status", "cost_usd")
    query = select(*(table.c[name] for name in names))
    with db.reading() as connection:
        rows = connection.execute(query if since is None else query.where(table.c.created_at > since)).all()
    by_name: dict[str | None, list[Any]] = {}
    for row in rows:
        by_name.setdefault(row.template_name, []).append(row)
    each = [_of(name, found) for name, found in by_name.items()]
    return _of(None, rows), tuple(sorted(each, key=lambda one: (-one.calls, one.template or "")))


def _of(name: str | None, rows: Iterable[Any]) -> LogStats:
    found = list(rows)
    known = [row.cache_hit for row in found if row.cache_hit is not None]
    levels = [row.fallback_level for row in found if row.fallback_level is not None]
    return LogStats(
        template=name,
        calls=len(found),
        hit_rate=sum(known) / len(known) if known else None,
        degraded=sum(row.status == "degraded" for row in found),
        blocked=sum(row.status == "blocked" for row in found),
        failed=sum(row.status == "error" for row in found),
        fallback=sum(levels) / len(levels) if levels else None,
        milliseconds=_figures(row.execution_time_ms for row in found),
        tokens=_figures(row.input_tokens for row in found),
        cost_usd=float(sum(row.cost_usd or 0 for row in found)),
    )


def _figures(values: Iterable[float | None]) -> Percentiles:
    return percentiles(sorted(float(value) for value in values if value is not None))
