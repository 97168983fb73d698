"""LogStore: a row for every enhancement and every use of a model; LogStats: what those rows say of a time.

Figures are how often, how fast, from where, and for each template; percentiles are by nearest rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import delete, func, insert, select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.queries import shifted
from innkeeper.library.db.rows import checked, typed_rows
from innkeeper.library.db.tables.columns import moment_text
from innkeeper.library.db.tables.logs import enhancement_contents as contents_table
from innkeeper.library.db.tables.logs import enhancement_logs, usage_logs
from innkeeper.library.log.metrics import Percentiles, percentiles
from innkeeper.library.rows import EnhancementRow
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.text import scalar_text

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection


_TIMED: Final = (
    *("created_at", "template_name", "status", "cache_hit"),
    *("execution_time_ms", "input_tokens", "output_tokens", "cost_usd"),
)


class LogStore:
    """The logs of one database. They hold hashes and counts of texts, never the texts."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def add(self, *rows: Mapping[str, Any]) -> tuple[int, ...]:
        """Add rows to ``enhancement_logs``, all or none; returns their ids. Raises `FieldError`, `UsageError`."""
        with self.db.transaction() as connection:
            return tuple([self.insert(connection, row) for row in rows])

    def newest(
        self, limit: int = 100, *, since: str | None = None, before: int | None = None, **where: Any
    ) -> tuple[EnhancementRow, ...]:
        """The newest enhancements, newest first: those after the moment ``since`` whose columns have these values.

        ``before``: the id of the last one of the page before.
        """
        values = checked(enhancement_logs, where, whole=False)
        query = select(enhancement_logs).where(*(enhancement_logs.c[name] == value for name, value in values.items()))
        if since is not None:
            query = query.where(enhancement_logs.c.created_at > since)
        if before is not None:
            query = query.where(enhancement_logs.c.id < before)
        with self.db.reading() as connection:
            newest = query.order_by(enhancement_logs.c.id.desc()).limit(limit)
            return typed_rows(connection.execute(newest), EnhancementRow)

    def timed(self, limit: int, *, since: str) -> Sequence[Any]:
        """The newest enhancements after a moment, newest first: when, by which template, how they ended, and their figures."""
        columns = (enhancement_logs.c[name] for name in _TIMED)
        query = select(*columns).where(enhancement_logs.c.created_at > since)
        with self.db.reading() as connection:
            return connection.execute(query.order_by(enhancement_logs.c.id.desc()).limit(limit)).all()

    def answered(self, use_case: str, *, days: int) -> Sequence[Any]:
        """The template versions that answered a use case in the last days: each name and number, with how often."""
        columns = enhancement_logs.c
        names = (columns.template_name, columns.template_version)
        query = select(*names, func.count()).where(
            columns.created_at > since_moment(f"{days} days", datetime.fromisoformat(self.db.now())),
            columns.use_case == use_case,
            columns.status.in_(("ok", "degraded")),
            columns.template_version.is_not(None),
        )
        with self.db.reading() as connection:
            return connection.execute(query.group_by(*names)).all()

    def insert(self, connection: Connection, row: Mapping[str, Any]) -> int:
        """Add a row to ``enhancement_logs`` in somebody's transaction; returns its id. Raises `FieldError`, `UsageError`."""
        return self._insert(connection, enhancement_logs, row)

    def insert_usage(self, connection: Connection, row: Mapping[str, Any]) -> int:
        """Add a row to ``usage_logs`` in somebody's transaction; returns its id. Raises `FieldError`, `UsageError`."""
        return self._insert(connection, usage_logs, row)

    def _insert(self, connection: Connection, table: Table, row: Mapping[str, Any]) -> int:
        values = checked(table, {"created_at": self.db.now(), **row})
        row_id: int = connection.execute(insert(table).returning(table.c.id), values).scalar_one()
        return row_id


class EnhancementLog:
    """Writes the log of one database, with the texts of calls where an operator has them stored, until they expire."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._rows = LogStore(db)

    def add(self, row: Mapping[str, Any], contents: Mapping[str, str] = EMPTY, *, days: int = 0) -> int:
        """Add a row, and its texts (``input``, ``output``) where they are kept for ``days``. Returns its id."""
        with self.db.transaction() as connection:
            log_id = self._rows.insert(connection, row)
            if days > 0 and contents:
                self._add_contents(connection, log_id, contents, days)
        return log_id

    def contents(self, log_id: int) -> dict[str, str]:
        """The texts of a row that are still kept."""
        unexpired = (contents_table.c.log_id == log_id, contents_table.c.expires_at > self.db.now())
        query = select(contents_table.c.kind, contents_table.c.content).where(*unexpired)
        with self.db.reading() as connection:
            return dict(sorted((row.kind, row.content) for row in connection.execute(query)))

    def purge(self) -> int:
        """Delete the texts that have expired; returns how many."""
        with self.db.transaction() as connection:
            return int(
                connection.execute(delete(contents_table).where(contents_table.c.expires_at <= self.db.now())).rowcount
            )

    def _add_contents(self, connection: Connection, log_id: int, contents: Mapping[str, str], days: int) -> None:
        self.purge()
        now = self.db.outside.now().now
        dates = {"created_at": moment_text(now), "expires_at": moment_text(now + timedelta(days=days))}
        for kind, content in contents.items():
            row = {"log_id": log_id, "kind": kind, "content": scalar_text(content).replace("\0", ""), **dates}
            connection.execute(insert(contents_table), checked(contents_table, row))


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
    table = enhancement_logs
    names = ("template_name", "execution_time_ms", "input_tokens", "fallback_level", "cache_hit", "status", "cost_usd")
    query = select(*(table.c[name] for name in names))
    with db.reading() as connection:
        rows = connection.execute(query if since is None else query.where(table.c.created_at > since)).all()
    by_name: dict[str | None, list[Any]] = {}
    for row in rows:
        by_name.setdefault(row.template_name, []).append(row)
    each = [_of(name, calls) for name, calls in by_name.items()]
    return _of(None, rows), tuple(sorted(each, key=lambda one: (-one.calls, one.template or "")))


def _of(name: str | None, rows: Iterable[Any]) -> LogStats:
    calls = list(rows)
    known = [row.cache_hit for row in calls if row.cache_hit is not None]
    levels = [row.fallback_level for row in calls if row.fallback_level is not None]
    return LogStats(
        template=name,
        calls=len(calls),
        hit_rate=sum(known) / len(known) if known else None,
        degraded=sum(row.status == "degraded" for row in calls),
        blocked=sum(row.status == "blocked" for row in calls),
        failed=sum(row.status == "error" for row in calls),
        fallback=sum(levels) / len(levels) if levels else None,
        milliseconds=_figures(row.execution_time_ms for row in calls),
        tokens=_figures(row.input_tokens for row in calls),
        cost_usd=float(sum(row.cost_usd or 0 for row in calls)),
    )


def _figures(values: Iterable[float | None]) -> Percentiles:
    return percentiles(sorted(float(value) for value in values if value is not None))
