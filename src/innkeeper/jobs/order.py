"""Order: which jobs are carried out next. Callers take turns; a priority orders the jobs of one caller alone.

A job's turn is the number of its caller's jobs that workers hold and that come before it. Among jobs of the same turn the one
comes first whose caller has waited longest since its last. So a caller who asks for a thousand pictures, or gives each the
highest priority, holds up nobody who asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, text

from innkeeper.jobs.limits import LONGEST_WAIT, MAX_PRIORITY
from innkeeper.library.db.rows import upsert
from innkeeper.library.db.tables.columns import later
from innkeeper.library.db.tables.jobs import DUE, job_turns, jobs
from innkeeper.prompt.errors import LimitError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from innkeeper.jobs.job import Job

_AHEAD: Final = 64
"""Further jobs of a caller that are looked at: other workers may be taking its first ones just now."""


def check_priority(priority: int) -> None:
    """Raise `LimitError` for a priority that is further from 0 than `MAX_PRIORITY`."""
    if abs(priority) > MAX_PRIORITY:
        raise LimitError("priority of a job", limit="MAX_PRIORITY", allowed=MAX_PRIORITY, found=priority)


def is_due(now: str) -> ColumnElement[bool]:
    """Waiting, in nobody's hands, and due: now, or so late that the clock must have been set back since."""
    when = or_(jobs.c.due_at <= now, jobs.c.due_at > later(now, LONGEST_WAIT + 60))
    return and_(text(DUE), when)


def next_jobs(now: str, limit: int) -> Select[Any]:
    """Asks for the identifiers of the jobs whose turn it is, at most ``limit``.

    The jobs of each caller are numbered along ``ix_jobs_turn``; only the first of each are looked at further.
    """
    caller = (jobs.c.tenant, jobs.c.owner)
    held = select(*caller, func.count().label("held")).where(jobs.c.lease.is_not(None)).group_by(*caller).subquery()
    number = func.row_number().over(partition_by=caller, order_by=(jobs.c.priority.desc(), jobs.c.due_at, jobs.c.id))
    numbered = select(jobs.c.id, *caller, number.label("number")).where(is_due(now)).subquery()
    first = select(numbered).where(numbered.c.number <= limit + _AHEAD).subquery()
    due = select(jobs.c.id).join(first, first.c.id == jobs.c.id).where(is_due(now))
    due = due.outerjoin(held, and_(held.c.tenant == first.c.tenant, held.c.owner == first.c.owner))
    due = due.outerjoin(job_turns, and_(job_turns.c.tenant == first.c.tenant, job_turns.c.owner == first.c.owner))
    turn = first.c.number + func.coalesce(held.c.held, 0)
    return due.order_by(turn, job_turns.c.taken_at.nulls_first(), jobs.c.due_at, jobs.c.id).limit(limit)


def note_turns(connection: Connection, taken: Iterable[Job], now: str) -> None:
    """Write down that these callers have had a turn, in the transaction that takes their jobs."""
    for tenant, owner in sorted({(job.tenant, job.owner) for job in taken}):  # one order: no two wait for each other
        upsert(connection, job_turns, {"tenant": tenant, "owner": owner, "taken_at": now})
