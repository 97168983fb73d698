"""WorkerStore: workers are invited, enrol once, and are there as long as they renew their lease.

An invitation is a token that works once and for a while. Who enrols with it gets a token of its own; both are kept as digests.
What a worker demands of those who call it is derived from the digest of its token (`call_key`): both sides know it, and neither
has to store it. Every change but a renewal is an audit event, in the same transaction.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from innkeeper.gate.tier import Tier
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import checked, record, typed_rows
from innkeeper.library.db.tables.columns import moment_text
from innkeeper.library.db.tables.templates import worker_invitations, workers
from innkeeper.library.errors import NotFoundError
from innkeeper.library.workers.states import InvitationRow, WorkerRow, WorkerState
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.machine import random_bytes

LEASE_SECONDS: Final = 45.0
"""How long a lease holds that is not renewed."""

BEAT_SECONDS: Final = 15.0
"""How often a worker renews it."""

INVITATION_MINUTES: Final = 60.0
"""How long an invitation holds where nothing else is said."""

_TABLE: Final = "workers"


class WorkerTokenError(UsageError):
    """A token that no invitation or worker has, that was used, or whose time is over; it is not told which."""

    http_status = 401
    HINT = "`innkeeper admin worker invite` makes a token that works once"


class WorkerReport(NamedTuple):
    """What a worker says of itself."""

    state: WorkerState = WorkerState.READY
    capabilities: Mapping[str, Any] = FrozenDict()
    slots: int = 1


class Enrolled(NamedTuple):
    """A worker that has enrolled: its id, and its token, which is shown this once."""

    id: str
    token: str


class WorkerStore:
    """The workers of one database."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def invite(
        self,
        *,
        hosts: Iterable[str] = (),
        tier: Tier = Tier.SFW,
        priority: int = 0,
        minutes: float = INVITATION_MINUTES,
        who: str = "",
    ) -> str:
        """A token with which one worker may enrol.

        Args:
            hosts: where the worker may be although that is not on the open internet, as `Egress` has them.
            tier: the highest tier that it will be asked for.
            priority: lower is tried first.
            minutes: how long the token holds.
            who: for the audit.
        """
        token = _token()
        now = self.db.now()
        row = {
            "token_sha256": digest(token),
            "hosts": list(hosts),
            "tier_ceiling": tier.value,
            "priority": priority,
            "created_by": who,
            "created_at": now,
            "expires_at": _later(now, minutes * 60),
        }
        with self.db.transaction() as connection:
            connection.execute(insert(worker_invitations), checked(worker_invitations, row))
            details = {"hosts": row["hosts"], "tier_ceiling": tier.value}
            record(connection, now, who, f"{_TABLE}.invite", (_TABLE, ""), details=details)
        return token

    def invitation(self, token: str) -> InvitationRow:
        """The invitation of a token that still works. Raises `WorkerTokenError`."""
        with self.db.reading() as connection:
            return self._invitation(connection, token)

    def enrol(self, invitation: str, url: str, report: WorkerReport, *, kind: str = "chat") -> Enrolled:
        """Enter a worker, and use its invitation up. Raises `WorkerTokenError`, `FieldError`."""
        with self.db.transaction() as connection:
            invited, now = self._invitation(connection, invitation), self.db.now()
            enrolled = Enrolled(self.db.fresh_id(), _token())
            used = update(worker_invitations).where(
                worker_invitations.c.token_sha256 == invited.token_sha256, worker_invitations.c.used_at.is_(None)
            )
            values = checked(worker_invitations, {"used_at": now, "used_by": enrolled.id}, whole=False)
            if connection.execute(used.values(values)).rowcount != 1:
                raise _refused()
            row = {
                "id": enrolled.id,
                "kind": kind,
                "url": url,
                "hosts": list(invited.hosts),
                "priority": invited.priority,
                "tier_ceiling": invited.tier_ceiling.value,
                "token_sha256": digest(enrolled.token),
                "created_at": now,
                **self._renewal(now, report, WorkerState.STARTING.reported(report.state)),
            }
            connection.execute(insert(workers), checked(workers, row))
            record(connection, now, enrolled.id, f"{_TABLE}.enrol", (_TABLE, enrolled.id), details={"url": url})
        return enrolled

    def renew(self, worker_id: str, token: str, report: WorkerReport) -> WorkerState:
        """Renew a lease; the state that the worker is in, which may be another than it says. Raises `WorkerTokenError`."""
        with self.db.transaction() as connection:
            row, now = self._own(connection, worker_id, token), self.db.now()
            state = row.state.reported(report.state)
            values = checked(workers, self._renewal(now, report, state), whole=False)
            connection.execute(update(workers).where(workers.c.id == worker_id).values(values))
        return state

    def check(self, worker_id: str, token: str) -> None:
        """Let a worker pass that shows its token. Raises `WorkerTokenError`."""
        with self.db.reading() as connection:
            self._own(connection, worker_id, token)

    def move(self, worker_id: str, state: WorkerState, *, reason: str = "", who: str = "") -> None:
        """Put a worker into a state. Raises `NotFoundError`, `WorkerStateError`."""
        with self.db.transaction() as connection:
            row, now = self._get(connection, worker_id), self.db.now()
            after = row.state.become(state)
            values = checked(workers, {"state": after.value, "reason": reason}, whole=False)
            connection.execute(update(workers).where(workers.c.id == worker_id).values(values))
            states = ({"state": row.state.value}, {"state": after.value, "reason": reason})
            record(connection, now, who, f"{_TABLE}.{after.value}", (_TABLE, worker_id), states)

    def remove(self, worker_id: str, *, who: str = "") -> None:
        """Take a worker out; its token is worth nothing any more. Raises `NotFoundError`."""
        with self.db.transaction() as connection:
            row = self._get(connection, worker_id)
            connection.execute(delete(workers).where(workers.c.id == worker_id))
            before = {"url": row.url, "state": row.state.value}
            record(connection, self.db.now(), who, f"{_TABLE}.remove", (_TABLE, worker_id), (before, None))

    def get(self, worker_id: str) -> WorkerRow:
        """One worker, as `list` has it. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            return self._shown(self._get(connection, worker_id))

    def list(self, **where: Any) -> tuple[WorkerRow, ...]:
        """The workers by age, without what is secret. ``lease_seconds`` is what is left of a lease: 0 where it is over."""
        conditions = [workers.c[name] == value for name, value in checked(workers, where, whole=False).items()]
        query = select(workers).where(*conditions).order_by(workers.c.created_at, workers.c.id)
        with self.db.reading() as connection:
            return tuple(self._shown(row) for row in typed_rows(connection.execute(query), WorkerRow))

    def alive(self, kind: str | None = None) -> tuple[WorkerRow, ...]:
        """The workers to which requests may go: those that work and hold a lease, by priority."""
        rows = self.list() if kind is None else self.list(kind=kind)
        alive = [row for row in rows if row.state.working and row.lease_seconds > 0]
        return tuple(sorted(alive, key=lambda row: (row.priority, row.id)))

    def call_key(self, worker_id: str) -> str:
        """The key with which to call a worker. Raises `NotFoundError`."""
        with self.db.reading() as connection:
            token_sha256 = self._token_sha256(connection, worker_id)
        if token_sha256 is None:
            raise _no_worker(worker_id)
        return call_key(token_sha256)

    def _renewal(self, now: str, report: WorkerReport, state: WorkerState) -> dict[str, Any]:
        facts = {"capabilities": dict(report.capabilities), "slots": report.slots, "state": state.value}
        return {**facts, "beat_at": now, "lease_until": _later(now, LEASE_SECONDS)}

    def _invitation(self, connection: Connection, token: str) -> InvitationRow:
        query = select(worker_invitations).where(worker_invitations.c.token_sha256 == digest(token))
        rows = typed_rows(connection.execute(query), InvitationRow)
        if not rows or rows[0].used_at is not None or rows[0].expires_at <= self.db.now():
            raise _refused()
        return rows[0]

    def _own(self, connection: Connection, worker_id: str, token: str) -> WorkerRow:
        token_sha256 = self._token_sha256(connection, worker_id)
        if token_sha256 is None or not hmac.compare_digest(token_sha256, digest(token)):
            raise _refused()
        return self._get(connection, worker_id)

    def _token_sha256(self, connection: Connection, worker_id: str) -> str | None:
        query = select(workers.c.token_sha256).where(workers.c.id == worker_id)
        return connection.execute(query).scalar_one_or_none()

    def _get(self, connection: Connection, worker_id: str) -> WorkerRow:
        rows = typed_rows(connection.execute(select(workers).where(workers.c.id == worker_id)), WorkerRow)
        if not rows:
            raise _no_worker(worker_id)
        return rows[0]

    def _shown(self, row: WorkerRow) -> WorkerRow:
        left = (_moment(row.lease_until) - _moment(self.db.now())).total_seconds()
        return msgspec.structs.replace(row, lease_seconds=max(0.0, min(left, LEASE_SECONDS)))


def digest(token: str) -> str:
    """How a token is kept."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def call_key(token_sha256: str) -> str:
    """The key that a worker wants of its callers, from the digest of its token."""
    return hmac.new(bytes.fromhex(token_sha256), b"innkeeper worker call", sha256).hexdigest()


def _token() -> str:
    return random_bytes(32).hex()


def _refused() -> WorkerTokenError:
    return WorkerTokenError("this token opens nothing here")


def _no_worker(worker_id: str) -> NotFoundError:
    return NotFoundError(f"there is no worker {worker_id!r:.80}", where=Where(asset=_TABLE))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _later(now: str, seconds: float) -> str:
    return moment_text(_moment(now) + timedelta(seconds=seconds))
