"""Live: one connection of the page: edits and settings come in, the newest state is built and goes out.

While one state is built, what comes in is gathered; then all of it is built at once. So nobody waits for a state that is out of
date, and the serial that is answered is the newest that was known when its building began.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any, Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.prompt.machine import random_bytes
from innkeeper.prompt.typed.once import decode
from innkeeper.service.exchange import encode
from innkeeper.service.inspector.session.messages import EngineCall
from innkeeper.service.inspector.session.session import RELOAD, WorkspaceSession
from innkeeper.service.inspector.views.exchanges import LiveFailure
from innkeeper.service.inspector.views.workspace import problem_of

LOG: Final = logging.getLogger("innkeeper.service")

QUIET_SECONDS: Final = 0.3
"""Seconds without a change after which files are looked through for findings."""

MAX_PENDING_BYTES: Final = 64 * 1024 * 1024
"""Bytes of edits that wait to be built (no error: the connection is closed)."""

MAX_PENDING_CHANGES: Final = 200
"""Changes of others that wait to be sent (no error: the page asks for the workspace again)."""

_TOO_MUCH: Final = 1009
_DEFECT: Final = 1011


class _Incoming(msgspec.Struct, frozen=True):
    serial: int
    edits: tuple[msgspec.Raw, ...] = ()
    settings: dict[str, Any] | None = None


class Live:
    """One connection, which was accepted."""

    def __init__(self, socket: WebSocket, session: WorkspaceSession) -> None:
        self._socket, self._session = socket, session
        self._name = random_bytes(8).hex()
        self._edits: list[bytes] = []
        self._settings: dict[str, Any] = {}
        self._serial: int | None = None
        self._last = 0
        self._bytes = 0
        self._over = False
        self._changes: list[bytes] = []
        self._news = asyncio.Event()

    def tell(self, message: bytes) -> None:
        """Send the page what another has changed, before anything that is built later. Of many changes it is told to ask."""
        self._changes = [RELOAD] if len(self._changes) >= MAX_PENDING_CHANGES else [*self._changes, message]
        self._news.set()

    async def _send(self, message: bytes = b"") -> None:
        changes, self._changes = self._changes, []
        for one in [*changes, *([message] if message else [])]:
            await self._socket.send_text(one.decode())

    async def serve(self) -> None:
        """Until the page goes away."""
        building = asyncio.ensure_future(self._built())
        try:
            await self._receive()
        except (WebSocketDisconnect, RuntimeError):  # the other side went away
            pass
        finally:
            self._over = True  # what came is taken in, whether or not anybody sees what is built of it
            self._news.set()
            try:
                await building
                await self._session.ask(EngineCall("leave", self._name))
            finally:
                building.cancel()

    async def _receive(self) -> None:
        while True:
            event = await self._socket.receive()
            if event["type"] == "websocket.disconnect":
                return
            data = (event.get("text") or "").encode("utf-8", "replace") or event.get("bytes") or b""
            try:
                incoming = _read(data)
            except (ValueError, RecursionError) as error:
                await self._socket.close(1007, str(error)[:100])
                return
            self._bytes += len(data)
            if self._bytes > MAX_PENDING_BYTES:
                await self._socket.close(_TOO_MUCH)
                return
            self._edits += [bytes(raw) for raw in incoming.edits]
            self._settings |= incoming.settings or {}
            self._serial = incoming.serial
            self._news.set()

    async def _built(self) -> None:
        """Build until the connection ends. One that cannot be gone on with is closed, and the page connects anew."""
        try:
            await self._build()
        except Exception as error:  # noqa: BLE001 - the last stop of a connection
            if not isinstance(error, (WebSocketDisconnect, RuntimeError)):  # which say that the other side went away
                LOG.error("inspector: internal error: %s", type(error).__name__)  # noqa: TRY400 - its text may quote a prompt
            with suppress(RuntimeError):
                await self._socket.close(_DEFECT)

    async def _build(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._news.wait(), QUIET_SECONDS if self._last else None)
            except TimeoutError:
                await self._lint()
                await self._news.wait()
            self._news.clear()
            if not self._over:
                await self._send()
            if self._serial is not None:
                await self._next()
            if self._over:
                return

    async def _next(self) -> None:
        """Build the newest state, and send it."""
        serial, edits, settings = self._serial or 0, self._edits, self._settings
        self._serial, self._edits, self._settings, self._bytes, self._last = None, [], {}, 0, serial
        body = b'{"edits":[' + b",".join(edits) + b"]"
        body += b',"settings":' + encode(settings) + b"}" if settings else b"}"
        try:
            self._session.admit(len(body))
            answer, reply = await self._session.ask(EngineCall("live", self._name, number=serial), body)
        except LimitError as error:
            reply = msgspec.json.encode(LiveFailure(serial, problem_of(error)))
        except InnkeeperError as error:  # the process is lost; the next one has these edits, too
            self._session.note(edits, settings)
            reply = msgspec.json.encode(LiveFailure(serial, problem_of(error)))
        else:
            if answer.is_ok:
                self._session.note(edits, settings)
                if edits or settings:
                    self._session.share(b'{"shared":' + body + b"}", but=self)
            else:
                reply = b'{"serial":%d,"files":[],' % serial + reply.lstrip()[1:]
        await self._send(reply)
        await self._session.settle()

    async def _lint(self) -> None:
        try:
            answer, reply = await self._session.ask(EngineCall("lint", self._name, number=self._last))
        except InnkeeperError:
            return
        if answer.is_ok and reply:
            await self._send(reply)


def _read(data: bytes) -> _Incoming:
    """A message. A half of a character, as editors have for a moment, becomes U+FFFD. Raises `ValueError`."""
    try:
        return decode(data, _Incoming)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode(encode(json.loads(data)), _Incoming)
