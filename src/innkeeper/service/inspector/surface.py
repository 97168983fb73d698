"""Surface: the inspector over HTTP: its page, its API below ``/v1/inspector``, its socket; all behind `Access`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from innkeeper.prompt.errors import FormatError, InnkeeperError, UnknownNameError, UsageError
from innkeeper.service.error_facts import inspector_reply
from innkeeper.service.errors import MAX_UPLOAD, MIB, BodyLimitError
from innkeeper.service.exchange import JSON
from innkeeper.service.guard.application import guarded_application
from innkeeper.service.guard.guard import HEADERS, response
from innkeeper.service.guard.work import Gate
from innkeeper.service.inspector.access import Access, Visitor
from innkeeper.service.inspector.description import document_bytes
from innkeeper.service.inspector.desk.desk import Desk
from innkeeper.service.inspector.desk.desks import Desks
from innkeeper.service.inspector.desk.frames import Answer, Call
from innkeeper.service.inspector.library.routes import LibraryRoutes
from innkeeper.service.inspector.live import Live
from innkeeper.service.inspector.page import INDEX, assets
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.inspector.library.room import LibraryRoom
    from innkeeper.service.inspector.talking import Talk


LOG: Final = logging.getLogger("innkeeper.service")

PAGE: Final = "/inspector/"
API: Final = "/v1/inspector/"

MAX_LIVE: Final = 16
"""Open pages of one workspace (no error: the next one is not connected)."""

_BUSY: Final = 1013

Scope = Any
Handler = Callable[[Request], Awaitable[Response]]


class Inspector:
    """The inspector of one workspace: ``routes`` for a service's application, and an ASGI application of its own.

    Args:
        desk: the workspace.
        access: who may look at it.
        talk: what answers prompts; None: nothing does.
        library: the library; None: that room is not there.
        another: opens the workspace anew, for one more key; None: all who may look share one.
        settings: the limits and keys of an application of its own; those of a service count where it is among its pages.
    """

    def __init__(
        self,
        desk: Desk,
        access: Access,
        talk: Talk | None = None,
        library: LibraryRoom | None = None,
        *,
        another: Callable[[], Desk] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.desks, self.access, self._talk = Desks(desk, another), access, talk
        self._library = None if library is None else LibraryRoutes(library, _json)
        self.routes = self._routes()
        settings = settings or Settings()
        self._app = guarded_application(
            [Route("/health", self._health, methods=["GET"]), *self.routes],
            settings,
            Gate(calls=settings.max_calls, volume=settings.max_bodies, keys=settings.keys),
            lifespan=self._lifespan,
            access=access,
            headers=HEADERS,
        )

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer one connection of ASGI."""
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        warming = asyncio.ensure_future(self._warm())
        try:
            yield
        finally:
            warming.cancel()
            await self.close()

    async def _warm(self) -> None:
        """Start the process, which opens the workspace and builds its prompt, before anybody asks."""
        try:
            await self.desks.own.ask(Call("inspection"))
        except InnkeeperError as error:
            LOG.warning("inspector: %s", error.kind)

    async def close(self) -> None:
        """End the workspaces' processes, let models go, give the library back."""
        await self.desks.close()
        if self._library is not None:
            await self._library.close()
        if self._talk is not None:
            await self._talk.close()

    def _routes(self) -> list[BaseRoute]:
        return [
            Route(PAGE.rstrip("/"), self._home, methods=["GET"]),
            Route(PAGE, self._guarded(self._page), methods=["GET"]),
            Route(PAGE + "{path:path}", self._guarded(self._asset), methods=["GET"]),
            *(Route(API + path, self._guarded(handler), methods=[method]) for method, path, handler in self._api()),
            *self._library_routes(),
            WebSocketRoute(API + "live", self._socket),
        ]

    def _library_routes(self) -> list[Route]:
        calls = () if self._library is None else self._library.routes()
        return [
            Route(API + path, self._guarded(_of_visitor(answer)), methods=[method]) for method, path, answer in calls
        ]

    def _api(self) -> tuple[tuple[str, str, Handler], ...]:
        return (
            ("GET", "workspace", self._asked("view")),
            ("GET", "inspection", self._asked("inspection")),
            ("GET", "openapi.json", self._described),
            ("POST", "files", self._add),
            ("GET", "files/{id}", self._asked("file")),
            ("GET", "files/{id}/picture", self._asked("picture")),
            ("GET", "files/{id}/changes", self._asked("changes")),
            ("GET", "files/{id}/export", self._asked("export", "format")),
            ("POST", "files/{id}/save", self._save),
            ("POST", "files/{id}/revert", self._revert),
            ("GET", "wire", self._asked("wire", "dialect")),
            ("POST", "compare", self._compare),
            ("GET", "replay", self._asked("replay")),
            ("POST", "replay", self._open_replay),
            ("POST", "talk", self._talked),
        )

    # ------------------------------------------------------------------------------------------------------------ access

    def _guarded(self, handler: Handler) -> Handler:
        """A handler behind the cookie, whose errors are problems."""

        async def answer(web: Request) -> Response:
            try:
                if web.url.path == PAGE and "token" in web.query_params:
                    return self._entered(web.query_params["token"])
                web.state.visitor = web.scope["innkeeper.visitor"]
                return await handler(web)
            except (InnkeeperError, msgspec.DecodeError) as error:
                ours = error if isinstance(error, InnkeeperError) else UsageError(f"this cannot be read: {error}")
                web.scope["innkeeper.ticket"].record.failed(ours)
                return response(inspector_reply(web.url.path, ours))

        return answer

    def _entered(self, token: str) -> Response:
        """A browser with the token: it gets the cookie, and an address without the token."""
        cookie = self.access.spend(token)
        if cookie is None:
            return Response(_USED, 403, media_type="text/plain; charset=utf-8")
        return Response(b"", 303, {"location": PAGE, "set-cookie": cookie})

    async def _socket(self, socket: WebSocket) -> None:
        visitor: Visitor = socket.scope["innkeeper.visitor"]
        try:
            desk = await self.desks.of(visitor.name)
        except InnkeeperError:
            await socket.close(_BUSY)
            return
        if desk.live >= MAX_LIVE:
            await socket.close(_BUSY)
            return
        desk.live += 1
        try:
            await socket.accept()
            await Live(socket, desk).serve()
        finally:
            desk.live -= 1
            self.desks.left(visitor.name)

    # -------------------------------------------------------------------------------------------------------------- page

    async def _health(self, _: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type=JSON)

    async def _home(self, web: Request) -> Response:
        query = f"?{web.url.query}" if web.url.query else ""
        return Response(b"", 308, {"location": PAGE + query})

    async def _page(self, _: Request) -> Response:
        index = assets().get(INDEX)
        if index is None:
            return Response(_NO_PAGE, media_type="text/plain; charset=utf-8")
        return Response(index.data, media_type=index.media_type)

    async def _asset(self, web: Request) -> Response:
        asset = assets().get(web.path_params["path"])
        if asset is None:
            raise UnknownNameError("page", web.path_params["path"])
        return Response(asset.data, media_type=asset.media_type)

    # --------------------------------------------------------------------------------------------------------------- API

    async def _desk(self, web: Request) -> Desk:
        """The workspace of whoever asks. Raises `LimitError` where there is no room for it."""
        return await self.desks.of(web.state.visitor.name)

    def _asked(self, name: str, detail: str = "") -> Handler:
        """What the workspace answers to a question about a file, or with a word of the query."""

        async def ask(web: Request) -> Response:
            call = Call(name, web.path_params.get("id", ""), web.query_params.get(detail, "") if detail else "")
            return _reply(*await (await self._desk(web)).ask(call))

        return ask

    async def _described(self, _: Request) -> Response:
        return Response(document_bytes(), media_type=JSON)

    async def _add(self, web: Request) -> Response:
        name = web.query_params.get("name", "").replace("\\", "/").rpartition("/")[2] or "file"
        return _reply(*await (await self._desk(web)).add(name[:_NAME], await _body(web, MAX_UPLOAD)))

    async def _save(self, web: Request) -> Response:
        await _body(web, _SMALL)
        return _reply(*await (await self._desk(web)).save(web.path_params["id"]))

    async def _revert(self, web: Request) -> Response:
        await _body(web, _SMALL)
        return _reply(*await (await self._desk(web)).revert(web.path_params["id"]))

    async def _compare(self, web: Request) -> Response:
        return _reply(*await (await self._desk(web)).ask(Call("compare"), await _json(web)))

    async def _open_replay(self, web: Request) -> Response:
        return _reply(*await (await self._desk(web)).open_replay(await _json(web, MAX_UPLOAD)))

    async def _talked(self, web: Request) -> Response:
        body = await _json(web)
        if self._talk is None:
            raise UnknownNameError("model", "", hint="no model can be asked here")
        return await self._talk.answer(await self._desk(web), body, web.receive)


