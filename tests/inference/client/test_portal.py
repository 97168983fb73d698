"""Portal: asynchronous code for blocking callers: its results, its errors, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

import pytest

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.portal import cancelled_by, in_thread, portal
from innkeeper.inference.errors import HttpError, RequestCancelledError
from innkeeper.inference.fake.provider import EchoServer
from innkeeper.inference.fake.script import Fault
from innkeeper.prompt import UsageError

HELLO = [{"role": "user", "content": "Hello"}]
PATIENCE = 120.0


async def work(value: Any = 1) -> Any:
    """Wait a moment; give a value, or raise it."""
    await asyncio.sleep(0)
    if isinstance(value, BaseException):
        raise value
    return value


class Stay:
    """Work that ends only when it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

    async def run(self) -> None:
        """Wait for ever."""
        self.begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            self.ended.set()


def test_results_and_errors() -> None:
    """The result is given as it is; an error is the very object, with the lines that raised it."""
    error = KeyError("no")
    assert portal().call(work("yes")) == "yes"
    with pytest.raises(KeyError) as caught:
        portal().call(work(error))
    assert caught.value is error
    assert "in work" in "".join(traceback.format_exception(error))
    for own in (TimeoutError("mine"), asyncio.CancelledError()):
        with pytest.raises(type(own)):
            portal().call(work(own))


