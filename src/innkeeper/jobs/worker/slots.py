"""WorkerSlots: what every worker has, whatever it executes: its state, its slots, who waits for one, and what it has counted.

One instance belongs to one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Final

from innkeeper.inference.routing.failures import CONSEQUENCES, failure_of
from innkeeper.library.workers.states import WorkerState
from innkeeper.prompt.errors import LimitError, UnavailableError

MAX_QUEUE: Final = 16
"""Requests that wait for a free slot of a worker (`WorkerQueueError`)."""

_DEGRADED_AFTER: Final = 2
"""Failures in a row after which a worker says that it is degraded."""


class WorkerQueueError(LimitError):
    """More requests wait for this worker than it takes; nothing was done."""

    http_status = 503
    HINT = "try again, or ask another worker"


class WorkerDrainingError(UnavailableError):
    """The worker finishes what it has, and takes nothing more."""

    HINT = "ask another worker"


class WorkerSlots:
    """The slots of one worker: how many requests it executes at once. ``clock`` is in seconds."""

    def __init__(self, slots: int, clock: Callable[[], float] = perf_counter) -> None:
        self.slots = slots
        self.state = WorkerState.STARTING
        self.stats = {"requests_served": 0, "failures": 0, "model_loads": 0}
        self.began = clock()
        self._clock = clock
        self._free = asyncio.Semaphore(slots)
        self._waiting = self._running = self._failed = 0

    def now(self) -> float:
        """Seconds."""
        return self._clock()

    def drain(self) -> None:
        """Take nothing more."""
        self.state = self.state.reported(WorkerState.DRAINING)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not (self._running or self._waiting)

    def require_open(self) -> None:
        """Let a request in, if there is room. Raises `WorkerDrainingError`, `WorkerQueueError`."""
        if not (self.state.working or self.state is WorkerState.STARTING):
            raise WorkerDrainingError(f"the worker is {self.state}")
        if self._waiting >= MAX_QUEUE:
            raise WorkerQueueError("waiting requests", limit="MAX_QUEUE", allowed=MAX_QUEUE, retry_after=1)

    async def enter(self) -> None:
        """Wait for a free slot."""
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        self._running += 1

    def leave(self, error: BaseException | None) -> None:
        """Give the slot back; what the answer tells of the backend is remembered."""
        self._running -= 1
        self._free.release()
        if error is None:
            self._failed = 0
            self.stats["requests_served"] += 1
        elif isinstance(error, Exception):
            self._failed += CONSEQUENCES[failure_of(error)].strikes
            self.stats["failures"] += 1
        well = self._failed < _DEGRADED_AFTER
        self.state = self.state.reported(WorkerState.READY if well else WorkerState.DEGRADED)
