"""LogStore: a row for every enhancement and every use of a model, and the questions that are asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, select

from innkeeper.library.engine import Database
from innkeeper.library.rows import checked, frozen_rows
from innkeeper.library.tables import enhancement_logs, usage_logs
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.frozen import FrozenDict

if TYPE_CHECKING:
    from sqlalchemy import Table

__all__ = ["FIGURES", "LogStore"]

FIGURES: Final = ("execution_time_ms", "input_tokens", "output_tokens", "budget_tokens", "cost_usd", "cache_age_s")
"""Columns of ``enhancement_logs`` that percentiles are asked of."""


class LogStore:
    """The logs of one database. They hold hashes and counts of texts, never the texts."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def add(self, *rows: Mapping[str, Any]) -> tuple[int, ...]:
        """Add rows to ``enhancement_logs``, all or none; returns their ids. Raises `RowError`, `UsageError`."""
        return self._add(enhancement_logs, rows)

    def add_usage(self, *rows: Mapping[str, Any]) -> tuple[int, ...]:
        """Add rows to ``usage_logs``, all or none; returns their ids. Raises `RowError`, `UsageError`."""
        return self._add(usage_logs, rows)

    def newest(self, limit: int = 100, *, since: str | None = None, **where: Any) -> tuple[FrozenDict, ...]:
        """The newest enhancements, newest first: those after the moment ``since`` whose columns have these values."""
        return self._newest(enhancement_logs, limit, since, where)

    def newest_usage(self, limit: int = 100, *, since: str | None = None, **where: Any) -> tuple[FrozenDict, ...]:
        """The newest uses, newest first."""
        return self._newest(usage_logs, limit, since, where)

    def figures(self, column: str, *, since: str | None = None, **where: Any) -> tuple[float, ...]:
        """All values of one of `FIGURES` in ascending order: what true percentiles are read from."""
        if column not in FIGURES:
            raise UsageError(f"{column!r} is no figure of the log", hint=f"figures: {', '.join(FIGURES)}")
        wanted = enhancement_logs.c[column]
        conditions = _conditions(enhancement_logs, since, where)
        query = select(wanted).where(wanted.is_not(None), *conditions).order_by(wanted)
        with self.db.reading() as connection:
            return tuple(float(value) for value in connection.execute(query).scalars())

    def _add(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> tuple[int, ...]:
        with self.db.transaction() as connection:
            return tuple(
                connection.execute(insert(table).returning(table.c.id), self._row(table, row)).scalar_one()
                for row in rows
            )

    def _row(self, table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
        return checked(table, {"created_at": self.db.now(), **values})

    def _newest(self, table: Table, limit: int, since: str | None, where: Mapping[str, Any]) -> tuple[FrozenDict, ...]:
        query = select(table).where(*_conditions(table, since, where)).order_by(table.c.id.desc()).limit(limit)
        with self.db.reading() as connection:
            return frozen_rows(connection.execute(query))


def _conditions(table: Table, since: str | None, where: Mapping[str, Any]) -> list[Any]:
    found = [table.c[name] == value for name, value in checked(table, where, whole=False).items()]
    return found if since is None else [table.c.created_at > since, *found]
