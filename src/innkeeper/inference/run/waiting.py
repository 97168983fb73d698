"""How runners wait: a run says what it wants done, and one driver does it at once, another awaits it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from innkeeper.inference.client.watch import check_cancelled
from innkeeper.inference.limits import CANCEL_INTERVAL

__all__ = ["carry_out", "carry_out_async", "check_cancelled_async", "settle", "until_cancelled"]

T = TypeVar("T")


def carry_out(run: Generator[Any, Any, T], do: Callable[[Any], Any]) -> T:
    """The result of ``run``, each of whose wishes is answered by ``do``, or by the error that it raises."""
    with closing(run):
        advance = partial(next, run)
        while True:
            try:
                wish = advance()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            try:
                advance = partial(run.send, do(wish))
            except Exception as error:  # noqa: BLE001 - whatever is raised is the run's to judge
                advance = partial(run.throw, error)


async def carry_out_async(run: Generator[Any, Any, T], do: Callable[[Any], Awaitable[Any]]) -> T:
    """`carry_out` with a ``do`` that is awaited."""
    with closing(run):
        advance = partial(next, run)
        while True:
            try:
                wish = advance()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            try:
                advance = partial(run.send, await do(wish))
            except Exception as error:  # noqa: BLE001 - as above
                advance = partial(run.throw, error)


async def settle(value: Any) -> Any:
    """``value``, awaited where it can be: for functions of a caller that may be of either kind."""
    return await value if inspect.isawaitable(value) else value


async def check_cancelled_async(cancel: Any) -> None:
    """`check_cancelled` for a ``cancel`` that may be an asynchronous function."""
    asked = getattr(cancel, "is_set", cancel)
    told = await settle(asked()) if asked is not None else False
    check_cancelled(lambda: told)


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
