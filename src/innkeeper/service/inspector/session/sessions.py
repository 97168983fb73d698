"""Sessions: the workspaces of one service: that of whoever opened the printed address, and one for each key that looks.

What one key edits, no other sees. They are bounded in number and in bytes. Of one that nobody has used for a while the process is
ended, and begins again where it was; where there is no room for another key, the one that was idle for longest is forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

from innkeeper.prompt.errors import LimitError
from innkeeper.service.inspector.session.session import WorkspaceSession

MAX_WORKSPACES: Final = 16
"""Workspaces of keys in one service, beside that of whoever started it (`LimitError`)."""

MAX_WORKSPACE_BYTES: Final = 1024 * 1024 * 1024
"""Bytes of the files and edits of all workspaces of a service (`LimitError`)."""

IDLE_SECONDS: Final = 1_800.0
"""Seconds without a call and without an open page after which the process of a key's workspace is ended."""


class WorkspaceSessions:
    """The sessions by the names of their visitors.

    Args:
        own: the one of whoever started the service.
        another: opens the same anew, for one more key; None: all share ``own``.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        own: WorkspaceSession,
        another: Callable[[], WorkspaceSession] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.own, self._another, self._clock = own, another, clock
        self._sessions: dict[str, WorkspaceSession] = {}
        self._used: dict[str, float] = {}
        self._opening = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def of(self, name: str) -> WorkspaceSession:
        """The session of a visitor; without a name, or where there is no other, the own one.

        Raises `LimitError` where there is no room for one more. Raises what opening it raises.
        """
        if not name or self._another is None:
            return self.own
        self._used[name] = self._clock()
        if name not in self._sessions:
            async with self._opening:
                if name not in self._sessions:
                    await self._open(name, self._another)
        return self._sessions[name]

    def left(self, name: str) -> None:
        """Somebody has closed a page."""
        self._used[name] = self._clock()

    async def _open(self, name: str, another: Callable[[], WorkspaceSession]) -> None:
        await self._make_room()
        session = await asyncio.to_thread(another)
        self._check(session.size)
        session.admit = self._check
        self._sessions[name] = session
        self._wake_later()

    async def _make_room(self) -> None:
        """Close the session that was idle longest, where there are as many as allowed. Raises `LimitError` if none is idle."""
        if len(self._sessions) < MAX_WORKSPACES:
            return
        idle = self._idle()
        if not idle:
            what, count = "the workspaces of keys in the inspector", len(self._sessions) + 1
            hint = "wait until somebody has left"
            raise LimitError(what, limit="MAX_WORKSPACES", allowed=MAX_WORKSPACES, found=count, hint=hint)
        await self._sessions.pop(idle[0]).close()
        self._used.pop(idle[0], None)

    def _check(self, more: int) -> None:
        """Check that there is room for so many more bytes. Raises `LimitError`."""
        size = self.own.size + sum(session.size for session in self._sessions.values()) + more
        if size > MAX_WORKSPACE_BYTES:
            what, hint = "the files of all workspaces", "close some: saved files need no workspace"
            raise LimitError(what, limit="MAX_WORKSPACE_BYTES", allowed=MAX_WORKSPACE_BYTES, found=size, hint=hint)

    # ------------------------------------------------------------------------------------------------------------- idle

    def _idle(self) -> list[str]:
        """The names of idle sessions, the longest idle first."""
        before = self._clock() - IDLE_SECONDS
        names = (name for name, session in self._sessions.items() if not session.live and self._used[name] <= before)
        return sorted(names, key=self._used.__getitem__)

    async def rest(self) -> None:
        """End the processes of those that nobody uses."""
        for name in self._idle():
            await self._sessions[name].close()

    def _wake_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._sweeping = asyncio.ensure_future(self.rest())
        self._wake_later()

    async def close(self) -> None:
        """End all processes."""
        if self._timer is not None:
            self._timer.cancel()
        for session in (self.own, *self._sessions.values()):
            await session.close()
