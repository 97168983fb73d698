"""Work: how much is done at once, and for whom: what callers hold, and in which order they get a worker.

One caller is one key, or one address where no key is needed. Nobody holds more than a share (`SHARE`) of anything.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any, NamedTuple

from innkeeper.service.errors import RETRY_SECONDS, SHARE, OverloadError

__all__ = ["Gate", "Ticket", "Turn", "Turns", "share"]


def share(amount: int) -> int:
    """How much of an amount one caller may hold: less than all of it, but of one the one."""
    return max(1, min(ceil(amount * SHARE), amount - 1))


class Gate:
    """How much is let in: calls, and the bytes that they bring and are answered with."""

    def __init__(self, *, calls: int, volume: int) -> None:
        self._calls = calls
        self._volume = volume
        self.calls: Counter[str] = Counter()
        self.volume: Counter[str] = Counter()

    @contextmanager
    def ticket(self, caller: str) -> Iterator[Ticket]:
        """What one call holds; all of it is given back at the end of the block."""
        ticket = Ticket(self, caller)
        try:
            yield ticket
        finally:
            _give_back(self.volume, caller, ticket.size)
            _give_back(self.calls, caller, ticket.calls)

    def enter(self, caller: str) -> None:
        """Let a call in. Raises `OverloadError` where there are too many, or too many of this caller."""
        self._take(self.calls, caller, 1, self._calls, "calls", "MAX_CALLS")

    def carry(self, caller: str, size: int) -> None:
        """Take ``size`` bytes more. Raises `OverloadError` where all calls together hold too many, or this caller's."""
        self._take(self.volume, caller, size, self._volume, "bytes", "MAX_BODIES")

    @staticmethod
    def _take(held: Counter[str], caller: str, amount: int, allowed: int, what: str, limit: str) -> None:
        if held.total() + amount > allowed or held[caller] + amount > share(allowed):
            raise OverloadError(f"{what} at once", limit=limit, allowed=allowed, retry_after=RETRY_SECONDS)
        held[caller] += amount


def _give_back(held: Counter[str], caller: str, amount: int) -> None:
    held[caller] -= amount
    if held[caller] <= 0:
        del held[caller]


class Ticket:
    """One call of a caller, and what it holds."""

    def __init__(self, gate: Gate, caller: str) -> None:
        self._gate = gate
        self.caller = caller
        self.calls = 0
        self.size = 0

    def enter(self) -> None:
        """Begin to be answered. Raises `OverloadError`."""
        self._gate.enter(self.caller)
        self.calls = 1

    def carry(self, size: int) -> None:
        """Hold ``size`` bytes more. Raises `OverloadError`."""
        self._gate.carry(self.caller, size)
        self.size += size


class Turn(NamedTuple):
    """A call that waits for a worker."""

    caller: str
    future: asyncio.Future[Any]


class Turns:
    """Who gets the next worker: of the callers that hold fewer than ``most``, the one that holds the fewest.

    Callers that hold the same number take turns; the calls of one caller keep their order.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[str, deque[asyncio.Future[Any]]] = {}
        self._held: Counter[str] = Counter()

    def add(self, caller: str, future: asyncio.Future[Any]) -> None:
        """A call begins to wait."""
        self._waiting.setdefault(caller, deque()).append(future)

    def remove(self, caller: str, future: asyncio.Future[Any]) -> None:
        """A call waits no more, if it did."""
        queue = self._waiting.get(caller, deque())
        if future in queue:
            queue.remove(future)
        if not queue:
            self._waiting.pop(caller, None)

    def is_waiting(self) -> bool:
        """Whether a call waits that may have a worker."""
        return any(self._held[caller] < self._most for caller in self._waiting)

    def next(self) -> Turn | None:
        """The call whose turn it is; its caller holds one worker more until `leave`."""
        caller = min(self._waiting, key=self._held.__getitem__, default=None)
        if caller is None or self._held[caller] >= self._most:
            return None
        queue = self._waiting.pop(caller)
        turn = Turn(caller, queue.popleft())
        if queue:
            self._waiting[caller] = queue
        self._held[caller] += 1
        return turn if not turn.future.done() else self._skip(caller)

    def _skip(self, caller: str) -> Turn | None:
        self.leave(caller)
        return self.next()

    def leave(self, caller: str) -> None:
        """A caller holds one worker less."""
        _give_back(self._held, caller, 1)
