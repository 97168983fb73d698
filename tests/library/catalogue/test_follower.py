"""Follower: it calls after each change, comes back after a failure, and stops when told."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from innkeeper.library.catalogue.database_source import DatabaseSource
from innkeeper.library.catalogue.follower import Follower, Watcher
from innkeeper.library.catalogue.resolver import ResolveRequest
from innkeeper.library.catalogue.sources import Sources
from innkeeper.library.db.engine import Database
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.models.stores import SettingsStore
from innkeeper.library.templates.store import TemplateStore
from tests.library.drafts import draft

ASK = ResolveRequest(use_case="enhancement", job_type="image", target_model="sdxl")


class Calls:
    """Counts calls and lets others wait for them."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def reach(self, count: int) -> bool:
        """Whether there were so many calls, within a while."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count >= count, timeout=10)


def following(database: Callable[[], Database], calls: Callable[[], object]) -> Follower:
    """A follower that has begun."""
    follower = Follower(database, calls)
    follower.start()
    return follower


def test_changes_are_followed(db: Database) -> None:
    """It calls once at the start and once after a change, and no more after it was stopped."""
    calls = Calls()
    follower = following(lambda: db, calls)
    assert calls.reach(1)
    SettingsStore(db).set("a", 1)
    assert calls.reach(2)
    follower.stop()
    SettingsStore(db).set("a", 2)
    assert calls.count == 2


def test_it_comes_back(db: Database) -> None:
    """After the database was away it goes on following, and calls, since something may have changed."""
    calls, failures = Calls(), [DatabaseUnreachableError("away")]

    def database() -> Database:
        if failures:
            raise failures.pop()
        return db

    follower = following(database, calls)
    assert calls.reach(1)
    follower.stop()


def test_it_may_be_stopped_from_inside(db: Database) -> None:
    """Who is called may stop it."""
    done = threading.Event()

    def stop() -> None:
        follower.stop()
        done.set()

    follower = Follower(lambda: db, stop)
    follower.start()
    assert done.wait(10)
    follower.stop()


def test_one_that_never_started_can_be_stopped(db: Database) -> None:
    """Stopping does nothing where nothing runs, and nothing is fetched by it."""
    calls = Calls()
    Follower(lambda: db, calls).stop()
    assert calls.count == 0


def test_a_publication_is_seen_by_all(url: str) -> None:
    """What one process publishes another has in memory, without being asked in between."""
    with Database.open(url) as writer, Database.open(url) as reader:
        chain = Sources(DatabaseSource(reader))
        TemplateStore(writer).publish(draft("first"))
        fetched = Calls()

        def refresh() -> None:
            chain.refresh()
            fetched()

        follower = following(lambda: reader, refresh)
        assert fetched.reach(1)
        TemplateStore(writer).publish(draft("first", "Other {{subject}}."))
        assert fetched.reach(2)
        version = chain.resolve(ASK).template
        follower.stop()
    assert version is not None
    assert version.version == 2


PROMPTLY = 2.0
"""Seconds within which a change is visible everywhere: a promise."""


def test_a_change_of_another_process_is_seen_within_two_seconds(db: Database, url: str) -> None:
    """What another process publishes wakes who waits, with the new revision."""
    code = (
        "import sys, time; from innkeeper.library.db.engine import Database\n"
        "from innkeeper.library.models.stores import SettingsStore\n"
        "with Database.open(sys.argv[1]) as db:\n"
        "    SettingsStore(db).set('a', 1); print(time.time(), flush=True)\n"
    )
    with Watcher(db) as watcher:
        seen = watcher.seen
        with subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True) as other:
            found = watcher.wait(60)
            at = time.time()
            assert other.stdout is not None
            published = float(other.stdout.readline())
        assert found is not None
        assert found > seen
        assert at - published < PROMPTLY


def test_nothing_happens(db: Database) -> None:
    """Without a change, waiting ends after its time, and a look says no."""
    with Watcher(db, poll=0.01) as watcher:
        assert not watcher.changed()
        assert watcher.wait(0.05) is None


def test_a_change_before_waiting_is_not_lost(db: Database) -> None:
    """What changed between two calls is told by the next one, once."""
    with Watcher(db) as watcher:
        assert watcher.wait(0) is None
        SettingsStore(db).set("a", 1)
        assert watcher.wait(60) == db.revision()
        assert watcher.wait(0) is None


def test_close_ends_the_waiting_of_another_thread(db: Database) -> None:
    """Who waits is let go when the watcher is closed, and it stays closed."""
    watcher, answers = Watcher(db, poll=0.01), []
    thread = threading.Thread(target=lambda: answers.append(watcher.wait(60)))
    thread.start()
    watcher.close()
    thread.join(30)
    assert answers == [None]
    assert watcher.wait(60) is None


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_a_lost_connection_is_made_anew(db: Database) -> None:
    """A server that cut the watcher's connection costs an error at most; changes are seen afterwards."""
    with Watcher(db, poll=0.01) as watcher:
        watcher.wait(0)
        with Database.open(db.target.url) as other, other.transaction() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        for _ in range(3):
            try:
                watcher.wait(0.2)
            except DatabaseUnreachableError:
                continue
        SettingsStore(db).set("a", 1)
        assert watcher.wait(60) == db.revision()
