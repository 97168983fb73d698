"""Time and cancel: a call ends when its time is over or its caller is told to stop, whatever the server does meanwhile."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.clients import AsyncClient
from innkeeper.inference.client.portal import cancelled_by, check_cancelled
from innkeeper.inference.errors import ProviderTimeoutError, RequestCancelledError
from innkeeper.inference.fake.provider import EchoServer
from innkeeper.inference.fake.script import Fault

HELLO = [{"role": "user", "content": "Hello"}]
LONG = 120.0
"""Seconds that no call here may take; what is waited for would take longer still."""

DRIPS = {
    "head": Fault.drip(0.1),
    "body": Fault.drip(0.1, head=False),
    "nothing": Fault.stall(),
    "late": Fault.slow(600),
}
drips = pytest.mark.parametrize("fault", DRIPS.values(), ids=DRIPS)
streams = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def ask(url: str, *, stream: bool, **times: Any) -> str:
    """What the sync client is answered."""
    with Client(url, **times) as client:
        return client.chat("m", HELLO, stream=stream).content


def ask_async(url: str, *, stream: bool, **times: Any) -> str:
    """What the asynchronous client is answered."""

    async def run() -> str:
        async with AsyncClient(url, **times) as client:
            return (await client.chat("m", HELLO, stream=stream)).content

    return asyncio.run(run())


ask_quick = partial(ask_async, quick=True)


@pytest.fixture
def clock() -> Iterator[Callable[[], float]]:
    """Seconds since the test began, which must not become `LONG`."""
    started = time.monotonic()
    yield lambda: time.monotonic() - started
    assert time.monotonic() - started < LONG


@drips
@streams
@pytest.mark.parametrize("ask", [ask, ask_async], ids=["client", "async"])
def test_total_time_holds(fault: Fault, stream: bool, ask: Callable[..., str], clock: Any) -> None:
    """A server that drips, in its head or in its body, or that says nothing, is left when the total time is over."""
    with EchoServer(fault) as server:
        with pytest.raises(ProviderTimeoutError) as caught:
            ask(server.base_url, stream=stream, total_timeout=0.3)
        assert (caught.value.phase in {"total", "read", "open"}, clock() >= 0.3) == (True, True)
        if server.requests:
            wait_for(server.left)


def wait_for(moments: list[float]) -> float:
    """The first of the moments, once there is one."""
    end = time.monotonic() + LONG
    while not moments and time.monotonic() < end:
        time.sleep(0.005)
    return moments[0]


def telling(told: threading.Event, fault: Fault) -> Callable[[Any], Fault]:
    """A script that tells a moment after a request has come, and answers with ``fault``."""

    def answer(_request: Any) -> Fault:
        threading.Timer(0.05, told.set).start()
        return fault

    return answer


@drips
@streams
@pytest.mark.parametrize("kind", ["event", "function"])
def test_cancel(fault: Fault, stream: bool, kind: str, clock: Any) -> None:
    """A call that waits, before its first byte too, stops when it is told to, and its server is left at once."""
    told = threading.Event()
    with (
        EchoServer(telling(told, fault)) as server,
        cancelled_by(told if kind == "event" else told.is_set),
    ):
        with pytest.raises(RequestCancelledError):
            ask(server.base_url, stream=stream)
        assert told.is_set()
        wait_for(server.left)


@drips
@streams
def test_cancelled_task(fault: Fault, stream: bool, clock: Any) -> None:
    """In an event loop the task that waits is cancelled, and the server is left at once."""
    told = threading.Event()

    async def run(url: str) -> None:
        async with AsyncClient(url) as client:
            task = asyncio.create_task(client.chat("m", HELLO, stream=stream))
            await asyncio.to_thread(told.wait, LONG)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with EchoServer(telling(told, fault)) as server:
        asyncio.run(run(server.base_url))
        wait_for(server.left)


@pytest.mark.parametrize("times", [{"timeout": 0.2}, {"total_timeout": 0.2}], ids=["silence", "total"])
@pytest.mark.parametrize("ask", [ask, ask_async, ask_quick], ids=["client", "async", "quick"])
def test_late_streams_say_how_far_they_came(ask: Callable[..., str], times: dict[str, float]) -> None:
    """An error in the middle of a stream carries the text so far, whichever time is over."""
    with EchoServer(Fault.stall(400)) as server, pytest.raises(ProviderTimeoutError) as caught:
        ask(server.base_url, stream=True, **times)
    assert caught.value.partial.startswith("One ")


def test_total_time_holds_where_reads_end_by_themselves(clock: Any) -> None:
    """A server that says a little again and again, never silent for long, is left when the total time is over."""
    with EchoServer(Fault.drip(0.02, head=False)) as server, pytest.raises(ProviderTimeoutError):
        ask_quick(server.base_url, stream=True, timeout=0.1, total_timeout=0.25)


def test_nobody_cancels() -> None:
    """Without a cancel, or with one that says no, answers come; a told one stops a call before it is sent."""
    never = threading.Event()
    with EchoServer("a", "b", "c") as server, Client(server.base_url) as client:
        assert client.chat("m", HELLO).content == "a"
        with cancelled_by(None), cancelled_by(never):
            assert client.chat("m", HELLO).content == "b"
            never.set()
            with pytest.raises(RequestCancelledError):
                client.chat("m", HELLO)
        assert client.chat("m", HELLO).content == "c"
        assert len(server.requests) == 3


def test_check_cancelled() -> None:
    """Events and functions are asked; nothing is never told."""
    check_cancelled(None)
    check_cancelled(lambda: False)
    with pytest.raises(RequestCancelledError):
        check_cancelled(lambda: True)
