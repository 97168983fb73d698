"""The register of workers, on both databases: invitations work once, leases run out, tokens are kept by nobody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from innkeeper.gate.tier import Tier
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import NotFoundError
from innkeeper.library.workers.states import WorkerState, WorkerStateError
from innkeeper.library.workers.store import WorkerReport, WorkerStore, WorkerTokenError, call_key, digest
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import InnkeeperError
from tests.library.conftest import Fresh

REPORT = WorkerReport(WorkerState.READY, {"chat": True, "models": [{"key": "local"}]}, 2)


class Later:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 0
        self.count = 0

    def now(self) -> Clock:
        minute, second = divmod(self.seconds, 60)
        return Clock.at(f"2026-01-15T12:{minute:02}:{second:02}Z")

    def fresh_id(self) -> str:
        self.count += 1
        return f"worker{self.count}"


@pytest.fixture
def clock() -> Later:
    """The time."""
    return Later()


@pytest.fixture
def store(fresh: Fresh, clock: Later) -> Any:
    """An empty register."""
    with Database.open(fresh(), outside=clock) as db:
        yield WorkerStore(db)


def test_a_life(store: WorkerStore, clock: Later) -> None:
    """Invited, enrolled, alive while it renews; then its lease is over, and it comes back by itself."""
    invitation = store.invite(tier=Tier.NSFW, priority=-1, hosts=["10.0.0.0/8"], who="op")
    worker = store.enrol(invitation, "http://10.0.0.5:7861", REPORT)
    (row,) = store.alive("chat")
    assert (row.id, row.tier_ceiling, row.priority, row.lease_seconds) == (worker.id, "nsfw", -1, 45.0)
    assert (row.hosts, row.slots, row.state) == (("10.0.0.0/8",), 2, "ready")
    clock.seconds = 40
    assert store.renew(worker.id, worker.token, REPORT) is WorkerState.READY
    clock.seconds = 80
    assert [row.lease_seconds for row in store.alive()] == [5.0]
    clock.seconds = 86
    assert store.alive() == ()
    assert store.renew(worker.id, worker.token, REPORT) is WorkerState.READY
    assert len(store.alive()) == 1
    clock.seconds = 0  # the clock is put back: a lease never holds longer than one
    assert store.alive()[0].lease_seconds == 45.0


def test_tokens(store: WorkerStore, clock: Later) -> None:
    """An invitation works once and for a while; a worker's token is its own; no table holds either."""
    late, used = store.invite(minutes=1), store.invite(minutes=10)
    worker = store.enrol(used, "http://w", REPORT)
    clock.seconds = 60
    for token in (late, used, worker.token, "", "\ud800"):
        with pytest.raises(WorkerTokenError):
            store.enrol(token, "http://w", REPORT)
        with pytest.raises(WorkerTokenError):
            store.invitation(token)
    with pytest.raises(WorkerTokenError):
        store.renew(worker.id, used, REPORT)
    with pytest.raises(WorkerTokenError):
        store.check("nobody", worker.token)
    assert store.call_key(worker.id) == call_key(digest(worker.token))
    tables = ("workers", "worker_invitations", "audit_events")
    with store.db.reading() as connection:
        rows = [str(row) for name in tables for row in connection.execute(text(f"SELECT * FROM {name}"))]
    assert not any(token in row for row in rows for token in (late, used, worker.token))
    assert not hasattr(store.list()[0], "token_sha256")


def test_one_of_many_enrols(store: WorkerStore) -> None:
    """Of several that come with the same invitation at once, one enrols."""
    invitation = store.invite()

    def enrol(number: int) -> bool:
        try:
            store.enrol(invitation, f"http://w{number}", REPORT)
        except InnkeeperError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(enrol, range(4))) == 1
    assert len(store.list()) == 1


def test_drain_and_quarantine(store: WorkerStore) -> None:
    """Who drains or is in quarantine gets nothing more, whatever it says; an operator releases it; all of it is on record."""
    drained = store.enrol(store.invite(), "http://a", REPORT)
    outcast = store.enrol(store.invite(), "http://b", REPORT)
    store.move(drained.id, WorkerState.DRAINING, who="op")
    store.move(outcast.id, WorkerState.QUARANTINED, reason="another hash")
    assert store.alive() == ()
    assert store.renew(drained.id, drained.token, REPORT) is WorkerState.DRAINING
    assert store.renew(outcast.id, outcast.token, REPORT) is WorkerState.QUARANTINED
    assert store.get(outcast.id).reason == "another hash"
    with pytest.raises(WorkerStateError):
        store.move(outcast.id, WorkerState.READY)
    store.move(outcast.id, WorkerState.DEAD, who="op")
    assert store.renew(outcast.id, outcast.token, REPORT) is WorkerState.READY
    store.remove(drained.id, who="op")
    with pytest.raises(NotFoundError):
        store.get(drained.id)
    actions = [event.action for event in AuditStore(store.db).newest(resource_type="workers")]
    assert actions[:4] == ["workers.remove", "workers.dead", "workers.quarantined", "workers.draining"]
