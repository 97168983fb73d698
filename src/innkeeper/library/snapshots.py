"""SnapshotStore: the last catalogues that were built and verified, kept in the database itself."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from innkeeper.library.engine import Database
from innkeeper.library.rows import checked, frozen_row
from innkeeper.library.tables import prompt_cache_snapshot
from innkeeper.prompt.frozen import FrozenDict

__all__ = ["SnapshotStore"]

KEPT = 5
"""How many snapshots are kept."""


class SnapshotStore:
    """The snapshots of one database; what is in them is not looked at here."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def put(self, payload: str, *, content_sha256: str, revision: int) -> None:
        """Keep a snapshot and forget all but the newest `KEPT`."""
        row = {"payload": payload, "content_sha256": content_sha256, "built_from_revision": revision}
        table = prompt_cache_snapshot
        with self.db.transaction() as connection:
            connection.execute(insert(table), checked(table, {**row, "created_at": self.db.now()}))
            newest = select(table.c.id).order_by(table.c.id.desc()).limit(KEPT)
            connection.execute(delete(table).where(table.c.id.not_in(newest)))

    def newest(self) -> FrozenDict | None:
        """The newest snapshot's row, None where there is none."""
        table = prompt_cache_snapshot
        with self.db.reading() as connection:
            row = connection.execute(select(table).order_by(table.c.id.desc()).limit(1)).first()
        return None if row is None else frozen_row(row)
