"""within: what work gives, its errors, and its time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from innkeeper.inference.client.within import within


async def at_once() -> str:
    """Work that has nothing to wait for."""
    return "done"


async def later() -> str:
    """Work that waits, twice."""
    await asyncio.sleep(0)
    await asyncio.sleep(0.001)
    return "done"


async def failing() -> str:
    """Work that fails after it has waited."""
    await asyncio.sleep(0)
    raise KeyError("no")


async def mending() -> str:
    """Work that takes an error of what it waits for, and goes on."""
    waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(waited.set_exception, KeyError("no"))
    try:
        await waited
    except KeyError:
        await asyncio.sleep(0)
    return "done"


@pytest.mark.parametrize("work", [at_once, later, mending])
def test_it_gives_what_the_work_gives(work: Callable[[], Any]) -> None:
    """Whether it has to wait or not, and whatever it is told meanwhile."""
    assert asyncio.run(within(60, work())) == "done"


def test_errors_go_through() -> None:
    """An error of the work is the caller's."""
    with pytest.raises(KeyError):
        asyncio.run(within(60, failing()))


def test_no_timer_for_what_need_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer is made only where the work waits."""
    made: list[Any] = []
    real = asyncio.timeout
    monkeypatch.setattr(asyncio, "timeout", lambda seconds: made.append(seconds) or real(seconds))  # type: ignore[func-returns-value]
    asyncio.run(within(60, at_once()))
    assert made == []
    asyncio.run(within(60, later()))
    assert made == [60]


def test_work_that_waits_too_long_is_cancelled() -> None:
    """It hears of it, and the caller gets the error of the time."""
    heard: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    with pytest.raises(TimeoutError):
        asyncio.run(within(0.001, endless()))
    assert heard == ["cancelled"]


def test_a_cancelled_caller_cancels_the_work() -> None:
    """And is itself cancelled, not late."""
    heard: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            heard.append("ended")

    async def use(work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def limited() -> None:
        await within(60, endless())

    asyncio.run(use(limited))
    assert heard == ["ended"]
