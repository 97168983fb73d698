"""AuditStore: who changed what, when, from what to what; rows are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.log_tables import audit_events
from innkeeper.library.db.rows import checked, frozen_rows
from innkeeper.prompt.frozen import EMPTY, FrozenDict

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

__all__ = ["AuditStore", "record"]

State = Mapping[str, Any] | None
"""What something was; None where it was not there."""


def record(
    connection: Connection,
    at: str,
    actor: str,
    action: str,
    resource: tuple[str, str],
    change: tuple[State, State] = (None, None),
    details: Mapping[str, Any] = EMPTY,
) -> None:
    """Add an event, in the transaction of the change that it tells of. ``resource`` is its kind and its name."""
    values = {
        "created_at": at,
        "actor": actor,
        "action": action,
        "resource_type": resource[0],
        "resource_id": resource[1],
        "before": change[0],
        "after": change[1],
        "details": details,
    }
    connection.execute(insert(audit_events), checked(audit_events, values))


class AuditStore:
    """The audit events of one database."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def append(
        self,
        action: str,
        *,
        actor: str = "",
        resource: tuple[str, str] = ("", ""),
        change: tuple[State, State] = (None, None),
        details: Mapping[str, Any] = EMPTY,
    ) -> None:
        """Add an event of its own."""
        with self.db.transaction() as connection:
            record(connection, self.db.now(), actor, action, resource, change, details)

    def newest(self, limit: int = 100, **where: str) -> tuple[FrozenDict, ...]:
        """The newest events, newest first; ``where`` gives columns and what they must be."""
        conditions = [
            audit_events.c[name] == value for name, value in checked(audit_events, where, whole=False).items()
        ]
        query = select(audit_events).where(*conditions).order_by(audit_events.c.id.desc()).limit(limit)
        with self.db.reading() as connection:
            return frozen_rows(connection.execute(query))
