"""The spawner: workers that are started from nothing keep every promise that copies keep."""

import asyncio
import json
import os
import signal
import socket
import sys
from typing import Any

import pytest

from innkeeper.prompt.errors import ConfigError
from innkeeper.service import Settings, settings
from innkeeper.service.errors import TimeBudgetError, WorkerLostError
from innkeeper.service.processes import spawner
from innkeeper.service.processes.pool import Pool
from innkeeper.service.processes.spawner import Spawner
from tests.service.processes.test_pool import ask, check_calls, pid, reply, run
from tests.service.programs import CONSTRUCT, DOCUMENT, Service

SPAWN: dict[str, Any] = {"start_method": "spawn", "workers": 2}
ALONE: dict[str, Any] = {**SPAWN, "workers": 1}
"""For tests that take one worker at a time: each is a Python that imports everything."""


def test_calls() -> None:
    """A process that is started from nothing answers; what one makes of the state the next one sees."""
    check_calls(Spawner, **SPAWN)


def test_ends() -> None:
    """One that is killed, that keeps the processor, or that takes too much memory is told so, and the next call answered."""

    async def test(pool: Pool) -> None:
        before = await pid(pool)
        with pytest.raises(WorkerLostError) as lost:
            await ask(pool, "plugins/test/die", number=signal.SIGKILL)
        assert lost.value.details["code"] == -signal.SIGKILL
        with pytest.raises(TimeBudgetError) as late:
            await ask(pool, "plugins/test/hold", size=10**12)
        assert late.value.limit == "MAX_CPU_BUDGET"
        large = await reply(pool, "plugins/test/grow", size=400_000_000)
        assert json.loads(large.body)["problem"]["details"]["limit"] == "MAX_WORKER_MEMORY"
        assert await pid(pool) != before

    run(test, cpu_budget=0.5, **ALONE)


def test_time_on_the_wall() -> None:
    """Where the system enforces nothing, the server ends what takes too long, also inside a library."""

    async def test(pool: Pool) -> None:
        await pid(pool)
        with pytest.raises(TimeBudgetError) as late:
            await ask(pool, "plugins/test/hold", size=10**12)
        assert late.value.limit == "TIME_BUDGET"
        assert await pid(pool)

    run(test, cpu_budget=60.0, time_budget=5.0, **ALONE)


def test_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where processes end before they are there, each call is told so; none waits for ever."""

    async def test(pool: Pool) -> None:
        calls = [ask(pool, "plugins/test/process") for _ in range(2)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(error) for error in done] == [WorkerLostError] * 2

    monkeypatch.setattr(sys, "path", [])  # the process finds no module of ours
    run(test, **SPAWN)


def test_a_stranger_is_no_worker() -> None:
    """Who connects without the token is sent away, and the worker that comes after it is taken."""

    async def test() -> bytes:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0)
            accepting = asyncio.ensure_future(spawner._accepted(listener, b"t" * 32))
            loop = asyncio.get_running_loop()
            for token in (b"s" * 32, b"t" * 31, b"t" * 32):
                with socket.socket() as caller:
                    caller.settimeout(0)
                    await loop.sock_connect(caller, listener.getsockname())
                    await loop.sock_sendall(caller, token)
                    if token != b"t" * 32:
                        caller.shutdown(socket.SHUT_WR)
                        assert await loop.sock_recv(caller, 1) == b""
                        continue
                    with await accepting as connection:
                        await loop.sock_sendall(connection, b"hello")
                        return await loop.sock_recv(caller, 5)
        return b""

    assert asyncio.run(test()) == b"hello"


def test_the_service_starts_so() -> None:
    """The command serves with workers that start from nothing, and stops as ever."""
    with Service.command("--start-method", "spawn", "--workers", "1") as service:
        assert service.post(CONSTRUCT, DOCUMENT).json()["messages"]
        assert service.healthy()
        assert service.stop() == 0


def test_the_method_suits_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies where the system makes them well, else starts from nothing; asking for what it cannot do is an error."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert settings.default_start_method() == "spawn"
    monkeypatch.setattr(sys, "platform", "linux")
    assert settings.default_start_method() == "fork"
    monkeypatch.delattr(os, "fork")
    assert settings.default_start_method() == "spawn"
    with pytest.raises(ConfigError, match="fork"):
        Settings(start_method="fork").checked()
    with pytest.raises(ConfigError, match="clone"):
        Settings(start_method="clone").checked()
