"""Callers: what blocking and awaiting runners do for others, and how what is cancelled stops."""

import asyncio
import threading
from typing import Any

import pytest

from innkeeper.inference.errors import RequestCancelledError
from innkeeper.inference.run.callers import (
    AWAITED,
    BLOCKING,
    Caller,
    check_cancelled_async,
    completed,
    settle,
    until_cancelled,
)


async def run(caller: Caller, do: Any, ended: list[str]) -> list[Any]:
    """Two calls, the second of which may fail."""
    try:
        came = [await caller.value(lambda: do(1))]
        try:
            came.append(await caller.value(lambda: do(2)))
        except KeyError as error:
            came.append(error.args)
        return came
    finally:
        ended.append("ended")


def do(number: int) -> int:
    """Fails at the second."""
    if number == 2:
        raise KeyError("no")
    return number * 10


async def do_async(number: int) -> int:
    """The same, awaited."""
    return do(number)


def test_both_ways() -> None:
    """Calls are done, errors are the run's to judge; both ways alike."""
    ended: list[str] = []
    assert completed(run(BLOCKING, do, ended)) == [10, ("no",)]
    assert asyncio.run(run(AWAITED, do_async, ended)) == [10, ("no",)]
    assert asyncio.run(run(AWAITED, do, ended)) == [10, ("no",)]
    assert ended == ["ended"] * 3


def test_a_run_that_is_left_is_closed() -> None:
    """What ends the process ends the run; so does code that waits for a loop where there is none."""

    def stop(number: int) -> None:
        raise KeyboardInterrupt

    ended: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        completed(run(BLOCKING, stop, ended))
    with pytest.raises(RuntimeError, match="event loop"):
        completed(asyncio.sleep(0))
    assert ended == ["ended"]


@pytest.mark.parametrize("caller", [BLOCKING, AWAITED], ids=["blocking", "awaited"])
def test_check(caller: Caller) -> None:
    """Whoever is told to stop stops before the next call."""
    asyncio.run(caller.check(None))
    with pytest.raises(RequestCancelledError):
        asyncio.run(caller.check(lambda: True))


def test_settle() -> None:
    """Values and awaitables alike."""

    async def both() -> list[int]:
        return [await settle(1), await settle(do_async(1))]

    assert asyncio.run(both()) == [1, 10]


@pytest.mark.parametrize("kind", ["event", "function", "async_event", "async_function"])
def test_until_cancelled(kind: str) -> None:
    """Work that hangs is cancelled when it is told to, by any kind of cancel; work that ends gives its result."""
    stopped: list[str] = []

    async def hang(told: Any) -> None:
        told.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append("stopped")
            raise

    async def go() -> int:
        told: Any = asyncio.Event() if kind == "async_event" else threading.Event()

        async def asked() -> bool:
            return bool(told.is_set())

        cancel = {"function": told.is_set, "async_function": asked}.get(kind, told)
        assert await until_cancelled(do_async(1), cancel) == 10
        with pytest.raises(RequestCancelledError):
            await until_cancelled(hang(told), cancel)
        return await until_cancelled(do_async(1), None)

    assert asyncio.run(go()) == 10
    assert stopped == ["stopped"]


def test_cancelled_from_outside() -> None:
    """Cancelling the one who waits cancels the work."""

    async def go() -> bool:
        work = asyncio.ensure_future(asyncio.Event().wait())
        waiter = asyncio.ensure_future(until_cancelled(work, threading.Event()))
        await asyncio.sleep(0.01)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        return work.cancelled()

    assert asyncio.run(go())


def test_check_cancelled_async() -> None:
    """Nothing to ask is never told."""
    asyncio.run(check_cancelled_async(None))
    with pytest.raises(RequestCancelledError):
        asyncio.run(check_cancelled_async(lambda: True))
