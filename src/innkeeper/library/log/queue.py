"""LogQueue: rows on their way to the log. Answers never wait for them: a thread writes them, many in one transaction.

The queue is bounded. What does not fit is dropped, counted, and told to the caller. While the database refuses, rows wait and
are tried again, at growing intervals; a row that the database cannot hold is dropped alone. Closing waits a while for the rest.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.library.errors import DatabaseError
from innkeeper.library.limits import MAX_LOG_CHARS, MAX_LOG_ROWS
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.library.db.engine import Database
    from innkeeper.library.log.metrics import Metrics


_LOG: Final = logging.getLogger("innkeeper.library")
_BATCH: Final = 200
_GATHER: Final = 0.05
"""Seconds for which a row waits for others: a transaction costs twice what a row does. Rows of the audit wait for none."""

_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 30.0
_CLOSING: Final = 10.0
"""Seconds that closing waits for what is not written yet."""


class QueuedRow(msgspec.Struct, frozen=True):
    """One row: how it is written, whole or not at all, which ``kind`` it is (``log``, ``audit``), and its characters."""

    write: Callable[[Database], object]
    kind: str = "log"
    chars: int = 0


class LogFigures(msgspec.Struct, frozen=True):
    """The queue in numbers: rows that wait, were written, and were dropped; and, while it refuses, why the database does."""

    waiting: int
    written: int
    dropped: int
    problem: str = ""


class LogQueue:
    """The queue of one library. Threads may share it.

    Args:
        database: gives the open database; may raise `DatabaseError`.
        metrics: counts what was written, what failed and what was dropped.
        rows: how many rows wait at most.
        chars: how many characters they hold together at most.
    """

    def __init__(
        self,
        database: Callable[[], Database],
        metrics: Metrics,
        *,
        rows: int = MAX_LOG_ROWS,
        chars: int = MAX_LOG_CHARS,
    ) -> None:
        self._database, self._metrics = database, metrics
        self._rows, self._chars = rows, chars
        self._waiting: deque[QueuedRow] = deque()
        self._size = self._written = self._dropped = self._held = self._tries = 0
        self._problem = ""
        self._hurried = self._ended = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, row: QueuedRow) -> str:
        """Add a row. Returns why it may not be written: ``log_dropped``, ``log_failed`` (the database refuses), or nothing."""
        with self._changed:
            full = len(self._waiting) + self._held >= self._rows or self._size + row.chars > self._chars
            if self._closed or full:
                self._drop(row)
                return "log_dropped"
            self._waiting.append(row)
            self._size += row.chars
            self._hurried = self._hurried or row.kind == "audit"
            self._start()
            if len(self._waiting) == 1 or self._is_pressing():
                self._changed.notify_all()
            return "log_failed" if self._problem else ""

    def flush(self, seconds: float = _CLOSING) -> bool:
        """Wait until everything that was put is written, or the database has refused it. Tells whether it is written."""
        with self._changed:
            before, self._hurried = self._tries, True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_done() or self._tries > before, seconds)
            return self._is_done()

    def close(self, seconds: float = _CLOSING) -> None:
        """Write what there is, as long as rows are written within ``seconds`` each time, and drop the rest and further rows."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            moved = True
            while moved and not self._is_done() and not self._ended:
                moved = self._changed.wait_for(partial(self._has_moved, self._written + self._dropped), seconds)
            left = len(self._waiting)
            while self._waiting:
                self._drop(self._waiting.popleft())
            self._size = 0
        if left:
            _LOG.warning("%d rows of the log were dropped: %s", left, self._problem or "the database took too long")
        atexit.unregister(self.close)

    def figures(self) -> LogFigures:
        """The queue in numbers."""
        with self._changed:
            return LogFigures(len(self._waiting) + self._held, self._written, self._dropped, self._problem)

    # -------------------------------------------------------------------------------------------------------- the thread

    def _has_moved(self, before: int) -> bool:
        return self._ended or self._is_done() or self._written + self._dropped > before

    def _is_done(self) -> bool:
        return not self._waiting and not self._held

    def _is_pressing(self) -> bool:
        """Whether the next rows are to be written at once."""
        return self._closed or self._hurried or len(self._waiting) >= _BATCH

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():  # it is not alive in a process that was forked
            self._ended = False
            self._thread = threading.Thread(target=self._run, name="innkeeper-log", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        wait, last = _FIRST_WAIT, False
        while batch := self._next():
            try:
                self._write(batch)
            except InnkeeperError as error:
                self._put_back(batch, error)
                if last:
                    break
                last = self._rest(wait)
                wait = min(wait * 2, _LONGEST_WAIT)
            else:
                wait = _FIRST_WAIT
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _next(self) -> list[QueuedRow]:
        """The next rows; none once the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            self._changed.wait_for(self._is_pressing, _GATHER)
            self._hurried = False
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            self._held = len(batch)
            return batch

    def _write(self, batch: list[QueuedRow]) -> None:
        """All rows of a batch in one transaction. Raises `DatabaseError`, and none is written then."""
        database, refused = self._database(), list[QueuedRow]()
        with database.transaction():
            for row in batch:
                try:
                    row.write(database)
                except DatabaseError:
                    raise
                except Exception as error:  # noqa: BLE001 - a row that cannot be written takes no other along
                    _LOG.debug("a row of the log cannot be written: %s", type(error).__name__)
                    refused.append(row)
        with self._changed:
            self._problem, self._held = "", 0
            self._written += len(batch) - len(refused)
            self._size -= sum(row.chars for row in batch)
            for row in refused:
                self._metrics.count(f"library_{row.kind}_failures_total")
                self._drop(row)
            self._changed.notify_all()

    def _put_back(self, batch: list[QueuedRow], error: InnkeeperError) -> None:
        with self._changed:
            self._problem, self._held, self._tries = error.kind, 0, self._tries + 1
            for kind in {row.kind for row in batch}:
                self._metrics.count(f"library_{kind}_failures_total")
            self._waiting.extendleft(reversed(batch))
            self._changed.notify_all()

    def _rest(self, seconds: float) -> bool:
        """Wait before the next try, unless somebody waits for it. Tells whether the queue was closed: it is the last one then."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._hurried, seconds)
            self._hurried = False
            return self._closed

    def _drop(self, row: QueuedRow) -> None:
        self._dropped += 1
        self._metrics.count("library_log_dropped_total", kind=row.kind)
