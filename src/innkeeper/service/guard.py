"""The guard: what happens to every request before a surface sees it, and to every reply on its way out.

In order: a number for the request, the origin, permission questions of browsers, the key, how many calls there are. Bodies
are read here too, so that no surface can forget the limits.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from time import monotonic
from typing import Any, Final

from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.outside import fresh_seed
from innkeeper.service.body import Intake
from innkeeper.service.errors import OriginRefusedError
from innkeeper.service.exchange import Reply
from innkeeper.service.origins import check_origin, is_preflight, permissions
from innkeeper.service.render import error_reply, json_reply
from innkeeper.service.settings import Settings
from innkeeper.service.work import Gate

__all__ = ["Guard", "lower_headers", "missing", "response"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOG: Final = logging.getLogger("innkeeper.service")
_REQUEST_ID: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)
_FIXED: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "no-referrer"}


class Guard:
    """The middleware around all surfaces. Holds a counter of requests; the rest is in the settings and the gate."""

    def __init__(
        self, app: Callable[[Scope, Receive, Send], Awaitable[None]], *, settings: Settings, gate: Gate
    ) -> None:
        self._app = app
        self._settings = settings
        self._gate = gate
        self._start = fresh_seed()
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection of ASGI."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, began = lower_headers(scope), monotonic()
        number = self._number(headers)
        outlet = _Outlet(
            send, {**_FIXED, "x-request-id": number, **permissions(headers, self._settings)}, self._settings
        )
        try:
            await self._pass(scope, receive, outlet, headers)
        except Exception as error:  # noqa: BLE001 - the last stop of a request
            LOG.error("%s: internal error: %s", number, type(error).__name__)  # noqa: TRY400 - its text may quote a prompt
            await outlet.reply(_internal(error))
        LOG.info("%s %s %s %d ms", number, scope["method"], outlet.status, (monotonic() - began) * 1000)

    async def _pass(self, scope: Scope, receive: Receive, outlet: _Outlet, headers: dict[str, str]) -> None:
        if is_preflight(scope["method"], headers):
            await outlet.reply(self._permission(headers))
            return
        intake = Intake(receive, self._settings, self._gate)
        try:
            check_origin(headers, self._settings)
            self._settings.keys.check(headers)
            self._gate.enter()
        except InnkeeperError as error:
            await outlet.reply(error_reply(error), close=True)
            return
        try:
            body = await intake.read(headers)
            await self._app(scope, _once(body, receive), outlet.send)
        except InnkeeperError as error:
            await outlet.reply(error_reply(error), close=True)
        finally:
            self._gate.leave(intake.size)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = lower_headers(scope)
        try:
            check_origin(headers, self._settings)
            self._settings.keys.check(headers)
        except InnkeeperError:
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._app(scope, receive, send)

    def _permission(self, headers: dict[str, str]) -> Reply:
        given = permissions(headers, self._settings, preflight=True)
        if given:
            return Reply(204, b"", given)
        return error_reply(OriginRefusedError("a web page of another origin asks for permission"))

    def _number(self, headers: dict[str, str]) -> str:
        self._count += 1
        given = headers.get("x-request-id", "")
        return given if _REQUEST_ID.fullmatch(given) else f"{self._start:08x}-{self._count:06x}"


class _Outlet:
    """The way out: adds headers, remembers the status, and gives up on clients that do not take their answer."""

    def __init__(self, send: Send, headers: dict[str, str], settings: Settings) -> None:
        self._send = send
        self._headers = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        self._seconds = settings.body_seconds
        self.status = 0

    async def send(self, event: MutableMapping[str, Any]) -> None:
        """Pass an event on."""
        if event["type"] == "http.response.start":
            self.status = event["status"]
            said = {name for name, _ in event["headers"]}
            event = {**event, "headers": [*event["headers"], *(pair for pair in self._headers if pair[0] not in said)]}
        async with asyncio.timeout(self._seconds):
            await self._send(event)

    async def reply(self, reply: Reply, *, close: bool = False) -> None:
        """Send a whole reply, unless one has begun already; ``close`` ends the connection, whose body nobody read."""
        if self.status:
            return
        names = {**reply.headers, "content-type": reply.media_type, "content-length": str(len(reply.body))}
        if close:
            names["connection"] = "close"
        headers = [(name.encode(), value.encode("latin-1")) for name, value in names.items()]
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body})


def lower_headers(scope: Scope) -> dict[str, str]:
    """The headers of a request with lower-case names; of several with one name the last counts."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def response(reply: Reply) -> Response:
    """A reply as Starlette's."""
    return Response(reply.body, reply.status, dict(reply.headers), reply.media_type)


async def missing(request: WebRequest, error: Exception) -> Response:
    """The body for a path or a method that does not exist."""
    status = getattr(error, "status_code", 404)
    detail = "Method Not Allowed" if status == 405 else "Not Found"  # noqa: PLR2004 - the two it is registered for
    return response(json_reply({"detail": detail}, status, dict(getattr(error, "headers", None) or {})))


def _internal(error: Exception) -> Reply:
    body = {"error_code": "INTERNAL_ERROR", "message": "Internal Server Error", "detail": type(error).__name__}
    return json_reply(body, 500)


def _once(body: bytes, receive: Receive) -> Receive:
    """The body as one event; after it whatever the server says, which is only that the client went away."""
    waiting = [body]

    async def take() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return take
