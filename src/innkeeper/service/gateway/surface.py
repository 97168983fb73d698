"""The gateway over HTTP: its routes. Calls are computed beside the event loop; pages are written on it."""

from __future__ import annotations

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from innkeeper.service.exchange import Request
from innkeeper.service.gateway.gateway import Gateway
from innkeeper.service.gateway.page import page
from innkeeper.service.gateway.socket import Sockets
from innkeeper.service.guard import lower_headers, response
from innkeeper.service.work import Gate

__all__ = ["routes"]

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
        return Response(page(gateway.house.operations), media_type="text/html", headers=policy)

    return [
        Route("/api/{path:path}", call, methods=_METHODS),
        Route("/openapi.json", call, methods=["GET"]),
        Route("/docs", docs, methods=["GET"]),
        WebSocketRoute("/ws", Sockets(gateway, gate)),
    ]
