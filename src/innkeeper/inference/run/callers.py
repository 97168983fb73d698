"""Callers: what a runner does for others, written once, for those who block and for those who await.

A runner's code is asynchronous. `AWAITED` awaits what a client, a tool or a listener gives; `BLOCKING` calls them and waits in
the caller's own thread, so that the code never gives way to a loop, and `completed` runs it to its end without one.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from innkeeper.inference.client.portal import cancelled_by, check_cancelled
from innkeeper.inference.errors import CANCEL_INTERVAL

T = TypeVar("T")


class Caller(Protocol):
    """How others are called."""

    async def value(self, call: Callable[[], Any], cancel: Any = None) -> Any:
        """Return what ``call`` gives. Raises `RequestCancelledError` soon after ``cancel`` says so, and what it raises."""
        ...

    async def check(self, cancel: Any) -> None:
        """Raise `RequestCancelledError` when ``cancel``, an event or a function, says so."""
        ...


class _Blocking:
    async def value(self, call: Callable[[], Any], cancel: Any = None) -> Any:
        with cancelled_by(cancel):
            return call()

    async def check(self, cancel: Any) -> None:
        check_cancelled(cancel)


class _Awaited:
    async def value(self, call: Callable[[], Any], cancel: Any = None) -> Any:
        return await until_cancelled(settle(call()), cancel)

    async def check(self, cancel: Any) -> None:
        await check_cancelled_async(cancel)


BLOCKING: Final[Caller] = _Blocking()
AWAITED: Final[Caller] = _Awaited()


def completed(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of ``work``, which calls others by `BLOCKING` and therefore never waits for a loop."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        work.close()
    raise RuntimeError("code of a blocking runner waited for an event loop")


async def settle(value: Any) -> Any:
    """``value``, awaited where it can be: for functions of a caller that may be of either kind."""
    return await value if inspect.isawaitable(value) else value


async def check_cancelled_async(cancel: Any) -> None:
    """`check_cancelled` for a ``cancel`` that may be an asynchronous function."""
    asked = getattr(cancel, "is_set", cancel)
    answer = await settle(asked()) if asked is not None else False
    check_cancelled(lambda: answer)


async def until_cancelled(work: Awaitable[T], cancel: Any) -> T:
    """The result of ``work``, which is cancelled when ``cancel`` (an event, or a function of either kind) says so.

    Raises `RequestCancelledError` then, and what ``work`` raises.
    """
    if cancel is None:
        return await work
    import asyncio

    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await check_cancelled_async(cancel)
            await asyncio.wait({task}, timeout=CANCEL_INTERVAL)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            _ = task.cancelled() or task.exception()  # looked at, so that nobody warns of it
    return task.result()
