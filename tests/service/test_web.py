"""Cancelling: work ends with its client, by its stop, or by itself."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from innkeeper.inference.errors import RequestCancelledError
from innkeeper.service.web import Stop, unless_gone


async def never() -> Any:
    """A client that says nothing more."""
    await asyncio.Event().wait()


async def gone() -> Any:
    """A client that goes away."""
    await asyncio.sleep(0)
    return {"type": "http.disconnect"}


async def broken() -> Any:
    """A connection that fails."""
    raise OSError("broken")


async def work(heard: list[str]) -> str:
    """Work without an end, which tells when it is cancelled."""
    try:
        await asyncio.Event().wait()
    finally:
        heard.append("ended")
    return "done"


@pytest.mark.parametrize("client", [gone, broken])
def test_work_ends_with_its_client(client: Callable[[], Any]) -> None:
    """It is cancelled; whoever called goes on and can wait for other things."""

    async def use() -> list[str]:
        heard: list[str] = []
        with pytest.raises(RequestCancelledError):
            await unless_gone(client, work(heard))
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return heard

    assert asyncio.run(use()) == ["ended"]


@pytest.mark.parametrize("early", [True, False])
def test_a_stop_ends_it(early: bool) -> None:
    """Also one that was set before there was any work; setting it again does nothing."""

    async def use() -> list[str]:
        stop, heard = Stop(), ["ended"] if early else []
        if early:
            stop.set()
        else:
            asyncio.get_running_loop().call_later(0, stop.set)
        with pytest.raises(RequestCancelledError):
            await unless_gone(never, asyncio.Event().wait() if early else work(heard), stop)
        stop.set()
        await asyncio.sleep(0)
        assert stop.is_set()
        return heard

    assert asyncio.run(use()) == ["ended"]


def test_work_that_is_done_is_not_cancelled() -> None:
    """A client that goes away, or a stop, afterwards changes nothing."""

    async def use() -> str:
        stop = Stop()
        made = await unless_gone(gone, asyncio.sleep(0, "done"), stop)
        stop.set()
        await asyncio.sleep(0.001)
        return made

    assert asyncio.run(use()) == "done"


def test_a_cancelled_call_is_cancelled() -> None:
    """Where the call itself is cancelled, that is no word of its client's."""

    async def use() -> None:
        task = asyncio.ensure_future(unless_gone(never, work([])))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(use())


def test_errors_of_the_work_go_through() -> None:
    """As they are."""

    async def fails() -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        asyncio.run(unless_gone(never, fails()))
