"""The gateway over HTTP: its routes and its WebSocket. Calls are computed beside the event loop; pages are written on it.

The WebSocket ``/ws`` (smarttavern reference, 9) answers ``ping``, and ``function_call`` of any operation by its path. A call's
result is what the same call gives over HTTP. Garbage gets an error and the connection stays; a connection that sends nothing for
a minute is closed.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.errors import MAX_SOCKETS
from innkeeper.service.exchange import JSON, Reply, Request, encode, error_reply
from innkeeper.service.gateway.gateway import PREFIX, Gateway
from innkeeper.service.gateway.operation import Operation
from innkeeper.service.gateway.system import page
from innkeeper.service.guard import lower_headers, response
from innkeeper.service.work import Gate

__all__ = ["Sockets", "routes"]

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


def routes(gateway: Gateway, gate: Gate) -> list[BaseRoute]:
    """``/api/…``, ``/openapi.json``, ``/docs`` and the WebSocket ``/ws``."""

    async def call(request: WebRequest) -> Response:
        scope = request.scope
        query = scope["query_string"].decode("latin-1")
        asked = Request(request.method, scope["path"], query, lower_headers(scope), await request.body())
        if gateway.is_light(asked.path):
            return response(gateway.answer(asked))
        return response(await gate.run(lambda: gateway.answer(asked)))

    async def docs(request: WebRequest) -> Response:
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return Response(page(gateway.state.operations), media_type="text/html", headers=policy)

    return [
        Route("/api/{path:path}", call, methods=_METHODS),
        Route("/openapi.json", call, methods=["GET"]),
        Route("/docs", docs, methods=["GET"]),
        WebSocketRoute("/ws", Sockets(gateway, gate)),
    ]


IDLE_SECONDS: Final = 60.0
"""How long a connection may be silent."""

_NAMESPACES: Final = ("modules", "workflow", "plugins")
_FULL: Final = 1013


class Sockets:
    """All open WebSockets of an application, as an ASGI endpoint."""

    def __init__(self, gateway: Gateway, gate: Gate) -> None:
        self._gateway = gateway
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection until it ends."""
        socket, state = WebSocket(scope, receive, send), self._gateway.state
        if state.sockets >= MAX_SOCKETS:
            await socket.close(_FULL)
            return
        state.sockets += 1
        try:
            await socket.accept()
            await self._talk(socket)
        except (WebSocketDisconnect, RuntimeError):  # the other side went away, in the middle of an answer or before
            return
        finally:
            state.sockets -= 1

    async def _talk(self, socket: WebSocket) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    event = await socket.receive()
            except TimeoutError:
                await socket.close(1000)
                return
            if event["type"] == "websocket.disconnect":
                return
            await socket.send_text(encode(await self.reply(event)).decode())

    async def reply(self, event: Any) -> dict[str, Any]:
        """The answer to one message."""
        try:
            message = json.loads(event.get("text") or event.get("bytes") or b"")
        except (ValueError, RecursionError) as error:
            return _error("INVALID_JSON", str(error))
        if not isinstance(message, dict):
            return _error("INVALID_MESSAGE", "a message is an object with a type")
        if message.get("type") == "ping":
            return {"type": "pong"}
        if message.get("type") == "function_call":
            return await self._call(message.get("function"), message.get("params"))
        return _error("UNKNOWN_TYPE", "types are ping and function_call")

    async def _call(self, function: Any, params: Any) -> dict[str, Any]:
        failed = {"type": "function_result", "function": function, "success": False}
        if not isinstance(function, str) or "." in function or "\\" in function:
            return {**failed, "error": "FUNCTION_PATH_FORMAT"}
        operation = self._find(function)
        if operation is None:
            return {**failed, "error": "NOT_FOUND"}
        body = json.loads((await self._answer(operation, params)).body)
        if isinstance(body, dict) and ("error_code" in body or (set(body) <= {"error", "problem"} and body)):
            return {**failed, "error": body}
        return {**failed, "success": True, "result": body}

    def _find(self, function: str) -> Operation | None:
        name = function.strip("/")
        paths = [f"{PREFIX}{name}", *(f"{PREFIX}{namespace}/{name}" for namespace in _NAMESPACES)]
        return next((operation for path in paths if (operation := self._gateway.find(path))), None)

    async def _answer(self, operation: Operation, params: Any) -> Reply:
        body = encode({} if params is None else params)
        asked = Request("POST", f"{PREFIX}{operation.name}", headers={"content-type": JSON}, body=body)
        try:
            self._gate.enter()
        except InnkeeperError as error:
            return error_reply(error)
        try:
            return await self._gate.run(lambda: self._gateway.answer(asked))
        except InnkeeperError as error:
            return error_reply(error)
        finally:
            self._gate.leave(0)


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error_code": code, "message": message}
