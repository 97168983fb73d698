"""Status: where a library is kept, of which schema and revision it is, and how many rows its tables have."""

from __future__ import annotations

from typing import Any

import msgspec

from innkeeper.library import schema
from innkeeper.library.engine import Database
from innkeeper.library.errors import DatabaseMissingError
from innkeeper.prompt.errors import Where

__all__ = ["Status", "status_of"]


class Status(msgspec.Struct, frozen=True):
    """The state of a database. ``head`` is the schema that this Innkeeper works with."""

    place: str
    dialect: str
    schema: str
    head: str
    revision: int
    rows: dict[str, int]

    @property
    def up_to_date(self) -> bool:
        """Whether the schema is the one that this Innkeeper works with."""
        return self.schema == self.head

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {**msgspec.structs.asdict(self), "up_to_date": self.up_to_date}


def status_of(db: Database) -> Status:
    """Look at a database, of whatever schema. Raises `DatabaseError`."""
    from sqlalchemy import func, inspect, select

    from innkeeper.library.tables import metadata

    with db.snapshot() as connection:
        found = schema.present(connection)
        if found is None:
            raise DatabaseMissingError("there is no library in this database", where=Where(asset=db.place))
        there = set(inspect(connection).get_table_names())
        names = sorted(metadata.tables.keys() & there)
        rows = {
            name: connection.execute(select(func.count()).select_from(metadata.tables[name])).scalar_one()
            for name in names
        }
    return Status(db.place, db.dialect, found, schema.HEAD, db.revision(), rows)
