"""Turns: whose request the one local model answers next: callers take turns, and each has its own requests in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from threading import Condition
from typing import Final

CALLER: Final[ContextVar[str]] = ContextVar("innkeeper_local_caller", default="")
"""Whose request is asked in this task. A service sets it for each call."""

SECONDS: Final[ContextVar[float]] = ContextVar("innkeeper_local_seconds", default=inf)
"""The seconds that an answer may take in this task, waiting included. A service sets it for each call."""


class Turns:
    """A queue of threads that want the same thing, fair by caller. A thread that is not wanted any more leaves it at once."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: dict[str, deque[object]] = {}
        self._busy = False

    @contextmanager
    def turn(self, caller: str, is_waiting: Callable[[], bool], seconds: float = inf) -> Iterator[bool]:
        """Wait for the caller's turn; gives whether it has come, or the request is not wanted any more.

        What is waited for is asked again after these seconds.
        """
        has_come = self._wait(caller, is_waiting, None if seconds == inf else seconds)
        try:
            yield has_come
        finally:
            if has_come:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def wake(self) -> None:
        """Have those who wait look again whether they are wanted."""
        with self._changed:
            self._changed.notify_all()

    def _wait(self, caller: str, is_waiting: Callable[[], bool], seconds: float | None) -> bool:
        waiter = object()
        with self._changed:
            self._waiting.setdefault(caller, deque()).append(waiter)
            while is_waiting() and (self._busy or self._next() is not waiter):
                self._changed.wait(seconds)
            has_come = not self._busy and self._next() is waiter and is_waiting()
            self._busy = self._busy or has_come
            self._leave(caller, waiter, served=has_come)
        return has_come

    def _next(self) -> object:
        return next(iter(self._waiting.values()))[0]

    def _leave(self, caller: str, waiter: object, *, served: bool) -> None:
        """Take a waiter out of the queue; once one is served, the caller's others come after those of everyone else."""
        queue = self._waiting[caller]
        queue.remove(waiter)
        if served or not queue:
            del self._waiting[caller]
        if served and queue:
            self._waiting[caller] = queue
        self._changed.notify_all()
