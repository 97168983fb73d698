"""Tier policies and detection lists as named documents in immutable versions, of which one a name is active."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import func, insert, select, update

from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import checked, first_row, record, typed_rows
from innkeeper.library.db.tables.templates import detection_lists, tier_policies
from innkeeper.library.errors import DatabaseCorruptError, NotFoundError
from innkeeper.library.rows import DocumentRow
from innkeeper.prompt.data import to_json
from innkeeper.prompt.errors import Where

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection


class DocumentStore:
    """The documents of one table."""

    table: ClassVar[Table]

    def __init__(self, db: Database) -> None:
        self.db = db

    def add(
        self, name: str, body: Any, *, who: str = "", author: str | None = None, note: str = "", activate: bool = False
    ) -> DocumentRow:
        """Add a version, inactive unless asked for; returns its row. ``author`` is ``who`` unless it was somebody else.

        Raises `FieldError`, and `UsageError` for what is not data.
        """
        with self.db.publishing() as connection:
            version = (self._latest(connection, name) or 0) + 1
            values = {"name": name, "version": version, "body": body, "content_sha256": _hash(body)}
            more = {
                "note": note,
                "author": who if author is None else author,
                "is_active": False,
                "created_at": self.db.now(),
            }
            connection.execute(insert(self.table), checked(self.table, values | more))
            self._record(connection, "add", name, version, who)
            return self.activate(name, version, who=who) if activate else self._get(connection, name, version)

    def all(self) -> tuple[DocumentRow, ...]:
        """All versions of all names."""
        query = select(self.table).order_by(self.table.c.name, self.table.c.version)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(query), DocumentRow)

    def activate(self, name: str, version: int, *, who: str = "", approved_by: str | None = None) -> DocumentRow:
        """Make a version the active one of its name. Raises `NotFoundError`."""
        with self.db.publishing() as connection:
            self._get(connection, name, version)
            here = self.table.c.name == name
            connection.execute(update(self.table).where(here, self.table.c.is_active).values(is_active=False))
            change = checked(self.table, {"is_active": True, "approved_by": approved_by}, whole=False)
            connection.execute(update(self.table).where(here, self.table.c.version == version).values(change))
            self._record(connection, "activate", name, version, who)
            return self._get(connection, name, version)

    def deactivate(self, name: str, *, who: str = "") -> None:
        """Leave a name without an active version. Raises `NotFoundError`."""
        with self.db.publishing() as connection:
            self._get(connection, name, None)
            here = (self.table.c.name == name) & self.table.c.is_active
            connection.execute(update(self.table).where(here).values(is_active=False))
            self._record(connection, "deactivate", name, None, who)

    def get(self, name: str, version: int | None = None) -> DocumentRow:
        """A version; the latest where none is named. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            return self._get(connection, name, version)

    def active(self, name: str | None = None) -> tuple[DocumentRow, ...]:
        """The active versions by name, or that of one name.

        Raises:
            DatabaseCorruptError: one is not what its checksum says.
        """
        query = select(self.table).where(self.table.c.is_active).order_by(self.table.c.name)
        with self.db.reading() as connection:
            query = query if name is None else query.where(self.table.c.name == name)
            rows = typed_rows(connection.execute(query), DocumentRow)
        return tuple(map(self._whole, rows))

    def _latest(self, connection: Connection, name: str) -> int | None:
        latest: int | None = connection.execute(
            select(func.max(self.table.c.version)).where(self.table.c.name == name)
        ).scalar()
        return latest

    def _get(self, connection: Connection, name: str, version: int | None) -> DocumentRow:
        latest = self._latest(connection, name)
        where = Where(asset=self.table.name, path=name)
        if latest is None:
            raise NotFoundError(f"{self.table.name} has nothing called {name!r}", where=where)
        here = (self.table.c.name == name) & (self.table.c.version == (version or latest))
        row = first_row(connection.execute(select(self.table).where(here)), DocumentRow)
        if row is None:
            raise NotFoundError(f"{name!r} has no version {version}", where=where)
        return self._whole(row)

    def _whole(self, row: DocumentRow) -> DocumentRow:
        if row.content_sha256 != _hash(row.body):
            where = Where(asset=self.table.name, path=f"{row.name}@{row.version}")
            raise DatabaseCorruptError("a document is not what its checksum says", where=where)
        return row

    def _record(self, connection: Connection, action: str, name: str, version: int | None, who: str) -> None:
        facts = {} if version is None else {"version": version}
        table = self.table.name
        record(connection, self.db.now(), who, f"{table}.{action}", (table, name), details=facts)


class PolicyStore(DocumentStore):
    """Tier policies."""

    table = tier_policies


class DetectionListStore(DocumentStore):
    """Detection lists."""

    table = detection_lists


def _hash(body: Any) -> str:
    return sha256(to_json(body)).hexdigest()
