"""Spawner: workers that are started from nothing, for systems that cannot copy processes, or had better not.

Each is a Python of its own, which imports what calls need (a third of a second, 30 MB), connects back over this machine's
loopback, and shows by a token from its standard input that it is the one. It ends when its socket is closed.
"""

from __future__ import annotations

import asyncio
import hmac
import pickle
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Final

from innkeeper.processes import child
from innkeeper.prompt.machine import random_bytes
from innkeeper.service.errors import START_SECONDS
from innkeeper.service.settings import SECRETS, Settings

_TOKEN_SECONDS: Final = 1.0
_TOKEN_BYTES: Final = 32
_LOOPBACK: Final = "127.0.0.1"


class Spawner:
    """Starts workers and ends them. It numbers them itself, since a launcher may stand before a process.

    ``operations`` is the table of operations, written ``module:name``; the processes import it under that name.
    """

    def __init__(self, settings: Settings, operations: str) -> None:
        self._setup = (settings.without_keys(), operations)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._ends: deque[tuple[int, int]] = deque()
        self._numbers = count(1)
        self._report: Callable[[], object] = lambda: None

    def watch(self, loop: asyncio.AbstractEventLoop, report: Callable[[], object]) -> None:
        """Have ``report`` called in the loop when a worker has ended."""
        self._report = lambda: loop.call_soon_threadsafe(report)

    def unwatch(self, _loop: asyncio.AbstractEventLoop) -> None:
        """Call nothing any more."""
        self._report = lambda: None

    async def start(self) -> socket.socket:
        """The server's end of a new worker's socket. Raises `OSError` where none can be started."""
        token, number, loop = random_bytes(_TOKEN_BYTES), next(self._numbers), asyncio.get_running_loop()
        with socket.create_server((_LOOPBACK, 0)) as listener:
            listener.settimeout(0)
            process = self._process(pickle.dumps((*self._setup, listener.getsockname()[1], token, number)))
            self._processes[number] = process
            ended = loop.create_future()
            threading.Thread(target=self._wait, args=(number, process, loop, ended), daemon=True).start()
            accepting = asyncio.ensure_future(_accepted(listener, token))
            try:
                await asyncio.wait({accepting, ended}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if accepting.done():
                    return accepting.result()
                raise OSError("the worker did not start")  # noqa: TRY301 - ended like any other failure
            except BaseException:
                accepting.add_done_callback(_close)
                accepting.cancel()
                process.kill()
                raise

    def _process(self, setup: bytes) -> subprocess.Popen[bytes]:
        command = child.python_command(f"{__name__}:main")
        process = child.start(command, without=SECRETS, stdout=subprocess.DEVNULL)
        with suppress(OSError), process.stdin as stdin:  # type: ignore[union-attr]  # it is a pipe, and has room for this
            stdin.write(setup)
        return process

    def _wait(
        self,
        number: int,
        process: subprocess.Popen[bytes],
        loop: asyncio.AbstractEventLoop,
        ended: asyncio.Future[None],
    ) -> None:
        """In a thread: take in how a worker ends."""
        code = process.wait()
        self._processes.pop(number, None)
        self._ends.append((number, code))
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(ended.cancel)
            self._report()

    def kill(self, number: int) -> None:
        """End a worker, whatever it is doing, unless it has ended."""
        if (process := self._processes.get(number)) is not None:
            process.kill()

    def ends(self) -> list[tuple[int, int]]:
        """Workers that have ended, each with its exit code, or its signal as a negative number."""
        return [self._ends.popleft() for _ in range(len(self._ends))]

    def close(self) -> None:
        """End all workers."""
        for process in list(self._processes.values()):
            process.kill()


async def _accepted(listener: socket.socket, token: bytes) -> socket.socket:
    """The connection that shows the token; others are closed."""
    while True:
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        try:
            if hmac.compare_digest(await _prefix(connection, len(token)), token):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()


def _close(accepted: asyncio.Future[socket.socket]) -> None:
    """Close a connection that nobody waits for any more."""
    if not accepted.cancelled() and accepted.exception() is None:
        accepted.result().close()


async def _prefix(connection: socket.socket, size: int) -> bytes:
    """What a connection begins with: as many bytes, or fewer where no more come in time."""
    data, loop = b"", asyncio.get_running_loop()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_TOKEN_SECONDS):
            while len(data) < size and (part := await loop.sock_recv(connection, size - len(data))):
                data += part
    return data


def main() -> None:
    """The process itself, whose standard input says what it is to be."""
    child.ignore_stops()
    setup = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - from who started it
    child.leave_after(lambda: _run(*setup))


def _run(settings: Settings, operations: str, port: int, token: bytes, number: int) -> None:
    from innkeeper.service.processes.worker import load_gateway, work

    gateway = load_gateway(settings, operations)
    child.confine(settings.worker_memory)
    with socket.create_connection((_LOOPBACK, port), START_SECONDS) as connection:
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(token)
        work(connection, gateway, number)
