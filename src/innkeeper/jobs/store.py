"""JobStore: the rows of jobs, changed by compare-and-set, with an event for each change in the same transaction.

Workers take jobs by lease. On SQLite a claim holds the write lock for its two statements, on PostgreSQL rows that another
worker looks at are passed over (``SKIP LOCKED``), so that any number of workers may share one database. Jobs that threads of one
process add at the same time are committed together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import and_, case, delete, func, insert, not_, select, text, update

from innkeeper.jobs.assets import ASSET
from innkeeper.jobs.job import ENDED, NEXT, SCENE_KEY, Job, JobChangedError, JobEvent, JobMissingError, JobState
from innkeeper.jobs.limits import LEASE_SECONDS
from innkeeper.jobs.order import is_due, next_jobs, note_turns
from innkeeper.library.db.engine import Database
from innkeeper.library.db.group_commit import GroupCommit
from innkeeper.library.db.rows import checked, first_row, insert_into, insert_many, insert_new, typed_rows
from innkeeper.library.db.tables.columns import later
from innkeeper.library.db.tables.jobs import job_deliveries, job_events, jobs, webhook_receipts
from innkeeper.library.errors import ConflictError
from innkeeper.library.log.logs import LogStore
from innkeeper.prompt.data import EMPTY, freeze, to_json
from innkeeper.prompt.typed.once import convert

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


_HELD = (JobState.DISPATCHED, JobState.RUNNING, JobState.STORING)
_UNPAID = (JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED)
_MANY = 1_000


_BEGUN = (JobState.CREATED, JobState.QUEUED)
_ADD_ALL = text("""
WITH added AS (
  INSERT INTO jobs SELECT * FROM json_populate_recordset(NULL::jobs, CAST(:rows AS json))
  ON CONFLICT DO NOTHING RETURNING id, created_at
), events AS (
  INSERT INTO job_events (job_id, created_at, event, state)
  SELECT id, created_at, state, state FROM added, unnest(ARRAY['created', 'queued']) WITH ORDINALITY AS begun (state, step)
  ORDER BY id, step
)
SELECT id FROM added
""")
"""Jobs and their first events by one statement with one parameter: the driver takes its time for each of both."""


class JobStep(NamedTuple):
    """A state that a job comes to, and the event that tells of it: named like the state where left out."""

    to: JobState
    event: str = ""
    details: Mapping[str, Any] = EMPTY


class JobStore:
    """The jobs of one database; threads and processes may share it."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._insert = insert_into(db.dialect, jobs).on_conflict_do_nothing().returning(jobs.c.id)
        self._log = LogStore(db)
        self._added = GroupCommit(self._add_all)

    # ---------------------------------------------------------------------------------------------------------- for callers

    def add(self, job: Job, afford: Callable[[], object] | None = None) -> tuple[Job, bool]:
        """Add a job, and tell whether it is new: one of the same owner with the same idempotency key is given back instead.

        ``afford`` raises where the job costs its owner too much; it is asked while nobody else adds one for this owner.

        Raises:
            ConflictError: the key was used for another request.
        """
        values = checked(jobs, msgspec.to_builtins(job))
        if afford is not None:
            new = self._add_affordable(values, afford)
        else:
            new = self._add_all([values])[0] if self.db.in_transaction else self._added(values)
        if new:
            return job, True
        earlier = self.earlier(job.tenant, job.owner, job.idempotency_key, job.request_sha256)
        return earlier or job, False

    def _add_affordable(self, row: dict[str, Any], afford: Callable[[], object]) -> bool:
        with self.db.transaction() as connection:  # of a SQLite file the only one that writes
            if self.db.dialect == "postgresql":
                owner = f"{row['tenant']} {row['owner']}"
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(owner, 0))))
            afford()
            return self._add_all([row])[0]

    def _add_all(self, rows: Sequence[dict[str, Any]]) -> list[bool]:
        """Add rows in one transaction; tells of each whether it is new."""
        with self.db.transaction() as connection:
            written = to_json(rows).decode()
            if self.db.dialect == "postgresql" and "\\u0000" not in written:
                new = set(connection.execute(_ADD_ALL, {"rows": written}).scalars())
            else:
                new = {row.id for row in connection.execute(self._insert, list(rows))}
                begun = ((row["id"], row["created_at"], to) for row in rows if row["id"] in new for to in _BEGUN)
                insert_many(connection, job_events, [_event(name, at, JobStep(to)) for name, at, to in begun])
        return [row["id"] in new for row in rows]

    def earlier(self, tenant: str, owner: str, key: str | None, sha256: str) -> Job | None:
        """The job of an owner with this idempotency key.

        Raises:
            ConflictError: the key was used for another request.
        """
        if key is None:
            return None
        query = select(jobs).where(jobs.c.tenant == tenant, jobs.c.owner == owner, jobs.c.idempotency_key == key)
        with self.db.reading() as connection:
            job = first_row(connection.execute(query), Job)
        if job is not None and job.request_sha256 != sha256:
            raise ConflictError(
                "the idempotency key was used for another request", hint="use a new key for a new request"
            )
        return job

    def get(self, job_id: str, *, tenant: str | None = None, owner: str | None = None) -> Job:
        """The job, where it is of this tenant and owner. Raises `JobMissingError`, also for one of somebody else."""
        query = select(jobs).where(jobs.c.id == job_id, *_mine(tenant, owner))
        with self.db.reading() as connection:
            job = first_row(connection.execute(query), Job)
        if job is None:
            raise JobMissingError(f"there is no job {job_id!r:.80}")
        return job

    def list(
        self, *, tenant: str | None = None, owner: str | None = None, state: str | None = None, limit: int = 50
    ) -> tuple[Job, ...]:
        """The newest jobs, newest first."""
        conditions = [] if state is None else [jobs.c.state == JobState(state)]
        query = select(jobs).where(*_mine(tenant, owner), *conditions)
        with self.db.reading() as connection:
            newest = query.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
            return typed_rows(connection.execute(newest), Job)

    def events(self, job_id: str, after: int = 0) -> tuple[JobEvent, ...]:
        """What happened to a job, oldest first; ``after`` is the last one that was seen."""
        query = select(job_events, job_events.c.created_at.label("at")).order_by(job_events.c.id)
        here = (job_events.c.job_id == job_id, job_events.c.id > after)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(query.where(*here)), JobEvent)

    def spent(self, tenant: str, owner: str, since: str) -> float:
        """What jobs cost that an owner has asked for since a moment, in US dollars; of those under way the estimate."""
        cost = func.coalesce(jobs.c.cost_usd, jobs.c.cost_estimate, 0)
        known = func.coalesce(jobs.c.error_kind, "") != "outcome_unknown"
        unpaid = and_(jobs.c.reference.is_(None), jobs.c.state.in_(_UNPAID), known)
        mine = (*_mine(tenant, owner), jobs.c.created_at >= since, not_(unpaid))
        with self.db.reading() as connection:
            return float(connection.execute(select(func.coalesce(func.sum(cost), 0)).where(*mine)).scalar_one())

    # ------------------------------------------------------------------------------------------------------------- changes

    def move(self, job: Job, to: JobState, event: str = "", details: Mapping[str, Any] = EMPTY, **changes: Any) -> Job:
        """Change a job's state and columns, if it is still as it was read.

        Raises:
            JobChangedError: somebody else has changed it.
        """
        return self.pass_through(job, (JobStep(to, event, details),), **changes)

    def pass_through(
        self, job: Job, steps: Sequence[JobStep], usage: Mapping[str, Any] | None = None, **changes: Any
    ) -> Job:
        """Change a job's state by way of several, each with its event, as one change; ``usage`` is a row of the log of uses.

        Raises:
            JobChangedError: somebody else has changed it.
        """
        before = job.state
        for step in steps:
            if step.to not in NEXT[before]:
                raise JobChangedError(f"a job that is {before} does not become {step.to}")
            before = step.to
        now = self.db.now()
        ended = {"finished_at": now, "lease": None, "lease_until": None} if before in ENDED else {}
        values = {"state": before, "updated_at": now, **ended, **changes}
        with self.db.transaction() as connection:
            moved = self._changed(connection, job, values)
            insert_many(connection, job_events, [_event(job.id, now, step) for step in steps])
            if usage is not None:
                self._log.insert_usage(connection, {"created_at": now, **usage})
            if before in ENDED:
                _settle_scene(connection, moved, now)
                if moved.callback_url:  # the message waits for whoever sends it
                    body = to_json({"type": f"job.{moved.state}", "job": moved.to_dict()}).decode()
                    row = {"id": self.db.fresh_id(), "job_id": job.id, "url": moved.callback_url, "body": body}
                    connection.execute(insert(job_deliveries), checked(job_deliveries, {**row, "due_at": now}))
        return moved

    def change(self, job: Job, **changes: Any) -> Job:
        """Change columns of a job in its state, without an event. Raises `JobChangedError`."""
        with self.db.transaction() as connection:
            return self._changed(connection, job, {"updated_at": self.db.now(), **changes})

    def tell(self, job_id: str, event: str, state: JobState, details: Mapping[str, Any] = EMPTY) -> None:
        """Add an event that changes nothing."""
        with self.db.transaction() as connection:
            connection.execute(insert(job_events), _event(job_id, self.db.now(), JobStep(state, event, details)))

    def take_receipt(self, backend: str, delivery: str) -> bool:
        """Note that a webhook is taken; tells whether it is the first time. In the transaction of what it changes."""
        values = {"backend": backend, "delivery": delivery, "received_at": self.db.now()}
        with self.db.transaction() as connection:
            return insert_new(connection, webhook_receipts, values)

    def forget_receipts(self, before: str) -> None:
        """Let go of webhooks that were taken before a moment: a repeat is refused by its time."""
        with self.db.transaction() as connection:
            connection.execute(delete(webhook_receipts).where(webhook_receipts.c.received_at < before))

    def remove_ended(self, before: str) -> int:
        """Delete jobs that ended before a moment, with their events; returns how many."""
        with self.db.transaction() as connection:
            return connection.execute(delete(jobs).where(jobs.c.finished_at < before)).rowcount

    # --------------------------------------------------------------------------------------------------------- for workers

    def is_anything_due(self) -> bool:
        """Whether a job waits for a worker. Cheap: nothing is locked."""
        with self.db.reading() as connection:
            return connection.execute(select(jobs.c.id).where(is_due(self.db.now())).limit(1)).first() is not None

    def claim(
        self, worker: str, limit: int, seconds: float = LEASE_SECONDS, *, waiting: Collection[str] = ()
    ) -> tuple[Job, ...]:
        """Take up to ``limit`` jobs that are due, in the order of `next_jobs`; queued ones are ``dispatched`` from here on.

        Those of the backends ``waiting``, which are asked and waited for, are ``running`` at once.
        """
        now = self.db.now()
        due = next_jobs(now, limit)
        if self.db.dialect == "postgresql":
            due = due.with_for_update(skip_locked=True, of=jobs)
        taken = due.cte("taken")  # looked at once, whatever a planner makes of it
        queued = jobs.c.state == JobState.QUEUED.value
        begun = case((jobs.c.backend.in_(sorted(waiting)), JobState.RUNNING.value), else_=JobState.DISPATCHED.value)
        values = {
            "state": case((queued, begun), else_=jobs.c.state),
            "attempt": jobs.c.attempt + case((queued, 1), else_=0),
            "version": jobs.c.version + 1,
            "lease": worker,
            "lease_until": later(now, seconds),
            "updated_at": now,
        }
        change = update(jobs).where(jobs.c.id.in_(select(taken.c.id))).values(values).returning(jobs)
        with self.db.transaction() as connection:
            claimed = typed_rows(connection.execute(change), Job)
            note_turns(connection, claimed, now)
            insert_many(connection, job_events, [event for job in claimed for event in _begun(job, now)])
        return tuple(sorted(claimed, key=lambda job: (-job.priority, job.due_at, job.id)))

    def renew(self, worker: str, held: Iterable[str], seconds: float = LEASE_SECONDS) -> None:
        """Say that a worker is still at these jobs."""
        values = {"lease_until": later(self.db.now(), seconds)}
        with self.db.transaction() as connection:
            connection.execute(update(jobs).where(jobs.c.id.in_(list(held)), jobs.c.lease == worker).values(values))

    def leases(self) -> dict[str, str]:
        """Until when workers hold jobs, by the jobs' ids."""
        query = select(jobs.c.id, jobs.c.lease_until).where(jobs.c.lease.is_not(None), jobs.c.state.in_(_HELD))
        with self.db.reading() as connection:
            return {row.id: row.lease_until or "" for row in connection.execute(query.limit(_MANY))}

    def overdue(self) -> tuple[Job, ...]:
        """The jobs whose deadline has passed."""
        query = select(jobs).where(jobs.c.deadline < self.db.now(), jobs.c.finished_at.is_(None))
        with self.db.reading() as connection:
            return typed_rows(connection.execute(query.order_by(jobs.c.id).limit(_MANY)), Job)

    def to_cancel(self, limit: int) -> tuple[Job, ...]:
        """Take jobs that have ended here and whose provider is still to be told; each is put off before it is tried."""
        now = self.db.now()
        query = select(jobs.c.id).where(jobs.c.cancel_due <= now).order_by(jobs.c.cancel_due).limit(limit)
        if self.db.dialect == "postgresql":
            query = query.with_for_update(skip_locked=True)
        with self.db.reading() as connection:
            if connection.execute(select(jobs.c.id).where(jobs.c.cancel_due <= now).limit(1)).first() is None:
                return ()
        values = {
            "cancel_due": later(now, LEASE_SECONDS),
            "cancel_tries": jobs.c.cancel_tries + 1,
            "version": jobs.c.version + 1,
        }
        with self.db.transaction() as connection:
            ids = list(connection.execute(query).scalars())
            taken = update(jobs).where(jobs.c.id.in_(ids)).values(values).returning(jobs)
            return typed_rows(connection.execute(taken), Job) if ids else ()

    def _changed(self, connection: Connection, job: Job, values: Mapping[str, Any]) -> Job:
        columns = {**checked(jobs, values, whole=False), "version": job.version + 1}
        seen = (jobs.c.id == job.id, jobs.c.version == job.version)
        if connection.execute(update(jobs).where(*seen).values(columns)).rowcount != 1:
            raise JobChangedError(f"the job {job.id} was changed by somebody else")
        return msgspec.structs.replace(job, **{name: convert(freeze(columns[name]), _TYPES[name]) for name in columns})


