"""Surface: the inspector over HTTP: its page, a built bundle, its API below ``/v1/inspector``, its socket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError, UsageError
from innkeeper.prompt.typed.once import once
from innkeeper.service.error_facts import inspector_reply
from innkeeper.service.errors import MAX_UPLOAD
from innkeeper.service.exchange import JSON
from innkeeper.service.guard.application import guarded_application, response
from innkeeper.service.guard.guard import HEADERS
from innkeeper.service.guard.work import Gate
from innkeeper.service.inspector.access import Access, Visitor, json_bytes_of
from innkeeper.service.inspector.description import API, BYTES, REPLAY, api_page, document_bytes
from innkeeper.service.inspector.library.routes import LibraryPages
from innkeeper.service.inspector.live import Live
from innkeeper.service.inspector.session.messages import EngineCall, EngineReply
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.session.sessions import WorkspaceSessions
from innkeeper.service.inspector.views.exchanges import CompareRequest, Comparison
from innkeeper.service.inspector.views.inspection import InspectionView, StepView, Wire
from innkeeper.service.inspector.views.installed import InstallChoice, InstallContents
from innkeeper.service.inspector.views.talk import TalkModel, TalkRequest
from innkeeper.service.inspector.views.timeline import TimelineRequest, TimelineView
from innkeeper.service.inspector.views.workspace import (
    Changes,
    Conflict,
    ConflictEnd,
    EntriesCopy,
    EntryEdits,
    FileContent,
    FileReply,
    FileView,
    Saved,
    Workspace,
)
from innkeeper.service.pages import Endpoint, Page, PageTable
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.inspector.library.library_access import LibraryAccess
    from innkeeper.service.inspector.talking import InspectorTalk


LOG: Final = logging.getLogger("innkeeper.service")

PAGE: Final = "/inspector/"

MAX_LIVE: Final = 16
"""Open pages of one workspace (no error: the next one is not connected)."""

_BUSY: Final = 1013

Work = Callable[[WorkspaceSession, Request, bytes], Awaitable[tuple[EngineReply, bytes]]]
"""What a session does with a request and its body."""


class Inspector:
    """The inspector of one workspace: ``routes`` for a service's application, and an ASGI application of its own.

    Args:
        session: the workspace.
        access: who may look at it.
        talk: what answers prompts; None: nothing does.
        library: the library; None: its pages are not there.
        another: opens the workspace anew, for one more key; None: all who may look share one.
        settings: the limits and keys of an application of its own; those of a service count where it is among its pages.
    """

    def __init__(
        self,
        session: WorkspaceSession,
        access: Access,
        talk: InspectorTalk | None = None,
        library: LibraryAccess | None = None,
        *,
        another: Callable[[], WorkspaceSession] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.sessions, self.access, self._talk = WorkspaceSessions(session, another), access, talk
        self._library = None if library is None else LibraryPages(library)
        self.table = self._table()
        self.routes = [*self.table.routes(), WebSocketRoute(API + "live", self._socket)]
        settings = settings or Settings()
        self._app = guarded_application(
            [*PageTable([Page("GET", "/health", _health)]).routes(), *self.routes],
            settings,
            Gate(calls=settings.max_calls, volume=settings.max_bodies, keys=settings.keys),
            lifespan=self._lifespan,
            access=access,
            headers=HEADERS,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
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
            await self.sessions.own.ask(EngineCall("inspection"))
        except InnkeeperError as error:
            LOG.warning("inspector: %s", error.kind)

    async def close(self) -> None:
        """End the workspaces' processes, let models go, give the library back."""
        await self.sessions.close()
        if self._library is not None:
            await self._library.close()
        if self._talk is not None:
            await self._talk.close()

    def _table(self) -> PageTable:
        """The pages: those without a description are for browsers."""
        page, file, of = self._session_page, "files/{id}", WorkspaceSession
        pages = [
            Page("GET", PAGE, self._page),
            Page("GET", PAGE + "{path:path}", self._asset),
            Page("GET", API + "openapi.json", self._document),
            page("GET", "workspace", _ask("view"), "The files, the settings, what there is to choose from.", Workspace),
            page("GET", "install", _ask("contents"), "What there is in the SillyTavern folder.", InstallContents),
            page("POST", "install", _send(of.choose), "Open something else of it.", Workspace, body=InstallChoice),
            page("GET", "inspection", _ask("inspection"), "The prompt and why it is as it is.", InspectionView),
            page("POST", "files", _add, "One more file, kept in memory.", FileView, body=BYTES, query=_NAME),
            page("POST", "files/new", _begin, "A new file of a kind, kept in memory.", FileView, query=_KIND),
            page("POST", "entries", _ask("entries"), "Entries for another book.", EntryEdits, body=EntriesCopy),
            page("POST", f"{file}/picture", _send(of.repaint), "Another picture for a card.", FileReply, body=BYTES),
            page("GET", file, _ask("file"), "A working copy.", FileContent),
            page("GET", f"{file}/picture", _ask("picture"), "A card's picture.", "image/png"),
            page("GET", f"{file}/changes", _ask("changes"), "What saving would change.", Changes),
            page("GET", f"{file}/conflict", _ask("conflict"), "What both have changed.", Conflict),
            page("POST", f"{file}/resolve", _send(of.resolve), "End a conflict.", FileReply, body=ConflictEnd),
            page("GET", f"{file}/export", _ask("export", "format"), "A file in another format.", BYTES, query=_FORMAT),
            page("POST", f"{file}/save", _do(of.save), "Save a file, and keep what was there beside it.", Saved),
            page("POST", f"{file}/revert", _do(of.revert), "Take the edits of a file back.", FileReply),
            page("GET", "wire", _ask("wire", "dialect"), "The request that a provider gets.", Wire, query=_DIALECT),
            page("POST", "compare", _ask("compare"), "Two variations side by side.", Comparison, body=CompareRequest),
            page("POST", "timeline", _ask("timeline"), "Some turns of the chat.", TimelineView, body=TimelineRequest),
            page("GET", "steps", _ask("steps"), "How the prompt is built, step by step.", tuple[StepView, ...]),
            page("GET", "replay", _ask("replay"), "The build as a replay bundle.", JSON),
            page("POST", "replay", _send(of.open_replay), _REPLAY, Workspace, body=REPLAY),
            api_page("GET", "models", self._models, "The models that can be asked.", tuple[TalkModel, ...]),
            api_page("POST", "talk", self._send, _TALK, "text/event-stream", body=TalkRequest),
            *(() if self._library is None else self._library.pages()),
        ]
        guarded = [page._replace(answer=self._guarded(page.answer)) for page in pages]
        return PageTable([Page("GET", PAGE.rstrip("/"), _add_slash), *guarded])

    def _session_page(
        self,
        method: str,
        path: str,
        work: Work,
        summary: str,
        reply: Any,
        *,
        body: Any = None,
        query: Mapping[str, str] = EMPTY,
    ) -> Page:
        """A page of the API, whose answer is that of the visitor's session."""

        async def answer(web: Request) -> Response:
            content = b""
            if body == BYTES:
                content = await web.body()
            elif body is not None:
                content = await (json_bytes_of(web, MAX_UPLOAD) if body is REPLAY else json_bytes_of(web))
            reply, data = await work(await self.sessions.of(web.state.visitor.name), web, content)
            name = quote(reply.name, safe="")
            headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"} if name else {}
            return Response(data, reply.status, headers, reply.media_type)

        return api_page(method, path, answer, summary, reply, body=body, query=query)

    # ------------------------------------------------------------------------------------------------------------ access

    def _guarded(self, handler: Endpoint) -> Endpoint:
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
            return Response(_USED, 403, media_type=_TEXT)
        return Response(b"", 303, {"location": PAGE, "set-cookie": cookie})

    async def _socket(self, socket: WebSocket) -> None:
        visitor: Visitor = socket.scope["innkeeper.visitor"]
        try:
            session = await self.sessions.of(visitor.name)
        except InnkeeperError:
            await socket.close(_BUSY)
            return
        if session.live >= MAX_LIVE:
            await socket.close(_BUSY)
            return
        live = Live(socket, session)
        session.enter(live)
        try:
            await socket.accept()
            await live.serve()
        finally:
            session.leave(live)
            self.sessions.left(visitor.name)

    # -------------------------------------------------------------------------------------------------------------- pages

    async def _page(self, _: Request) -> Response:
        index = assets().get("index.html")
        if index is None:
            return Response(_NO_PAGE, media_type=_TEXT)
        return Response(index.data, media_type=index.media_type)

    async def _asset(self, web: Request) -> Response:
        asset = assets().get(web.path_params["path"])
        if asset is None:
            raise UnknownNameError("page", web.path_params["path"])
        return Response(asset.data, media_type=asset.media_type)

    async def _document(self, _: Request) -> Response:
        return Response(document_bytes(self.table), media_type=JSON)

    async def _models(self, web: Request) -> Response:
        ticket = web.scope["innkeeper.ticket"]
        models = () if self._talk is None else self._talk.models(ticket.may_ask)
        return Response(msgspec.json.encode(models), media_type=JSON)

    async def _send(self, web: Request) -> Response:
        body = await json_bytes_of(web)
        if self._talk is None:
            raise UnknownNameError("model", "", hint="no model can be asked here")
        return await self._talk.answer(await self.sessions.of(web.state.visitor.name), body)


