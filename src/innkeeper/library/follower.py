"""Follower: a thread that fetches the catalogue as soon as anybody, in whatever process, has changed what it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.library.engine import Database
    from innkeeper.library.watch import Watcher

__all__ = ["Follower"]

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
        from innkeeper.library.watch import Watcher

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
