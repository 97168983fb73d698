"""The tables of jobs, beside those of `innkeeper.library.db.tables.templates` and `innkeeper.library.db.tables.logs`.

Those of scenes are in `innkeeper.library.db.tables.scenes`, where who wants all tables takes ``metadata`` from.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Boolean, Column, ForeignKey, Index, String, Table, Text, TextClause, UniqueConstraint, text

from innkeeper.library.db.tables.columns import (
    Moment,
    created,
    decimal,
    integer,
    json_column,
    one_of,
    row_id,
    serial,
    text_column,
    tier,
)
from innkeeper.library.db.tables.logs import metadata as metadata  # noqa: PLC0414 - the modules of tables load each other

DUE: Final = "state IN ('queued', 'running', 'storing') AND lease IS NULL"
"""The condition of jobs that wait for a worker, word for word as the index has it that claims go by."""


def _index(name: str, where: str, *columns: str | TextClause) -> Index:
    """An index of the few rows that a condition is true of, so that a job leaves it when it has ended."""
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))


jobs: Final = Table(
    "jobs",
    metadata,
    row_id(),
    text_column("tenant", ""),
    text_column("owner", ""),
    text_column("idempotency_key"),
    text_column("request_sha256", ""),
    Column("mode", String, nullable=False),
    one_of("mode", "t2i", "i2i", "t2v", "i2v"),
    Column("backend", String, nullable=False),
    Column("model_key", String, nullable=False),
    json_column("request", "{}"),
    json_column("body", "{}"),
    json_column("notes", "[]"),
    *tier("tier"),
    Column("state", String, nullable=False),
    one_of(
        "state",
        *("created", "queued", "dispatched", "running", "storing", "succeeded", "failed", "cancelled", "expired"),
    ),
    text_column("error_kind"),
    text_column("error_message"),
    Column("retryable", Boolean),
    integer("attempt", 0),
    integer("max_attempts", 5),
    Column("due_at", Moment, nullable=False),
    Column("deadline", Moment, nullable=False),
    text_column("lease"),
    Column("lease_until", Moment),
    json_column("reference"),
    json_column("outputs", "[]"),
    json_column("results", "[]"),
    decimal("progress", 6, 4),
    decimal("cost_estimate", 12, 6),
    decimal("cost_usd", 12, 6),
    text_column("callback_url"),
    Column("cancel_due", Moment),
    integer("cancel_tries", 0),
    integer("version", 1),
    created(),
    created("updated_at"),
    Column("finished_at", Moment),
    json_column("route"),
    integer("priority", 0),
    UniqueConstraint("tenant", "owner", "idempotency_key", name="asked_once"),
    _index("ix_jobs_due", DUE, "due_at", "id"),
    _index("ix_jobs_turn", DUE, "tenant", "owner", text("priority DESC"), "due_at", "id", "state", "lease"),
    _index("ix_jobs_held", "lease IS NOT NULL", "tenant", "owner"),
    _index("ix_jobs_deadline", "finished_at IS NULL", "deadline"),
    _index("ix_jobs_lease", "lease IS NOT NULL", "lease_until"),
    _index("ix_jobs_cancel", "cancel_due IS NOT NULL", "cancel_due"),
    Index("ix_jobs_owner", "tenant", "owner", "created_at"),
)
"""One row a job. ``version`` grows with every change of its state: who changes it names the one that he has seen."""

job_turns: Final = Table(
    "job_turns",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("owner", String, primary_key=True),
    Column("taken_at", Moment, nullable=False),
)
"""When a job of a caller was taken last, so that of callers whose turn it is the one who has waited longest comes first."""

job_events: Final = Table(
    "job_events",
    metadata,
    serial(),
    Column("job_id", String, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    created(),
    Column("event", String, nullable=False),
    text_column("state", ""),
    json_column("details", "{}"),
    Index("ix_job_events_job", "job_id", "id"),
)

job_deliveries: Final = Table(
    "job_deliveries",
    metadata,
    row_id(),
    Column("job_id", String, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("state", String, nullable=False, default="waiting", server_default="waiting"),
    one_of("state", "waiting", "delivered", "dead"),
    integer("attempt", 0),
    Column("due_at", Moment, nullable=False),
    text_column("error", ""),
    created(),
    Index("ix_job_deliveries_due", "state", "due_at"),
)
"""Messages about jobs that have ended, to whoever asked for them."""

webhook_receipts: Final = Table(
    "webhook_receipts",
    metadata,
    Column("backend", String, primary_key=True),
    Column("delivery", String, primary_key=True),
    Column("received_at", Moment, nullable=False, index=True),
)
"""Webhooks that were taken, so that none counts twice."""
