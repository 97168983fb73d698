"""The pool: whatever happens to a worker, its caller gets an answer, and the next call is fine."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from innkeeper.service import HttpReply, Request, Settings
from innkeeper.service.errors import TimeBudgetError, WorkerLostError
from innkeeper.service.gateway.operations import OPERATIONS
from innkeeper.service.gateway.state import AppState
from innkeeper.service.processes import pool as module
from innkeeper.service.processes.fork_server import ForkServer
from innkeeper.service.processes.pool import Pool

SLOW = "tests.service.slow_service:MORE"
MACRO = "modules/smarttavern/macro"


async def ask(pool: Pool, operation: str, caller: str = "a", **arguments: Any) -> Any:
    """What an operation answers, as data."""
    return json.loads((await reply(pool, operation, caller, **arguments)).body)


async def reply(pool: Pool, operation: str, caller: str = "a", **arguments: Any) -> HttpReply:
    """One call."""
    body = json.dumps(arguments).encode()
    request = Request("POST", f"/api/{operation}", headers={"content-type": "application/json"}, body=body)
    return await pool.answer(request, caller)


async def pid(pool: Pool) -> int:
    """The process that answers, however short the time of a call is and however busy the machine."""
    for _ in range(20):
        with suppress(TimeBudgetError):
            return int((await ask(pool, "plugins/test/process"))["pid"])
    raise AssertionError


def run(test: Callable[[Pool], Awaitable[None]], **settings: Any) -> None:
    """Run a test with a pool."""

    async def running() -> None:
        chosen = Settings(**{"time_budget": 60.0, **settings})
        pool = Pool(chosen, SLOW, AppState(chosen, OPERATIONS))
        try:
            await test(pool)
        finally:
            pool.close()
            await asyncio.sleep(0.01)

    asyncio.run(running())


def check_calls(starter: type, **settings: Any) -> None:
    """Calls are answered, large ones too, one after the other by one process, which knows no key and is started so."""

    async def test(pool: Pool) -> None:
        pool.open()
        assert isinstance(pool.prepare(), starter)
        said = await ask(pool, f"{MACRO}/process_text", text="x" * 1_000_000)
        assert len(said["text"]) == 1_000_000
        process = await ask(pool, "plugins/test/process")
        assert process["pid"] == await pid(pool) != os.getpid()
        assert not {"INNKEEPER_SERVICE_KEY", "INNKEEPER_API_KEY"} & set(process["environment"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INNKEEPER_SERVICE_KEY", "k")
        patch.setenv("INNKEEPER_API_KEY", "k")
        run(test, **settings)


def test_calls() -> None:
    """A copy of a process that has everything loaded answers."""
    check_calls(ForkServer)


def test_killed() -> None:
    """Where a worker is killed in the middle of a call, its caller is told, and the next call is answered."""

    async def test(pool: Pool) -> None:
        for number in (signal.SIGKILL, signal.SIGSEGV):
            with pytest.raises(WorkerLostError) as caught:
                await ask(pool, "plugins/test/die", number=number)
            assert caught.value.details["code"] == -number
            assert await pid(pool)

    run(test)


@pytest.mark.parametrize(
    ("settings", "limit"),
    [({"cpu_budget": 0.5}, "MAX_CPU_BUDGET"), ({"time_budget": 2.0, "cpu_budget": 60.0}, "TIME_BUDGET")],
)
@pytest.mark.parametrize("operation", ["spin", "hold"])
def test_endless(settings: dict[str, Any], limit: str, operation: str) -> None:
    """A call without end is ended, also one that never leaves a library; then the next is answered."""
    arguments: dict[str, Any] = {"rounds": -1} if operation == "spin" else {"size": 10**12}

    async def test(pool: Pool) -> None:
        before = await pid(pool)
        with pytest.raises(TimeBudgetError) as caught:
            await ask(pool, f"plugins/test/{operation}", **arguments)
        assert caught.value.limit == limit
        assert await pid(pool) != before

    run(test, **settings)


def test_memory() -> None:
    """A call that takes too much memory is told so; the worker that has grown is replaced."""

    async def test(pool: Pool) -> None:
        before = await pid(pool)
        large = await reply(pool, "plugins/test/grow", size=400_000_000)
        assert (large.status, json.loads(large.body)["problem"]["details"]["limit"]) == (413, "MAX_WORKER_MEMORY")
        assert await ask(pool, "plugins/test/grow", size=100_000_000) == {"size": 100_000_000}
        assert await pid(pool) != before

    run(test)


def test_large_reply() -> None:
    """A reply over the limit is refused with its size."""

    async def test(pool: Pool) -> None:
        said = await ask(pool, f"{MACRO}/process_text", text="x" * 2_000)
        assert said["problem"]["details"]["limit"] == "MAX_REPLY"

    run(test, max_reply=1_000)


def test_waiting_counts() -> None:
    """The time a call waits for its turn is part of its budget, and one that gave up is not computed."""

    async def test(pool: Pool) -> None:
        calls = [ask(pool, "plugins/test/spin", rounds=-1) for _ in range(3)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(error, TimeBudgetError) for error in done)
        assert await pid(pool)

    run(test, workers=1, time_budget=1.0, cpu_budget=60.0)


def test_cancelled() -> None:
    """A call whose caller went away is stopped, waiting or computed."""

    async def test(pool: Pool) -> None:
        await pid(pool)
        calls = [asyncio.create_task(ask(pool, "plugins/test/spin", rounds=-1)) for _ in range(2)]
        await asyncio.sleep(0.1)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert await pid(pool)

    run(test, workers=1, cpu_budget=60.0)


def test_hogs() -> None:
    """As many calls of one caller as there are workers leave one for another caller."""

    async def test(pool: Pool) -> None:
        await pid(pool)
        hogs = [asyncio.create_task(ask(pool, "plugins/test/spin", rounds=-1)) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert await ask(pool, "plugins/test/spin", "b", rounds=1)
        assert not any(hog.done() for hog in hogs)
        for hog in hogs:
            hog.cancel()
        await asyncio.gather(*hogs, return_exceptions=True)

    run(test, workers=3, cpu_budget=60.0)


def test_state() -> None:
    """Custom macros that many calls register at once are all there, and every worker knows them."""

    async def test(pool: Pool) -> None:
        handler = "smarttavern/macro/process_text"
        names = [f"m{number}" for number in range(20)]
        await asyncio.gather(
            *(ask(pool, f"{MACRO}/register", name, macros=[{"name": name, "handler_api": handler}]) for name in names)
        )
        lists = await asyncio.gather(*(ask(pool, f"{MACRO}/list", name) for name in names))
        assert all(said["items"] == dict.fromkeys(names, handler) for said in lists)
        await ask(pool, f"{MACRO}/clear")
        assert (await ask(pool, f"{MACRO}/list"))["items"] == {}

    run(test, workers=3)


def test_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that nobody has needed for a time go home; one stays."""

    async def test(pool: Pool) -> None:
        await asyncio.gather(*(ask(pool, "plugins/test/spin", rounds=3_000_000) for _ in range(3)))
        assert len(pool._workers) > 1
        pool._end_spare()
        assert len(pool._workers) > 1
        monkeypatch.setattr(module, "SPARE_SECONDS", 0.0)
        pool._end_spare()
        assert len(pool._workers) == 1
        assert await pid(pool)

    run(test, workers=4)


