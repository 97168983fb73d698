"""Routes: the library over HTTP. What is read or written is worked on beside the event loop, a few calls at a time.

What they do is in `innkeeper.service.inspector.library.calls`, which is not loaded before somebody comes into the room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from innkeeper.prompt import BuildLimits
from innkeeper.prompt.allowance import allowed
from innkeeper.service.exchange import JSON
from innkeeper.service.inspector.access import Visitor
from innkeeper.service.inspector.library.room import LibraryRoom

MAX_LIBRARY_CALLS: Final = 4
"""Calls of the library that are worked on at once (no error: others wait)."""

MAX_LIBRARY_SECONDS: Final = 10.0
"""Seconds of the processor for one call of the library (`AllowanceError`)."""

_CALLS: Final = "innkeeper.service.inspector.library.calls"

Body = Callable[[Request], Awaitable[bytes]]
Answer = Callable[[Request, Visitor], Awaitable[Response]]


class LibraryRoutes:
    """What answers below ``library``.

    Args:
        room: the library.
        body: reads a request's body, which says to be JSON.
    """

    def __init__(self, room: LibraryRoom, body: Body) -> None:
        self.room, self._body = room, body
        self._turns = asyncio.Semaphore(MAX_LIBRARY_CALLS)

    def routes(self) -> tuple[tuple[str, str, Answer], ...]:
        """Methods and paths, with what answers them; longer paths come before those that they begin with."""
        return (
            ("GET", "library", self._call("see_library")),
            ("GET", "library/templates", self._call("see_templates")),
            ("GET", "library/changes/{name:path}", self._call("see_changes")),
            ("POST", "library/templates/{name:path}/draft", self._call("draft")),
            ("POST", "library/templates/{name:path}/publish", self._call("publish", "change templates")),
            ("POST", "library/templates/{name:path}/rollback", self._call("roll_back", "change templates")),
            ("GET", "library/templates/{name:path}", self._call("see_template")),
            ("POST", "library/resolve", self._call("resolve")),
            ("POST", "library/tier", self._call("judge")),
            ("GET", "library/models", self._call("see_models")),
            ("GET", "library/providers", self._call("see_providers")),
            ("GET", "library/tools", self._call("see_tools")),
            ("GET", "library/negatives", self._call("see_negatives")),
            ("GET", "library/budgets", self._call("see_budgets")),
            ("GET", "library/log", self._call("see_log", "see what others asked")),
            ("GET", "library/metrics", self._call("see_metrics", "see what others asked")),
            ("GET", "library/vault", self._call("see_vault", "see what is in the vault")),
        )

    async def close(self) -> None:
        """Give the database back."""
        await asyncio.to_thread(self.room.close)

    def _call(self, name: str, right: str = "") -> Answer:
        """What answers one call; with a ``right`` only to an administrator."""

        async def answer(web: Request, visitor: Visitor) -> Response:
            if right:
                visitor.require_admin(right)
            body = await self._body(web) if web.method == "POST" else b""
            asked = {**web.query_params, **web.path_params}

            def work() -> bytes:
                call = getattr(import_module(_CALLS), name)
                with allowed(BuildLimits(seconds=MAX_LIBRARY_SECONDS)):
                    return msgspec.json.encode(call(self.room, visitor, asked, body))

            async with self._turns:
                return Response(await asyncio.to_thread(work), media_type=JSON)

        return answer
