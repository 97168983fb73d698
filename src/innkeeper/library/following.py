"""Follower: fetches the catalogue anew as soon as the database says that it changed, in a thread of its own.

Without one a process learns of a publication when it is next asked, and answers that question from before it. With one it
answers from the new catalogue a moment after the publication, asked or not.
"""

from __future__ import annotations

import threading
from typing import Final, Protocol, Self

from innkeeper.library.catalogue.sources import Sources
from innkeeper.prompt.errors import InnkeeperError

__all__ = ["Follower", "Watch"]

_TURN: Final = 1.0
"""Seconds of one wait; so long may closing take."""

_PAUSE: Final = 0.5
"""Seconds before a database that failed is watched again."""


class Watch(Protocol):
    """Tells of changes: `innkeeper.library.catalogue.follower.Watcher` does."""

    def wait(self, timeout: float) -> int | None:
        """The new revision, or None after so many seconds."""
        ...

    def close(self) -> None:
        """Stop waiting."""
        ...


class Follower:
    """Keeps a chain up to date while it is open. Use it as a context manager, or call `start` and `close`."""

    def __init__(self, sources: Sources, watch: Watch, *, pause: float = _PAUSE) -> None:
        self._sources, self._watch, self._pause = sources, watch, pause
        self._stopped = threading.Event()
        self._missed = False
        self._thread = threading.Thread(target=self._run, name="innkeeper-follower", daemon=True)

    def step(self) -> bool:
        """Wait once. Returns whether the catalogue was fetched: after a change, and after the database was away."""
        try:
            revision = self._watch.wait(_TURN)
        except InnkeeperError:
            self._missed = True
            self._stopped.wait(self._pause)
            return False
        if (revision is None and not self._missed) or self._stopped.is_set():
            return False
        self._missed = False
        self._sources.invalidate()
        self._sources.refresh()
        return True

    def start(self) -> Self:
        """Start following."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop, and wait until the thread has."""
        self._stopped.set()
        self._watch.close()
        if self._thread.ident is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.step()
