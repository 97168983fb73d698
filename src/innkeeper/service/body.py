"""Reading a request's body: counted while it arrives, and within a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from innkeeper.service.errors import BodyLimitError, SlowBodyError
from innkeeper.service.settings import Settings
from innkeeper.service.work import Gate

__all__ = ["Intake", "announced"]


class Intake:
    """One request's body. ``size`` is what the gate was charged for it so far, also when reading failed."""

    def __init__(self, receive: Callable[[], Awaitable[Any]], settings: Settings, gate: Gate) -> None:
        self._receive = receive
        self._settings = settings
        self._gate = gate
        self.size = 0

    async def read(self, headers: Mapping[str, str]) -> bytes:
        """The whole body.

        Raises:
            BodyLimitError: it is larger than allowed, by its announcement or by what arrived.
            OverloadError: all bodies together are.
            SlowBodyError: it did not arrive in time, or the client went away.
        """
        self._allow(announced(headers))
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                return await self._collect()
        except TimeoutError:
            raise SlowBodyError("the body did not arrive in time", hint="send it at once") from None

    async def _collect(self) -> bytes:
        parts: list[bytes] = []
        while True:
            event = await self._receive()
            if event["type"] != "http.request":
                raise SlowBodyError("the client went away in the middle of the body")
            part = event.get("body", b"")
            self._allow(self.size + len(part))
            self._gate.carry(len(part))
            self.size += len(part)
            parts.append(part)
            if not event.get("more_body"):
                return b"".join(parts)

    def _allow(self, size: int) -> None:
        allowed = self._settings.max_body
        if size > allowed:
            raise BodyLimitError("the body", limit="MAX_BODY", allowed=allowed, found=size, hint="send less at once")


def announced(headers: Mapping[str, str]) -> int:
    """What ``content-length`` says, or 0."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0  # noqa: PLR2004 - digits of 2**63
