"""Deliveries: messages about jobs that have ended, signed, sent until they are taken, or else dead letters.

A message is written in the transaction that ends its job (`JobStore.move`), so that none is lost, and none sent for what did not
happen. Its identifier stays the same over all tries: whoever gets it twice can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from sqlalchemy import select, update

from innkeeper.jobs.limits import LEASE_SECONDS, MAX_DELIVERIES
from innkeeper.jobs.signatures import WEBHOOK_SECRET, signed_headers
from innkeeper.library.db.rows import typed_rows
from innkeeper.library.db.tables.columns import later
from innkeeper.library.db.tables.jobs import job_deliveries as table
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs


_TAKEN = range(200, 300)


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``job_deliveries``: one message, and how its tries went."""

    id: str
    job_id: str
    url: str
    body: str
    state: Literal["waiting", "delivered", "dead"]
    attempt: int
    due_at: str
    error: str
    created_at: str


class Deliveries:
    """The messages of one library's jobs. ``first`` are the seconds before the second try."""

    def __init__(self, jobs: MediaJobs, first: float = 5.0) -> None:
        self._jobs = jobs
        self._db = jobs.store.db
        self._first = first

    def send_due(self, limit: int = 16) -> int:
        """Send what is due; returns how many were taken. A process without the secret that signs them leaves it to others."""
        return sum(self._send(row) for row in self._claim(limit))

    def of(self, job_id: str) -> tuple[DeliveryRow, ...]:
        """The messages about a job, with how they fared."""
        with self._db.reading() as connection:
            return typed_rows(
                connection.execute(select(table).where(table.c.job_id == job_id).order_by(table.c.id)), DeliveryRow
            )

    def dead(self) -> tuple[DeliveryRow, ...]:
        """The dead letters."""
        with self._db.reading() as connection:
            return typed_rows(
                connection.execute(select(table).where(table.c.state == "dead").order_by(table.c.id)), DeliveryRow
            )

    def send_again(self, *names: str) -> int:
        """Have dead letters sent once more: those that are named, or all; returns how many there are."""
        chosen = (table.c.id.in_(names),) if names else ()
        values = {"state": "waiting", "attempt": 0, "due_at": self._db.now(), "error": ""}
        with self._db.transaction() as connection:
            return connection.execute(update(table).where(table.c.state == "dead", *chosen).values(values)).rowcount

    def _claim(self, limit: int) -> tuple[DeliveryRow, ...]:
        """Take messages; each is put off before it is sent, so that who dies in the middle delays it and no more."""
        now = self._db.now()
        due = select(table.c.id).where(table.c.state == "waiting", table.c.due_at <= now).limit(limit)
        with self._db.reading() as connection:
            if connection.execute(due.limit(1)).first() is None or not self._jobs.secret(WEBHOOK_SECRET):
                return ()
        locked = due.with_for_update(skip_locked=True) if self._db.dialect == "postgresql" else due
        with self._db.transaction() as connection:
            ids = list(connection.execute(locked).scalars())
            values = {"attempt": table.c.attempt + 1, "due_at": later(now, LEASE_SECONDS)}
            taken = update(table).where(table.c.id.in_(ids)).values(values).returning(table)
            return typed_rows(connection.execute(taken), DeliveryRow) if ids else ()

    def _send(self, row: DeliveryRow) -> bool:
        body = row.body.encode()
        try:
            at = self._db.outside.now().epoch_ms // 1000
            headers = signed_headers(row.id, at, body, self._jobs.callback_secret())
            egress = self._jobs.calls.egress(self._jobs.get(row.job_id))
            status = self._jobs.wire.post(row.url, body, headers, egress)
            error = "" if status in _TAKEN else f"status {status}"
        except InnkeeperError as failed:
            error = failed.message[:300]
        if not error:
            self._change(row, state="delivered", error="")
        elif row.attempt >= MAX_DELIVERIES:
            self._change(row, state="dead", error=error)
        else:
            wait = self._first * 2.0 ** (row.attempt - 1)
            self._change(row, due_at=later(self._db.now(), wait), error=error)
        return not error

    def _change(self, row: DeliveryRow, **values: Any) -> None:
        with self._db.transaction() as connection:
            connection.execute(update(table).where(table.c.id == row.id).values(values))
