"""Waiting: a run's wishes are done or awaited, errors go back to the run, and what is cancelled stops."""

import asyncio
import threading
from collections.abc import Generator
from typing import Any

import pytest

from innkeeper.inference.errors import RequestCancelledError
from innkeeper.inference.run.base import carry_out, carry_out_async, check_cancelled_async, settle, until_cancelled


def run(ended: list[str]) -> Generator[Any, Any, list[Any]]:
    """Two wishes, the second of which may fail."""
    try:
        came = [(yield 1)]
        try:
            came.append((yield 2))
        except KeyError as error:
            came.append(error.args)
        return came
    finally:
        ended.append("ended")


def do(wish: int) -> int:
    """Fails at the second."""
    if wish == 2:
        raise KeyError("no")
    return wish * 10


async def do_async(wish: int) -> int:
    """The same, awaited."""
    return do(wish)


def test_carry_out() -> None:
    """Wishes are answered, errors are the run's to judge; both ways alike."""
    ended: list[str] = []
    assert carry_out(run(ended), do) == [10, ("no",)]
    assert asyncio.run(carry_out_async(run(ended), do_async)) == [10, ("no",)]
    assert ended == ["ended"] * 2


def test_a_run_that_is_left_is_closed() -> None:
    """What ends the process ends the run."""

    def stop(wish: int) -> None:
        raise KeyboardInterrupt

    ended: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        carry_out(run(ended), stop)
    assert ended == ["ended"]


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