def test_one_thread() -> None:
    """All callers share one thread; each has the context of its own."""
    name: ContextVar[str] = ContextVar("name")

    async def whose() -> tuple[int, str]:
        return threading.get_ident(), name.get()

    seen: list[tuple[int, str]] = []

    def call(text: str) -> None:
        name.set(text)
        seen.append(portal().call(whose()))

    threads = [threading.Thread(target=call, args=(text,)) for text in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(text for _, text in seen) == ["a", "b", "c"]
    assert len({ident for ident, _ in seen} - {threading.get_ident()}) == 1


def test_in_a_running_loop() -> None:
    """A blocking call works where the caller's own loop runs; it holds that up, as every blocking call does."""

    async def caller() -> str:
        with EchoServer("Yes.") as server, Client(server.base_url) as client:
            return client.chat("m", HELLO).content

    assert asyncio.run(caller()) == "Yes."


def test_cancel() -> None:
    """Work that nobody wants is cancelled, and has ended when the caller goes on."""
    stay = Stay()
    with cancelled_by(stay.begun), pytest.raises(RequestCancelledError):
        portal().call(stay.run())
    assert stay.ended.is_set()


def test_not_begun() -> None:
    """A caller who is cancelled begins nothing."""
    stay = Stay()
    with cancelled_by(lambda: True), pytest.raises(RequestCancelledError):
        portal().call(stay.run())
    assert not stay.begun.is_set()


def test_interrupt() -> None:
    """Ctrl-C reaches the caller, and ends the work."""
    stay = Stay()

    def interrupt() -> bool:
        if stay.begun.is_set():
            raise KeyboardInterrupt
        return False

    with cancelled_by(interrupt), pytest.raises(KeyboardInterrupt):
        portal().call(stay.run())
    assert stay.ended.is_set()


class Numbers:
    """An asynchronous generator that says when it was closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    async def count(self) -> AsyncGenerator[int]:
        """Count for ever."""
        try:
            for number in range(1_000_000):
                await asyncio.sleep(0)
                yield number
        finally:
            self.closed.set()


def test_iterate() -> None:
    """One after the other; leaving early closes the generator before the next line runs, forgetting it soon."""
    numbers, forgotten = Numbers(), Numbers()
    items = portal().iterate(numbers.count())
    assert [next(items), next(items)] == [0, 1]
    items.close()
    assert numbers.closed.is_set()
    assert next(portal().iterate(forgotten.count())) == 0
    gc.collect()
    assert forgotten.closed.wait(PATIENCE)


def test_tidying_up_is_not_cancelled() -> None:
    """A caller who is told to stop still closes what is open."""
    numbers, stop = Numbers(), threading.Event()
    with cancelled_by(stop):
        items = portal().iterate(numbers.count())
        next(items)
        stop.set()
        with pytest.raises(RequestCancelledError):
            next(items)
    assert numbers.closed.is_set()


def test_garbage_in_the_portal() -> None:
    """A generator that is collected in the portal's own thread does not wait for itself."""
    numbers = Numbers()
    held = [portal().iterate(numbers.count())]
    next(held[0])

    async def collect() -> None:
        held.clear()
        gc.collect()

    portal().call(collect())
    assert numbers.closed.wait(PATIENCE)


def test_errors_of_a_client_show_the_call() -> None:
    """The traceback leads from the caller's line to that of the client."""
    with (
        EchoServer(Fault.status(500, "no")) as server,
        Client(server.base_url) as client,
        pytest.raises(HttpError) as caught,
    ):
        client.chat("m", HELLO)
    lines = "".join(traceback.format_exception(caught.value))
    assert "test_errors_of_a_client_show_the_call" in lines
    assert "raise_for_status" in lines


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork() -> None:
    """A child process has a portal and connections of its own."""
    code = (
        "import os, sys\n"
        "from innkeeper.inference import Client, EchoServer\n"
        "with EchoServer('a', 'b', 'c') as server:\n"
        "    client = Client(server.base_url)\n"
        "    hello = [{'role': 'user', 'content': 'Hello'}]\n"
        "    first = client.chat('m', hello).content\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os._exit(0 if client.chat('m', hello).content == 'b' else 1)\n"
        "    _, status = os.waitpid(child, 0)\n"
        "    print(first, status, client.chat('m', hello).content)\n"
    )
    assert run(code) == ["a", "0", "c"]


ENDS = {
    "open": "client = Client(server.base_url); client.chat('m', HELLO)",
    "half read": "client = Client(server.base_url); s = client.chat_stream('m', HELLO); next(s)",
    "events": "client = Client(server.base_url); import innkeeper.inference as i\n"
    "r = i.ModelRequest(model='m', content=b'{\"stream\": true}', stream=True); e = client.events(r); next(e)",
    "thread": "import threading; client = Client(server.base_url)\n"
    "threading.Thread(target=lambda: next(client.chat_stream('m', HELLO)), daemon=True).start()",
}


@pytest.mark.parametrize("line", ENDS.values(), ids=ENDS)
def test_the_process_ends(line: str) -> None:
    """Whatever is left open, the interpreter ends at once and says nothing."""
    code = (
        "from innkeeper.inference import Client, EchoServer, Fault\n"
        "HELLO = [{'role': 'user', 'content': 'Hello'}]\n"
        "server = EchoServer('It is late.').start()\n"
        f"{line}\n"
        "print('end')\n"
    )
    assert run(code) == ["end"]


def run(code: str) -> list[str]:
    """What a process of its own prints; it must be silent otherwise."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_in_thread() -> None:
    """Blocking work is done elsewhere; what it raises is raised, also what a coroutine may not raise."""

    def fail() -> None:
        raise StopIteration

    assert portal().call(in_thread(threading.get_ident)) != threading.get_ident()
    with pytest.raises(RuntimeError, match="StopIteration"):
        portal().call(in_thread(fail))


class TestRelay:
    """What is made in the portal's loop comes to the caller's."""

    @staticmethod
    async def _numbers(ended: threading.Event, *, fails: bool = False) -> AsyncGenerator[int]:
        try:
            for number in range(3):
                yield number
            if fails:
                raise UsageError("no more")
            await asyncio.Event().wait()
        finally:
            ended.set()

    def test_an_error_is_raised_as_it_is(self) -> None:
        """After everything before it."""
        seen, ended = list[int](), threading.Event()

        async def read() -> None:
            async for number in portal().relay(self._numbers(ended, fails=True)):
                seen.append(number)

        with pytest.raises(UsageError, match="no more"):
            asyncio.run(read())
        assert seen == [0, 1, 2]

    def test_leaving_early_ends_it(self) -> None:
        """Also where it waits for what never comes."""
        ended = threading.Event()

        async def read() -> int:
            async with aclosing(portal().relay(self._numbers(ended))) as numbers:
                return await anext(numbers)

        assert asyncio.run(read()) == 0
        assert ended.wait(60)
