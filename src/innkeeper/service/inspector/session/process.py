"""EngineProcess: the process of a workspace, as the server sees it; and that process itself.

It has one call at a time, within its memory and the processor's time. One that takes too long is killed, or that dies, is lost
with its call, not with the workspace: the next call finds a new one, opened from what the server keeps.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from innkeeper.processes import child
from innkeeper.prompt.typed.once import unpack
from innkeeper.service.errors import TimeBudgetError, WorkerLostError
from innkeeper.service.inspector.session.messages import EngineCall, EngineReply

MAX_DESK_CALL_SECONDS: Final = 30.0
"""Seconds that one call of the inspector's process may take (`TimeBudgetError`)."""

OPEN_SECONDS: Final = 120.0
"""Seconds in which the inspector's process must have started and opened its workspace (`TimeBudgetError`)."""

MAX_DESK_CPU_SECONDS: Final = 12.0
"""Seconds that one call may keep the processor of the inspector's process busy (`TimeBudgetError`)."""

MAX_ENGINE_MEMORY: Final = 1_536 * 1024 * 1024
"""Bytes that the inspector's process may take beside what it has from the start (`WorkerLostError`)."""

_LORE: Final = 384 * 1024 * 1024
"""Bytes of compiled books that are kept: half of it holds one of 20,000 entries."""

_ALLOCATIONS: Final = 50_000
"""Objects that are made before garbage is looked for: more than a build leaves, in a process that keeps hundreds of thousands."""

Restore = Callable[[], Awaitable[bytes]]


class Engines(Protocol):
    """What answers the calls of one workspace."""

    async def call(self, call: EngineCall, body: bytes = b"") -> tuple[EngineReply, bytes]:
        """The answer. Raises `TimeBudgetError`, `WorkerLostError`."""
        ...

    async def close(self) -> int | None:
        """End it; its exit code, where it was a process."""
        ...


class EngineHere:
    """An engine in this process: for tests, and for who trusts what is opened."""

    def __init__(self, opening: Callable[[], bytes]) -> None:
        from innkeeper.service.inspector.session.engine import WorkspaceEngine

        self._engine, self._opening, self._opened = WorkspaceEngine(), opening, False

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
        self._child: child.AsyncChild | None = None
        self._turn = asyncio.Lock()

    async def call(self, call: EngineCall, body: bytes = b"") -> tuple[EngineReply, bytes]:
        """The answer, when it is this call's turn."""
        async with self._turn:
            try:
                if self._child is None or self._child.has_ended:
                    async with asyncio.timeout(OPEN_SECONDS):
                        await self._start()
                async with asyncio.timeout(MAX_DESK_CALL_SECONDS):
                    return await self._asked(call, body)
            except TimeoutError:
                await self.close()
                raise TimeBudgetError(
                    "the time of one call", limit="MAX_DESK_CALL_SECONDS", allowed=MAX_DESK_CALL_SECONDS
                ) from None
            except asyncio.CancelledError:  # in the middle of a frame: what comes next would be another's answer
                await self.close()
                raise
            except (OSError, EOFError) as error:
                raise await self._reason() from error

    async def _asked(self, call: EngineCall, body: bytes) -> tuple[EngineReply, bytes]:
        if self._child is None:
            raise EOFError
        head, answer = await self._child.ask(call, body)
        return unpack(head, EngineReply), answer

    async def _start(self) -> None:
        from innkeeper.service.settings import SECRETS

        self._child = await child.AsyncChild.start(child.python_command(f"{__name__}:main"), without=SECRETS)
        await self._asked(EngineCall("open"), self._opening())

    async def _reason(self) -> TimeBudgetError | WorkerLostError:
        """Why the process ended in the middle of a call."""
        code = await self.close()
        if code is not None and code == child.OUT_OF_TIME:
            return TimeBudgetError(
                "the processor's time of one call", limit="MAX_DESK_CPU_SECONDS", allowed=MAX_DESK_CPU_SECONDS
            )
        hint = "take the last change back; if it happens each time, open fewer or smaller files"
        return WorkerLostError("the process that built this prompt ended in the middle of it", hint=hint)

    async def close(self) -> int | None:
        """End the process, whatever it does; how it ended."""
        lost, self._child = self._child, None
        return None if lost is None else await lost.close()


def main() -> None:
    """The process itself, which ends when its standard input does."""
    from innkeeper.lore.compiled import keep_compiled

    keep_compiled(_LORE)
    gc.set_threshold(_ALLOCATIONS)
    child.ignore_stops()
    child.leave_after(_run)


def _run() -> None:
    from innkeeper.service.inspector.session.engine import WorkspaceEngine

    source, target = child.take_pipes()
    child.confine(MAX_ENGINE_MEMORY)
    engine = WorkspaceEngine()

    def answer(head: bytes, body: bytes) -> child.Answer:
        return *engine.answer(unpack(head, EngineCall), body), False

    def send(part: bytes) -> None:
        target.write(part)
        target.flush()

    child.say_hello(target)
    child.answer_frames(source, send, answer, seconds=MAX_DESK_CPU_SECONDS)
