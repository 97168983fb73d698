"""Work: one call, computed beside the event loop, within a time budget.

Each call runs in a thread of its own, so that the loop keeps answering. A call over its budget is interrupted: its thread
gets an exception that no engine code catches, at its next step of Python. What never takes such a step (one long operation in
C) is bounded by the limits of the engine; its thread keeps its place among the workers until it is done.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from innkeeper.service.errors import RETRY_SECONDS, OverloadError, TimeBudgetError

__all__ = ["Expired", "Gate", "Work"]

T = TypeVar("T")


class Expired(BaseException):
    """The time budget is over. Raised inside the working thread; not an `Exception`, so that nothing takes it for one."""


class Work(Generic[T]):
    """One function in one thread. ``result`` is there once ``done`` is called, which happens in the thread."""

    def __init__(self, function: Callable[[], T], done: Callable[[], None]) -> None:
        self._function = function
        self._done = done
        self._lock = threading.Lock()
        self._over = False
        self.result: T | None = None
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="innkeeper-call", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def interrupt(self) -> None:
        """Make the thread end at its next step, unless it is done."""
        with self._lock:
            if not self._over and self._thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread.ident), ctypes.py_object(Expired)
                )

    def _run(self) -> None:
        try:
            self._compute()
        except Expired:  # arrived between two of our own lines
            self.failure = Expired()
        finally:
            self._done()

    def _compute(self) -> None:
        try:
            self.result = self._function()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the one who waits gets it
            self.failure = error
        with self._lock:
            self._over = True


class Gate:
    """How much is done at once: calls let in, bytes they brought, and calls that are computed."""

    def __init__(self, *, calls: int, volume: int, workers: int, seconds: float) -> None:
        self._calls = calls
        self._volume = volume
        self._seconds = seconds
        self._workers = asyncio.Semaphore(workers)
        self.calls = 0
        self.volume = 0

    def enter(self) -> None:
        """Let a call in. Raises `OverloadError` where there are too many."""
        if self.calls >= self._calls:
            raise OverloadError("calls at once", limit="MAX_CALLS", allowed=self._calls, retry_after=RETRY_SECONDS)
        self.calls += 1

    def carry(self, size: int) -> None:
        """Take ``size`` bytes more. Raises `OverloadError` where all calls together hold too many."""
        if self.volume + size > self._volume:
            raise OverloadError("bytes at once", limit="MAX_BODIES", allowed=self._volume, retry_after=RETRY_SECONDS)
        self.volume += size

    def leave(self, size: int) -> None:
        """A call is over, and the bytes it brought."""
        self.calls -= 1
        self.volume -= size

    async def run(self, function: Callable[[], T]) -> T:
        """Compute ``function`` in a thread, when it is its turn.

        Raises:
            TimeBudgetError: it did not end in time; it was interrupted.
            Exception: whatever it raised.
        """
        work: Work[T] | None = None
        try:
            async with asyncio.timeout(self._seconds):
                await self._workers.acquire()
                work, ended = self._begin(function)
                await ended.wait()
        except TimeoutError:
            raise TimeBudgetError("the time of one call", limit="TIME_BUDGET", allowed=self._seconds) from None
        finally:
            if work is not None:
                work.interrupt()  # does nothing where it is done
        return _outcome(work)

    def _begin(self, function: Callable[[], T]) -> tuple[Work[T], asyncio.Event]:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def release() -> None:
            self._workers.release()
            ended.set()

        work = Work(function, lambda: _tell(loop, release))
        work.start()
        return work, ended


def _tell(loop: asyncio.AbstractEventLoop, release: Callable[[], Any]) -> None:
    try:
        loop.call_soon_threadsafe(release)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return


def _outcome(work: Work[T]) -> T:
    if work.failure is not None:
        raise work.failure
    return work.result  # type: ignore[return-value]
