"""Cancelling: work that goes on until its client goes away, or somebody stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.types import Receive

from innkeeper.inference.errors import RequestCancelledError

_T = TypeVar("_T")


class Stop:
    """Stops the work that goes on under it, now or as soon as there is some. It belongs to one event loop."""

    def __init__(self) -> None:
        self._is_set = False
        self._end: Callable[[], object] | None = None

    def is_set(self) -> bool:
        """Whether it was stopped."""
        return self._is_set

    def set(self) -> None:
        """Stop it."""
        self._is_set = True
        if self._end is not None:
            self._end()

    def on(self, end: Callable[[], object] | None) -> None:
        """What ends the work that goes on now; None where there is none."""
        self._end = end


async def unless_gone(receive: Receive, work: Awaitable[_T], stop: Stop | None = None) -> _T:
    """What ``work`` gives, unless the client goes away or ``stop`` is set before: then it is cancelled.

    It goes on in the caller's own task: only who waits for the client is another.
    Raises `RequestCancelledError` in that case.
    """
    stop, task, gone = stop or Stop(), asyncio.current_task(), asyncio.ensure_future(_gone(receive))
    assert task is not None  # noqa: S101 - this is a coroutine
    cancelled, before = False, task.cancelling()

    def end(_: object = None) -> None:
        nonlocal cancelled
        if not cancelled:
            cancelled = task.cancel()

    gone.add_done_callback(end)
    stop.on(end)
    if stop.is_set():
        end()
    try:
        return await work
    except asyncio.CancelledError:
        if not cancelled or task.uncancel() > before:
            raise
        raise RequestCancelledError("the answer was cancelled, or nobody waits for it any more") from None
    finally:
        stop.on(None)
        gone.remove_done_callback(end)
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def repeat(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    """Do ``work`` every so many seconds, until this is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        await work()
