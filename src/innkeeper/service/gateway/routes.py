"""The gateway over HTTP: its routes and its WebSocket. Workers compute the calls; only small pages are written here.

A WebSocket's messages are calls like others, under the same limits, one after the other. Garbage gets an error and the connection
stays; a connection that sends nothing for a minute is closed.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Final

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.prompt.typed.once import once
from innkeeper.service.errors import MAX_SOCKET_MESSAGE, MAX_SOCKETS, BodyLimitError
from innkeeper.service.exchange import Request
from innkeeper.service.gateway.gateway import PREFIX, Gateway
from innkeeper.service.gateway.messages import MESSAGE, MESSAGES, PING, PONG, failed
from innkeeper.service.gateway.system import page
from innkeeper.service.guard.application import response
from innkeeper.service.guard.guard import lower_headers
from innkeeper.service.guard.work import SOCKET, CallRecord, Gate, Ticket, share
from innkeeper.service.openapi.document import SERVICE, text_reply
from innkeeper.service.pages import Page, PageTable
from innkeeper.service.processes.pool import Pool

_METHODS: Final = "GET POST PUT PATCH DELETE HEAD OPTIONS"


def gateway_pages(gateway: Gateway, pool: Pool) -> PageTable:
    """``/api/…``, which `gateway_description` describes, and ``/docs``."""

    async def call(request: WebRequest) -> Response:
        scope = request.scope
        query = scope["query_string"].decode("latin-1")
        asked = Request(request.method, scope["path"], query, lower_headers(scope), await request.body())
        if gateway.is_light(asked.path):
            return response(gateway.answer(asked))
        ticket: Ticket = scope["innkeeper.ticket"]
        ticket.grant.check("operation", asked.path.removeprefix(PREFIX))
        reply = await pool.answer(asked, ticket.caller)
        ticket.carry(len(reply.body))
        return response(reply)

    async def docs(request: WebRequest) -> Response:
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return Response(text(), media_type="text/html", headers=policy)

    @once
    def text() -> str:
        return page(gateway.state.operations)

    pages = (
        Page(_METHODS, "/api/{path:path}", call),
        Page("GET", "/docs", docs, text_reply("All operations, to read.", SERVICE, "text/html")),
    )
    return PageTable(pages)


def gateway_socket(gateway: Gateway, gate: Gate, pool: Pool) -> BaseRoute:
    """The WebSocket ``/ws``."""
    return WebSocketRoute(MESSAGES, Sockets(gateway, gate, pool))


IDLE_SECONDS: Final = 60.0
"""How long a connection may be silent."""

_FULL: Final = 1013


class Sockets:
    """All open WebSockets of an application, as an ASGI endpoint."""

    def __init__(self, gateway: Gateway, gate: Gate, pool: Pool) -> None:
        self._state = gateway.state
        self._gate = gate
        self._pool = pool
        self._callers: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection until it ends."""
        socket, record = WebSocket(scope, receive, send), scope["innkeeper.record"]
        caller = record.caller
        if self._state.sockets >= MAX_SOCKETS or self._callers.count(caller) >= share(MAX_SOCKETS):
            await socket.close(_FULL)
            return
        self._callers.append(caller)
        self._state.sockets += 1
        try:
            await socket.accept()
            await self._talk(socket, record)
        except (WebSocketDisconnect, RuntimeError):  # the other side went away, in the middle of an answer or before
            return
        finally:
            self._callers.remove(caller)
            self._state.sockets -= 1

    async def _talk(self, socket: WebSocket, record: CallRecord) -> None:
        for count in itertools.count(1):
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    event = await socket.receive()
            except TimeoutError:
                await socket.close(1000)
                return
            if event["type"] == "websocket.disconnect":
                return
            message = CallRecord(f"{record.number}-{count}", record.caller, SOCKET, record.path, record.surface)
            await socket.send_text((await self.reply(event, message)).decode())

    async def reply(self, event: Any, record: CallRecord) -> bytes:
        """The answer to one message, which is a call with a record of its own."""
        data = event["text"].encode("utf-8", "replace") if event.get("text") else event.get("bytes") or b""
        if data in PING:
            return PONG
        try:
            with self._gate.recorded(record):
                return await self._answer(data, record)
        except InnkeeperError as error:
            return failed(error)

    async def _answer(self, data: bytes, record: CallRecord) -> bytes:
        allowed = self._state.settings.max_body
        if len(data) > allowed:
            raise BodyLimitError("the message", limit="MAX_BODY", allowed=allowed, found=len(data))
        with self._gate.ticket(record.caller, record) as ticket:
            ticket.enter()
            ticket.carry(len(data))
            answer = (await self._pool.answer(Request(MESSAGE, MESSAGES, body=data), record.caller)).body
        if len(answer) > MAX_SOCKET_MESSAGE:
            limit, hint = "MAX_SOCKET_MESSAGE", "make this call over HTTP"
            raise LimitError("the reply", limit=limit, allowed=MAX_SOCKET_MESSAGE, found=len(answer), hint=hint)
        return answer
