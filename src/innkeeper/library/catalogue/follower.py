"""Follower: a thread that fetches the catalogue as soon as any process has changed what it holds.

Its `Watcher` learns of a change within a moment: PostgreSQL announces it, and the revision is polled in case an announcement
got lost.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

from innkeeper.library.db.driver_errors import translated
from innkeeper.library.db.engine import Database
from innkeeper.library.db.schema import CHANNEL
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

__all__ = ["POLL", "Follower", "Watcher"]

_LOOK: Final = 5.0
"""How long one wait for a change lasts before it begins anew, in seconds."""

_REST: Final = 0.5
"""How long the thread rests after the database failed, in seconds."""


class Follower:
    """Calls ``changed`` after each change of a database, and after it came back from a failure.

    Args:
        database: gives the open database; may raise `DatabaseError`.
        changed: fetches what changed; raises nothing.
    """

    def __init__(self, database: Callable[[], Database], changed: Callable[[], object]) -> None:
        self._database, self._changed = database, changed
        self._stopped = threading.Event()
        self._watcher: Watcher | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="innkeeper-follower", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait until the thread has ended."""
        self._stopped.set()
        with self._lock:
            watcher = self._watcher
        if watcher is not None:
            watcher.close()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_LOOK + 1)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except InnkeeperError:
                self._stopped.wait(_REST)
            finally:
                self._let_go()

    def _follow(self) -> None:
        """Follow until the database fails. What changed before the first look is fetched by the first call."""
        watcher = Watcher(self._database())
        with self._lock:
            self._watcher = watcher
        self._changed()
        while not self._stopped.is_set():
            if watcher.wait(_LOOK) is not None:
                self._changed()

    def _let_go(self) -> None:
        with self._lock:
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close()


POLL: Final = 0.25
"""Seconds between two looks at the revision. PostgreSQL announces changes; the look is for announcements that got lost."""


class Watcher:
    """Follows the revision of one database. Not for several threads at once, except for `close`.

    On PostgreSQL it listens on a connection of its own, and makes a new one after that was lost.
    """

    def __init__(self, db: Database, *, poll: float = POLL) -> None:
        self.db = db
        self.seen = db.revision()
        self._poll = poll
        self._closed = threading.Event()
        self._busy = threading.Lock()
        self._listening: Connection | None = None

    def changed(self) -> bool:
        """Whether the revision is another one than at the last look. Raises `DatabaseError`."""
        before, self.seen = self.seen, self.db.revision()
        return self.seen != before

    def wait(self, timeout: float) -> int | None:
        """The new revision as soon as there is one; None after ``timeout`` seconds or when closed. Raises `DatabaseError`."""
        with self._busy:
            return self._wait(time.monotonic() + timeout)

    def _wait(self, until: float) -> int | None:
        self._listen()  # before the first look, so that no change falls between the two
        while not self._closed.is_set():
            if self.changed():
                return self.seen
            left = until - time.monotonic()
            if left <= 0:
                return None
            self._pause(min(self._poll, left))
        return None

    def close(self) -> None:
        """Stop waiting, in whatever thread that happens, and give the connection back."""
        self._closed.set()
        with self._busy:
            self._hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        if self.db.dialect != "postgresql" or self._closed.is_set() or self._listening is not None:
            return
        with translated(self.db.place):
            connection = self.db.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql(f"LISTEN {CHANNEL}")
            self._listening = connection

    def _pause(self, seconds: float) -> None:
        """Sleep until something is announced or the time is over."""
        listening, socket = self._listening, self._socket()
        if listening is None or socket is None:
            self._closed.wait(seconds)
            return
        ready, _, _ = select.select([socket], [], [], seconds)
        if ready:
            self._take(listening)

    def _socket(self) -> Any:
        """The socket on which announcements arrive; drivers that do not show it are polled."""
        driver = None if self._listening is None else self._listening.connection.driver_connection
        return getattr(driver, "_usock", None)

    def _take(self, listening: Connection) -> None:
        """Let the driver read what was announced. Where the connection was lost, the next `wait` makes another."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            listening.exec_driver_sql("SELECT 1")
        except SQLAlchemyError:
            self._hang_up()

    def _hang_up(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.invalidate()  # it listens: nobody else should get it
            listening.close()
