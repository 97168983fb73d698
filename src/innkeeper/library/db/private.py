"""PrivateDatabase: a table in SQLite's memory, for this process alone, bounded, and under the ceiling of all stores in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from weakref import finalize

from sqlalchemy import StaticPool, create_engine, delete, event, func, select
from sqlalchemy.sql import column

from innkeeper.library.db.connection import DatabaseTarget, begin
from innkeeper.library.db.engine import TIMEOUT, Database
from innkeeper.library.outside import MACHINE, Outside
from innkeeper.prompt.bounded_cache import CHECK_EVERY, keep_below_ceiling, trim_stores

if TYPE_CHECKING:
    from sqlalchemy import Column, Table
    from sqlalchemy.engine import Connection


_SHARE: Final = 16
"""Beyond its bounds the table loses one in so many of its rows at a time, the oldest first."""


class PrivateDatabase(Database):
    """A table that nobody else sees and that goes with the process. Threads take turns at its one connection.

    Args:
        table: the table.
        size: how many bytes the database takes up at most; beyond them the oldest rows are forgotten.
        rows: how many rows there are at most; any number where left out.
        age: the column that the oldest rows are told by. Without one nothing is ever forgotten.
        outside: where new rows get their time from.
    """

    in_memory = True

    def __init__(
        self,
        table: Table,
        *,
        size: int = 0,
        rows: int | None = None,
        age: Column[Any] | None = None,
        outside: Outside = MACHINE,
    ) -> None:
        engine = create_engine("sqlite://", creator=_connect, poolclass=StaticPool)
        event.listen(engine, "begin", begin)
        super().__init__(
            DatabaseTarget("sqlite://", "memory"), engine, outside=outside, timeout=TIMEOUT, read_only=False
        )
        finalize(self, engine.dispose)
        self.held = self._unchecked = self._empty = 0
        self.turned = monotonic()
        self._table, self._size, self._rows, self._age = table, size, rows, age
        self._lock = RLock()
        self._mark: str | None = None
        """The age of the youngest row at the last turn."""

        with self.transaction() as connection:
            table.create(connection)
            self._empty = _used(connection)
        if age is not None:
            keep_below_ceiling(self)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write, alone; the bounds are kept before the transaction ends."""
        before = self.held
        with self._lock, super().transaction() as connection:
            yield connection
            if not connection.in_nested_transaction():
                self._trim(connection)
        self._unchecked += max(0, self.held - before)
        if self._unchecked >= CHECK_EVERY:
            self._unchecked = 0
            trim_stores()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read, alone."""
        with self._lock, super().reading() as connection:
            yield connection

    def close(self) -> None:
        """Keep what is there: it goes with this object."""

    def turn(self) -> None:
        """Forget the rows that were there at the turn before and have not been written since."""
        self.turned = monotonic()
        with self.transaction() as connection:
            if self._age is not None:
                if self._mark is not None:
                    connection.execute(delete(self._table).where(self._age <= self._mark))
                self._mark = connection.execute(select(func.max(self._age))).scalar()

    def _trim(self, connection: Connection) -> None:
        """Forget the oldest rows until the bounds are kept."""
        if self._rows is not None:
            self._forget(connection, max(0, self._count(connection) - self._rows))
        self.held = _used(connection) - self._empty
        while self.held > self._size and self._forget(connection, max(1, self._count(connection) // _SHARE)):
            self.held = _used(connection) - self._empty

    def _count(self, connection: Connection) -> int:
        return connection.execute(select(func.count()).select_from(self._table)).scalar_one()

    def _forget(self, connection: Connection, count: int) -> int:
        """Delete the oldest rows; how many went."""
        if self._age is None or not count:
            return 0
        number: Any = column("rowid")
        oldest = select(number).select_from(self._table).order_by(self._age, number).limit(count)
        return connection.execute(delete(self._table).where(number.in_(oldest))).rowcount


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.execute("PRAGMA auto_vacuum = FULL")  # what was deleted takes up no memory
    return connection


_PRAGMAS: Final = ("page_count", "freelist_count", "page_size")


def _used(connection: Connection) -> int:
    """The bytes of the pages that hold something."""
    ask: Any = connection.connection.driver_connection  # SQLAlchemy's way takes ten times as long, and every write asks
    pages, free, size = (ask.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS)
    return int((pages - free) * size)
