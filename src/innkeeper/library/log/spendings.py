"""Spendings: what was spent and has not been forgiven, by tenant and owner, in the database, so that several services share it.

What is spent is forgiven at a steady rate. A row has the sum and its moment; who adds to it forgives first what has been forgiven
since, in one statement, so that nobody's sum is lost.
"""

from __future__ import annotations

from sqlalchemy import case, select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import upsert
from innkeeper.library.db.tables.logs import spendings as rows


class Spendings:
    """The sums of one database. Every method is one transaction and may wait for others. Rates are money a second."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def spent(self, tenant: str, owner: str, rate: float) -> float:
        """What is spent and not forgiven by now."""
        query = select(rows.c.spent, rows.c.at).where(rows.c.tenant == tenant, rows.c.owner == owner)
        with self.db.reading() as connection:
            row = connection.execute(query).first()
        return 0.0 if row is None else max(0.0, row.spent - max(0.0, self._now() - row.at) * rate)

    def add(self, tenant: str, owner: str, cost: float, rate: float) -> None:
        """Add to it."""
        now = self._now()
        passed = case((rows.c.at < now, now - rows.c.at), else_=0.0)
        left = rows.c.spent - passed * rate
        changes = {
            "spent": case((left > 0, left), else_=0.0) + cost,
            "at": case((rows.c.at < now, now), else_=rows.c.at),
        }
        with self.db.transaction() as connection:
            upsert(connection, rows, {"tenant": tenant, "owner": owner, "spent": cost, "at": now}, changes)

    def _now(self) -> float:
        """The time in seconds."""
        return self.db.outside.now().epoch_ms / 1000