async def _health(_: Request) -> Response:
    return Response(b'{"status":"ok"}', media_type=JSON)


async def _add_slash(web: Request) -> Response:
    query = f"?{web.url.query}" if web.url.query else ""
    return Response(b"", 308, {"location": PAGE + query})


# --------------------------------------------------------------------------------------------------------- session's work


def _ask(name: str, detail: str = "") -> Work:
    """Ask the engine about the file of the path, and with a word of the query."""

    def work(session: WorkspaceSession, web: Request, body: bytes) -> Awaitable[tuple[EngineReply, bytes]]:
        word = web.query_params.get(detail, "") if detail else ""
        return session.ask(EngineCall(name, web.path_params.get("id", ""), word), body)

    return work


def _do(work: Callable[..., Awaitable[tuple[EngineReply, bytes]]]) -> Work:
    """Have the session do something with the file of the path."""
    return lambda session, web, _: work(session, web.path_params["id"])


def _send(work: Callable[..., Awaitable[tuple[EngineReply, bytes]]]) -> Work:
    """Have the session do something with the file of the path, if it names one, and with the body."""
    return lambda session, web, body: work(session, *web.path_params.values(), body)


async def _begin(session: WorkspaceSession, web: Request, _: bytes) -> tuple[EngineReply, bytes]:
    return await session.begin(web.query_params.get("kind", ""))


