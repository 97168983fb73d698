"""RowStore: what all tables of named rows share. Changes are recorded in the audit events, in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import delete, insert, select, update

from innkeeper.library.audit import record
from innkeeper.library.engine import Database
from innkeeper.library.errors import AlreadyExistsError, UnknownRowError
from innkeeper.library.rows import by_priority, checked, frozen_row, frozen_rows
from innkeeper.prompt.errors import Where
from innkeeper.prompt.frozen import FrozenDict

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

__all__ = ["RowStore"]


class RowStore:
    """The rows of one table. Rows are frozen dicts with the columns' names."""

    table: ClassVar[Table]
    key: ClassVar[str] = "id"
    """The column by which a row is named."""

    hidden: ClassVar[frozenset[str]] = frozenset()
    """Columns that are given to nobody and not recorded."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def add(self, values: Mapping[str, Any], *, who: str = "") -> FrozenDict:
        """Add a row; an ``id`` is made where none is given.

        Raises:
            AlreadyExistsError: a row has the key, or what must be unique, already.
            RowError: a value that its column does not take.
        """
        with self.db.publishing() as connection:
            return self._add(connection, values, who)

    def put(self, values: Mapping[str, Any], *, who: str = "") -> FrozenDict:
        """Add a row, or change those columns of the row with the same key that ``values`` names. Raises `RowError`."""
        with self.db.publishing() as connection:
            if self._find(connection, values.get(self.key)) is None:
                return self._add(connection, values, who)
            return self.update(
                values[self.key], {n: v for n, v in values.items() if n not in {"id", self.key}}, who=who
            )

    def update(self, key: str, changes: Mapping[str, Any], *, who: str = "") -> FrozenDict:
        """Change some columns of a row and leave the others as whoever wrote them last. Raises `UnknownRowError`, `RowError`."""
        with self.db.publishing() as connection:
            before = self._get(connection, key)
            values = checked(self.table, {**changes, **self._stamp()}, whole=False)
            connection.execute(update(self.table).where(self.table.c[self.key] == key).values(values))
            after = self._get(connection, values.get(self.key, key))
            self._admit(after, who)
            self._record(connection, "change", (before, after), who)
        return self._shown(after)

    def remove(self, key: str, *, who: str = "") -> FrozenDict:
        """Take a row out and return what it was. Raises `UnknownRowError`."""
        with self.db.publishing() as connection:
            before = self._get(connection, key)
            connection.execute(delete(self.table).where(self.table.c[self.key] == key))
            self._record(connection, "remove", (before, None), who)
        return self._shown(before)

    def get(self, key: str) -> FrozenDict:
        """The row with this key. Raises `UnknownRowError`."""
        with self.db.reading() as connection:
            return self._shown(self._get(connection, key))

    def list(self, **where: Any) -> tuple[FrozenDict, ...]:
        """The rows whose columns have these values, by priority where there is one, else by key."""
        conditions = [self.table.c[name] == value for name, value in checked(self.table, where, whole=False).items()]
        query = select(self.table).where(*conditions)
        ordered = (
            by_priority(query, self.table) if "priority" in self.table.c else query.order_by(self.table.c[self.key])
        )
        with self.db.reading() as connection:
            return tuple(map(self._shown, frozen_rows(connection.execute(ordered))))

    def _add(self, connection: Connection, values: Mapping[str, Any], who: str) -> FrozenDict:
        row = {**self._fresh_id(values), **self._stamp(new=True), **values}
        try:
            connection.execute(insert(self.table), checked(self.table, row))
        except Exception as error:
            raise self._taken(error, row) from error
        after = self._get(connection, row[self.key])
        self._admit(after, who)
        self._record(connection, "add", (None, after), who)
        return self._shown(after)

    def _admit(self, row: FrozenDict, who: str) -> None:
        """Raise where a row, as it would stand, may not be saved; the transaction is undone then."""

    def _taken(self, error: Exception, row: Mapping[str, Any]) -> Exception:
        from innkeeper.library.failures import translate

        found = translate(error, self.db.place) if hasattr(error, "orig") else error
        if isinstance(found, AlreadyExistsError):
            message = f"{self.table.name} has a row like {row[self.key]!r} already"
            return AlreadyExistsError(message, where=Where(asset=self.table.name))
        return found

    def _fresh_id(self, values: Mapping[str, Any]) -> dict[str, str]:
        return {"id": self.db.fresh_id()} if "id" in self.table.c and "id" not in values else {}

    def _stamp(self, *, new: bool = False) -> dict[str, str]:
        now = self.db.now()
        names = ("created_at", "updated_at") if new else ("updated_at",)
        return {name: now for name in names if name in self.table.c}

    def _find(self, connection: Connection, key: Any) -> FrozenDict | None:
        if key is None:
            return None
        row = connection.execute(select(self.table).where(self.table.c[self.key] == key)).first()
        return None if row is None else frozen_row(row)

    def _get(self, connection: Connection, key: Any) -> FrozenDict:
        found = self._find(connection, key)
        if found is None:
            raise UnknownRowError(f"{self.table.name} has no row {key!r}", where=Where(asset=self.table.name))
        return found

    def _record(
        self, connection: Connection, action: str, change: tuple[FrozenDict | None, FrozenDict | None], who: str
    ) -> None:
        told = tuple(None if row is None else self._shown(row) for row in change)
        known: Mapping[str, Any] = change[1] or change[0] or {}
        resource = (self.table.name, str(known.get(self.key)))
        record(connection, self.db.now(), who, f"{self.table.name}.{action}", resource, (told[0], told[1]))

    def _shown(self, row: FrozenDict) -> FrozenDict:
        return (
            FrozenDict({name: value for name, value in row.items() if name not in self.hidden}) if self.hidden else row
        )
