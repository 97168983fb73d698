"""EngineProcess: the process of a workspace, as the server sees it; and that process itself.

It has one call at a time, within its memory and the processor's time. One that takes too long is killed, or that dies, is lost
with its call, not with the workspace: the next call finds a new one, opened from what the server keeps.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Final, Protocol

from innkeeper.prompt.once import unpack
from innkeeper.service.errors import TimeBudgetError, WorkerLostError
from innkeeper.service.exchange import LENGTHS, frame
from innkeeper.service.inspector.desk.frames import EngineCall, EngineReply

MAX_DESK_CALL_SECONDS: Final = 30.0
"""Seconds that one call of the inspector's process may take (`TimeBudgetError`)."""

OPEN_SECONDS: Final = 120.0
"""Seconds in which the inspector's process must have started and opened its workspace (`TimeBudgetError`)."""

MAX_DESK_CPU_SECONDS: Final = 12.0
"""Seconds that one call may keep the processor of the inspector's process busy (`TimeBudgetError`)."""

MAX_ENGINE_MEMORY: Final = 1_536 * 1024 * 1024
"""Bytes that the inspector's process may take beside what it has from the start (`WorkerLostError`)."""

_BUFFER: Final = 1024 * 1024
_LORE: Final = 384 * 1024 * 1024
"""Bytes of compiled books that are kept: half of it holds one of 20,000 entries."""

_ALLOCATIONS: Final = 50_000
"""Objects that are made before garbage is looked for: more than a build leaves, in a process that keeps hundreds of thousands."""

_START: Final = b"\0innkeeper inspector\n"
"""What the process says first. Whatever was printed before it, by a site's own start, is not ours."""

Restore = Callable[[], Awaitable[bytes]]


class Engines(Protocol):
    """What answers the calls of one workspace."""

    async def call(self, call: EngineCall, body: bytes = b"") -> tuple[EngineReply, bytes]:
        """The answer. Raises `TimeBudgetError`, `WorkerLostError`."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class EngineHere:
    """An engine in this process: for tests, and for who trusts what is opened."""

    def __init__(self, opening: Callable[[], bytes]) -> None:
        from innkeeper.service.inspector.desk.engine import Engine

        self._engine, self._opening, self._opened = Engine(), opening, False

    async def call(self, call: EngineCall, body: bytes = b"") -> tuple[EngineReply, bytes]:
        """The answer, which is there at once."""
        if not self._opened:
            self._opened = True
            self._engine.answer(EngineCall("open"), self._opening())
        return self._engine.answer(call, body)

    async def close(self) -> None:
        """Nothing is to be ended."""


class EngineProcess:
    """A process with the engine of one workspace; started with the first call, and again after it was lost.

    Args:
        opening: what a new process is given to open, as bytes.
    """

    def __init__(self, opening: Callable[[], bytes]) -> None:
        self._opening = opening
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def call(self, call: EngineCall, body: bytes = b"") -> tuple[EngineReply, bytes]:
        """The answer, when it is this call's turn."""
        async with self._turn:
            try:
                if self._process is None or self._process.returncode is not None:
                    async with asyncio.timeout(OPEN_SECONDS):
                        await self._start()
                async with asyncio.timeout(MAX_DESK_CALL_SECONDS):
                    return await self._asked(call, body)
            except TimeoutError:
                await self._end()
                raise TimeBudgetError(
                    "the time of one call", limit="MAX_DESK_CALL_SECONDS", allowed=MAX_DESK_CALL_SECONDS
                ) from None
            except asyncio.CancelledError:  # in the middle of a frame: what comes next would be another's answer
                await self._end()
                raise
            except (OSError, EOFError) as error:
                raise await self._reason() from error

    async def _asked(self, call: EngineCall, body: bytes) -> tuple[EngineReply, bytes]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise EOFError
        process.stdin.writelines(frame(call, body))
        await process.stdin.drain()
        head_size, body_size = LENGTHS.unpack(await process.stdout.readexactly(LENGTHS.size))
        head = await process.stdout.readexactly(head_size)
        return unpack(head, EngineReply), await process.stdout.readexactly(body_size)

    async def _start(self) -> None:
        from innkeeper.service.settings import SECRETS

        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name not in SECRETS},
            limit=_BUFFER,
        )
        if self._process.stdout is not None:
            await self._process.stdout.readuntil(_START)
        await self._asked(EngineCall("open"), self._opening())

    async def _reason(self) -> TimeBudgetError | WorkerLostError:
        """Why the process ended in the middle of a call."""
        code = await self._end()
        if code is not None and code == -getattr(signal, "SIGPROF", 0):
            return TimeBudgetError(
                "the processor's time of one call", limit="MAX_DESK_CPU_SECONDS", allowed=MAX_DESK_CPU_SECONDS
            )
        hint = "take the last change back; if it happens each time, open fewer or smaller files"
        return WorkerLostError("the process that built this prompt ended in the middle of it", hint=hint)

    async def _end(self) -> int | None:
        """End the process, whatever it does; how it ended."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(ProcessLookupError):
            if process.returncode is None:
                # one that ended by itself has said how, or does so in a moment
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_SECONDS if process.stdout and process.stdout.at_eof() else 0):
                        await process.wait()
            if process.returncode is None:
                process.kill()
        return await process.wait()

    async def close(self) -> None:
        """End the process."""
        await self._end()


_LAST_SECONDS: Final = 1.0


def main() -> None:
    """The process itself, which ends when its standard input does."""
    from innkeeper.lore.compiled import keep_compiled
    from innkeeper.service.inspector.desk.engine import Engine
    from innkeeper.service.processes.worker import confine

    keep_compiled(_LORE)
    gc.set_threshold(_ALLOCATIONS)
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal's Ctrl-C goes to all; the server decides when this ends
        signal.signal(number, signal.SIG_IGN)
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - a device
        os.dup2(nothing.fileno(), sys.stdout.fileno())  # whatever prints does not print into frames
    code = 1
    try:
        confine(MAX_ENGINE_MEMORY)
        engine = Engine()
        target.write(_START)
        target.flush()
        while (parts := _received(source)) is not None:
            _end_after(MAX_DESK_CPU_SECONDS)
            answer, body = engine.answer(*parts)
            _end_after(0)
            for part in frame(answer, body):
                target.write(part)
            target.flush()
        code = 0
    except (BrokenPipeError, KeyboardInterrupt):
        code = 0
    finally:
        os._exit(code)  # without a traceback, which could quote a prompt


def _received(source: IO[bytes]) -> tuple[EngineCall, bytes] | None:
    lengths = source.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head_size, body_size = LENGTHS.unpack(lengths)
    return unpack(source.read(head_size), EngineCall), source.read(body_size)


def _end_after(seconds: float) -> None:
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)