async def _add(session: WorkspaceSession, web: Request, body: bytes) -> tuple[EngineReply, bytes]:
    name = web.query_params.get("name", "").replace("\\", "/").rpartition("/")[2] or "file"
    return await session.add(name[:_LONGEST_NAME], body)


_TALK: Final = "Send the prompt: events delta, then end or error."
_REPLAY: Final = "Open a replay bundle, which alone is used."
_KIND: Final = {"kind": "character, lorebook, persona or preset"}
_NAME: Final = {"name": "what the file is called"}
_FORMAT: Final = {"format": "one of those that the workspace lists for it"}
_DIALECT: Final = {"dialect": "one of the workspace's; the plan's own where left out"}
_LONGEST_NAME: Final = 200
_TEXT: Final = "text/plain; charset=utf-8"
_NO_PAGE: Final = "The page of the inspector is not built; its API answers below /v1/inspector/.\n"
_USED: Final = "This address was used already, or is not the newest. Start `innkeeper inspect` again for another.\n"


# --------------------------------------------------------------------------------------------------------------- bundle

_BUNDLE: Final = Path(__file__).with_name("page")
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What a page may be made of."""


class Asset(NamedTuple):
    """A file of the bundle: its bytes and its media type."""

    data: bytes
    media_type: str


@once
def assets() -> dict[str, Asset]:
    """The files of the bundle by their paths below the page. They are served from memory, by their exact names."""
    files = sorted(path for path in _BUNDLE.rglob("*") if path.is_file() and path.suffix in _TYPES)
    return {path.relative_to(_BUNDLE).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix]) for path in files}