def _of_visitor(answer: Callable[[Request, Visitor], Awaitable[Response]]) -> Handler:
    """A handler that is told who asks."""
    return lambda web: answer(web, web.state.visitor)


_SMALL: Final = MIB
_NAME: Final = 200
_NO_PAGE: Final = "The page of the inspector is not built; its API answers below /v1/inspector/.\n"
_USED: Final = "This address was used already, or is not the newest. Start `innkeeper inspect` again for another.\n"


async def _body(web: Request, allowed: int) -> bytes:
    """Return the body, which the guard has read. Raises `BodyLimitError`."""
    body = await web.body()
    if len(body) > allowed:
        raise BodyLimitError("the body", limit="MAX_UPLOAD", allowed=allowed, found=len(body))
    return body


async def _json(web: Request, allowed: int = 8 * MIB) -> bytes:
    """A body that says to be JSON, which forms of other pages cannot say. Raises `FormatError`."""
    if web.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise FormatError("the body is not JSON", hint=f"send it with content-type: {JSON}")
    return await _body(web, allowed)


def _reply(answer: Answer, body: bytes) -> Response:
    headers: Mapping[str, str] = {}
    if answer.name:
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(answer.name, safe='')}"}
    return Response(body, answer.status, dict(headers), answer.media_type)
