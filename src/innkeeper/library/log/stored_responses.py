"""StoredResponses: responses that clients go back to by their ids, in the database: each its owner's, for some weeks."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from sqlalchemy import delete, select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import upsert
from innkeeper.library.db.tables.columns import moment_text
from innkeeper.library.db.tables.logs import stored_responses as rows

DAYS: Final = 30
"""Days after which a response is forgotten."""

_EACH: Final = 256


class StoredResponses:
    """The responses of one database, as texts. Every method is one transaction and may wait for others."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._puts = 0

    def put(self, owner: str, response_id: str, content: str) -> None:
        """Keep a response; now and then, old ones are forgotten."""
        row = {"owner": owner, "id": response_id, "content": content, "created_at": self.db.now()}
        with self.db.transaction() as connection:
            upsert(connection, rows, row, {"content": content})
        self._puts += 1
        if self._puts % _EACH == 1:
            self.forget()

    def get(self, owner: str, response_id: str) -> str | None:
        """A response; None where this owner has none of that id."""
        query = select(rows.c.content).where(rows.c.owner == owner, rows.c.id == response_id)
        with self.db.reading() as connection:
            content: str | None = connection.execute(query).scalar_one_or_none()
        return content

    def delete(self, owner: str, response_id: str) -> bool:
        """Forget a response; whether there was one."""
        with self.db.transaction() as connection:
            gone = connection.execute(delete(rows).where(rows.c.owner == owner, rows.c.id == response_id))
        return gone.rowcount > 0

    def forget(self, days: int = DAYS) -> int:
        """Forget the responses of so many days ago and before; how many went."""
        since = moment_text(self.db.outside.now().now - timedelta(days=days))
        with self.db.transaction() as connection:
            return connection.execute(delete(rows).where(rows.c.created_at < since)).rowcount
