"""Follower: it calls after each change, comes back after a failure, and stops when told."""

from __future__ import annotations

import threading
from collections.abc import Callable

from innkeeper.library.engine import Database
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.follower import Follower
from innkeeper.library.stores import SettingsStore


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


def following(database: Callable[[], Database], calls: Calls) -> Follower:
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
