"""Watching: a change that another process makes is seen at once, on both databases."""

import subprocess
import sys
import threading
import time

import pytest

from innkeeper.library.engine import Database
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.stores import SettingsStore
from innkeeper.library.watch import Watcher

PROMPTLY = 2.0
"""Seconds within which a change is visible everywhere: a promise."""


def test_a_change_of_another_process_is_seen_within_two_seconds(db: Database, url: str) -> None:
    """What another process publishes wakes who waits, with the new revision."""
    code = (
        "import sys, time; from innkeeper.library.engine import Database\n"
        "from innkeeper.library.stores import SettingsStore\n"
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