_TYPES = {field.name: field.type for field in msgspec.structs.fields(Job)}


def _event(job_id: str, at: str, step: JobStep) -> dict[str, Any]:
    event, state = step.event or step.to.value, step.to.value
    return {"job_id": job_id, "created_at": at, "event": event, "state": state, "details": dict(step.details)}


def _begun(job: Job, at: str) -> list[dict[str, Any]]:
    """What is told of a job that was claimed: nothing of one that its provider has already."""
    if job.state is not JobState.DISPATCHED and (job.state is not JobState.RUNNING or job.reference is not None):
        return []
    ways = (JobState.DISPATCHED,) if job.state is JobState.DISPATCHED else (JobState.DISPATCHED, JobState.RUNNING)
    return [_event(job.id, at, JobStep(to, details={"attempt": job.attempt})) for to in ways]


def _settle_scene(connection: Connection, job: Job, now: str) -> None:
    """Write to the scene what became of its job. What scenes need is imported for their jobs alone."""
    key = job.idempotency_key or ""
    if not key.startswith(SCENE_KEY):
        return
    from innkeeper.library.log.scenes import settle_scene

    image = f"{ASSET}{job.results[0].name}" if job.results else None
    facts = {name: getattr(job, name) for name in ("id", "tenant", "owner", "error_kind")}
    settle_scene(connection, key.removeprefix(SCENE_KEY), {**facts, "state": job.state.value, "image": image}, now)


def _mine(tenant: str | None, owner: str | None) -> list[Any]:
    conditions = [] if tenant is None else [jobs.c.tenant == tenant]
    return conditions if owner is None else [*conditions, jobs.c.owner == owner]