def test_fork_server_gone() -> None:
    """Where the process that forks the workers has died, another is started."""

    async def test(pool: Pool) -> None:
        await pid(pool)
        assert isinstance(pool._source, ForkServer)
        pool._source._process.kill()
        pool._source._process.wait()
        await asyncio.sleep(0.05)
        with pytest.raises(WorkerLostError):
            await ask(pool, "plugins/test/die", number=signal.SIGKILL)
        assert await pid(pool)

    run(test)


def test_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started, each call is told so; none waits for ever."""

    async def fails(self: ForkServer) -> None:
        raise OSError

    async def test(pool: Pool) -> None:
        calls = [ask(pool, "plugins/test/process") for _ in range(3)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(error) for error in done] == [WorkerLostError] * 3

    monkeypatch.setattr(ForkServer, "start", fails)
    run(test)


def test_another_loop() -> None:
    """A pool that is used in one event loop after the other answers in each."""
    chosen = Settings()
    pool = Pool(chosen, SLOW, AppState(chosen, OPERATIONS))

    async def once() -> int:
        number = await pid(pool)
        for worker in pool._workers:
            worker.close()
        await asyncio.sleep(0)
        return number

    assert asyncio.run(once()) != asyncio.run(once())
    pool.close()


def _is_alive(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def test_server_gone() -> None:
    """A worker ends with its server, whatever it is doing and however the server ended."""

    async def test(pool: Pool) -> None:
        worker = await pid(pool)
        call = asyncio.ensure_future(ask(pool, "plugins/test/spin", rounds=-1))
        await asyncio.sleep(0.1)
        assert isinstance(pool._source, ForkServer)
        pool._source.control.close()  # as the system closes it where the server is killed
        for _ in range(200):
            await asyncio.sleep(0.05 if _is_alive(worker) else 0)
        assert not _is_alive(worker)
        call.cancel()

    run(test, workers=1, cpu_budget=60.0)
