"""The guard: what happens to every request before a surface sees it, and to every reply on its way out.

In order: a number for the request, permission questions of browsers, the size of headers, the origin, the key, how late the
server is. Bodies are read here too, counted while they arrive and within a time, so that no surface can forget the limits; then
it is seen how many calls there are, and what this key may do. Whether the service is there can always be asked. When a call has
ended its record goes to whoever observes: logs, metrics, spans.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from time import monotonic
from typing import Any, Final

from innkeeper.inference.client.transport import within
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.machine import fresh_seed
from innkeeper.prompt.text import shorten
from innkeeper.service.error_facts import defect_reply, refusal
from innkeeper.service.errors import (
    MAX_HEADERS,
    MAX_UPLOAD,
    RETRY_SECONDS,
    BodyLimitError,
    EncodingError,
    HeaderLimitError,
    OriginRefusedError,
    ScopeError,
    SlowBodyError,
    StoppingError,
)
from innkeeper.service.exchange import HttpReply, error_reply
from innkeeper.service.guard.callers import check_host, check_origin, check_own_page, is_preflight, permissions
from innkeeper.service.guard.grants import INSPECTOR, PROBES, SIGNED, presented_key, surface_of
from innkeeper.service.guard.work import ANTHROPIC_PATHS, SOCKET, SWITCHED, CallRecord, Gate, Ticket
from innkeeper.service.inspector.access import OWNER, Access, Visitor
from innkeeper.service.settings import Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOG: Final = logging.getLogger("innkeeper.service")
_REQUEST_ID: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)
RESERVED: Final = frozenset({"/api/health", "/api/info"})
"""Pages that are answered whatever else is going on. With keys they need one, as `PROBES` do not."""

DECODING: Final = "/prompt.v1."
"""What the paths begin with of a surface that reads compressed bodies itself, up to the size that a plain one may have."""

_PIECE: Final = 256 * 1024
VISITOR: Final = "inspector page"
"""The caller of a browser that opened the inspector's one-time address. No key has this name: names of keys have no blank."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a page of ours may load: nothing that we do not serve, no script in the page itself."""

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
    "cache-control": "no-store",
}
"""Headers of every reply of the inspector."""

_FIXED: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store", "referrer-policy": "no-referrer"}


class Guard:
    """The middleware around all surfaces. Holds a counter of requests; the rest is in the settings and the gate.

    A surface finds its call's `Ticket` in ``scope["innkeeper.ticket"]``, or by `current_ticket`.
    """

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
        *,
        settings: Settings,
        gate: Gate,
        access: Access | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._app = app
        self._settings = settings
        self._gate = gate
        self._access = access
        self._headers = _FIXED if headers is None else headers
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

    def _record(self, scope: Scope, headers: dict[str, str]) -> CallRecord:
        self._count += 1
        asked = headers.get("x-request-id", "")
        return CallRecord(
            number=asked if _REQUEST_ID.fullmatch(asked) else f"{self._start:08x}-{self._count:06x}",
            method=scope.get("method", SOCKET),
            path=scope["path"],
            surface=surface_of(scope["path"]),
            trace=headers.get("traceparent", ""),
        )

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = lower_headers(scope)
        record = self._record(scope, headers)
        if self._is_inspector(record.path):  # no other origin ever gets a permission there
            marks = {**HEADERS, "x-request-id": record.number}
        else:
            marks = {**self._headers, "x-request-id": record.number, **permissions(headers, self._settings)}
            if record.path.startswith(ANTHROPIC_PATHS):
                marks["request-id"] = record.number  # Anthropic's clients look for it, above all in errors
        outlet = ResponseWriter(send, marks, self._settings, record)
        try:
            await self._pass(scope, receive, outlet, headers)
        except asyncio.CancelledError:
            await outlet.refuse(StoppingError("the service is stopping", retry_after=RETRY_SECONDS))
            raise
        except Exception as error:  # noqa: BLE001 - the last stop of a request
            record.error = type(error).__name__
            LOG.error("%s: internal error: %s", record.number, record.error)  # noqa: TRY400 - its text may quote a prompt
            await outlet.reply(defect_reply(record.path, record.error))
        finally:
            self._gate.ended(record)

    async def _pass(self, scope: Scope, receive: Receive, outlet: ResponseWriter, headers: dict[str, str]) -> None:
        record, path = outlet.record, scope["path"]
        inspector = self._is_inspector(path)
        if is_preflight(scope["method"], headers) and not inspector:
            await outlet.reply(self._permission(headers))
            return
        try:
            if path in PROBES:
                check_size(scope)
                check_origin(headers, self._settings)
            elif path.startswith(SIGNED):
                check_size(scope)
                check_origin(headers, self._settings)
                record.caller = f"webhooks {(scope.get('client') or ('',))[0]}"
            elif inspector:
                record.caller = self._visit(scope, headers)
            else:
                record.caller = self._caller(scope, headers)
            if not path.startswith(DECODING):
                check_encoding(headers)
            if path not in PROBES | RESERVED:
                self._gate.lag.check()
        except InnkeeperError as error:
            await outlet.refuse(error)
            return
        if path in PROBES | RESERVED:  # no matter what else waits for us or whom we wait for
            await self._app(scope, _once(b"", receive), outlet.send)
            return
        with self._gate.ticket(record.caller, record) as ticket:
            outlet.ticket = ticket
            try:
                body = await BodyReader(receive, self._settings, ticket, upload=inspector).read(headers)
                await ticket.afford()
                ticket.enter(record.surface)
                scope["innkeeper.ticket"] = ticket
                await self._app(scope, _once(body, receive), outlet.send)
            except InnkeeperError as error:
                await outlet.refuse(error)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = lower_headers(scope)
        record = scope["innkeeper.record"] = self._record(scope, headers)

        async def answer(event: MutableMapping[str, Any]) -> None:
            if event["type"] == "websocket.accept":
                record.status = SWITCHED
                event = {**event, "headers": [*event.get("headers", ()), (b"x-request-id", record.number.encode())]}
            elif not record.status:
                record.status = 403
            await send(event)

        with self._gate.recorded(record):
            try:
                self._admit_socket(scope, headers, record)
            except InnkeeperError as error:
                record.failed(error)
                await receive()
                await answer({"type": "websocket.close", "code": 1008})
            else:
                await self._app(scope, receive, answer)

    def _admit_socket(self, scope: Scope, headers: dict[str, str], record: CallRecord) -> None:
        """Let a WebSocket be opened. Raises what refuses it."""
        if self._is_inspector(record.path):
            record.caller = self._visit(scope, headers)
            return
        record.caller = self._caller(scope, headers)
        grant = self._settings.keys.grant(record.caller)
        grant.check_surface(record.surface)
        if grant.operation is not None:
            raise ScopeError("a key with operations of its own may not use the WebSocket", scope="operation")

    def _caller(self, scope: Scope, headers: dict[str, str]) -> str:
        """Who calls, once it is known that he may."""
        check_size(scope)
        check_origin(headers, self._settings)
        return self._gate.throttle.caller(headers, (scope.get("client") or ("",))[0])

    def _is_inspector(self, path: str) -> bool:
        return self._access is not None and surface_of(path) == INSPECTOR

    def _visit(self, scope: Scope, headers: dict[str, str]) -> str:
        """Return who calls the inspector, by a key or by the cookie of its one-time address; the visitor is put in the scope.

        The page that gives that cookie is open: it looks at the token itself.
        """
        check_size(scope)
        access, keys = self._access, self._settings.keys
        assert access is not None  # noqa: S101 - the inspector is here
        if not keys:
            check_host(headers, self._settings)
        if access.is_entrance(scope["path"], scope.get("query_string", b"")):
            return VISITOR
        if keys and presented_key(headers):
            name = self._gate.throttle.caller(headers, (scope.get("client") or ("",))[0])
            grant = keys.grant(name)
            grant.check_surface(INSPECTOR)
            visitor = Visitor(name, grant)
            check_own_page(headers, changes=False)
        else:
            visitor = OWNER
            check_own_page(headers, changes=scope["type"] == "websocket" or scope["method"] != "GET")
            access.check_cookie(headers)
        scope["innkeeper.visitor"] = visitor
        return visitor.name or VISITOR

    def _permission(self, headers: dict[str, str]) -> HttpReply:
        allowed = permissions(headers, self._settings, preflight=True)
        if allowed:
            return HttpReply(204, b"", allowed)
        return error_reply(OriginRefusedError("a web page of another origin asks for permission"))


class ResponseWriter:
    """The way out: adds headers, records the status and the first byte, and gives up on clients that do not take their answer."""

    def __init__(self, send: Send, headers: dict[str, str], settings: Settings, record: CallRecord) -> None:
        self._send = send
        self._headers = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        self._seconds = settings.body_seconds
        self.record = record
        self.ticket: Ticket | None = None

    async def send(self, event: MutableMapping[str, Any]) -> None:
        """Pass an event on."""
        if event["type"] == "http.response.start":
            self.record.status = event["status"]
            names = {name for name, _ in event["headers"]}
            quotas = {} if self.ticket is None else self.ticket.quota_headers()
            marks = [*self._headers, *((name.encode(), value.encode()) for name, value in quotas.items())]
            event = {**event, "headers": [*event["headers"], *(pair for pair in marks if pair[0] not in names)]}
        elif self.record.first is None:
            self.record.first = monotonic()
        await within(self._seconds, self._pass_on(event))

    async def _pass_on(self, event: MutableMapping[str, Any]) -> None:
        """A large body in pieces, between which others are served, and of which the next waits until the client takes them."""
        body = event.get("body", b"")
        if len(body) <= _PIECE:
            await self._send(event)
            return
        for start in range(0, len(body), _PIECE):
            more = start + _PIECE < len(body) or event.get("more_body", False)
            await self._send({**event, "body": body[start : start + _PIECE], "more_body": more})
            await asyncio.sleep(0)

    async def refuse(self, error: InnkeeperError) -> None:
        """Send an error as the surface writes it, and end the connection, whose body nobody may have read."""
        self.record.failed(error)
        await self.reply(refusal(self.record.path, error), close=True)

    async def reply(self, reply: HttpReply, *, close: bool = False) -> None:
        """Send a whole reply, unless one has begun already; ``close`` ends the connection, whose body nobody read."""
        if self.record.status:
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


def _once(body: bytes, receive: Receive) -> Receive:
    """The body as one event; after it whatever the server says, which is only that the client went away."""
    waiting = [body]

    async def take() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return take


def check_size(scope: Mapping[str, Any]) -> None:
    """Let a request pass whose line and headers are not too large. Raises `HeaderLimitError`."""
    size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    size += len(scope.get("raw_path", b"")) + len(scope.get("query_string", b""))
    if size > MAX_HEADERS:
        hint = "send less in headers and path"
        raise HeaderLimitError("the headers", limit="MAX_HEADERS", allowed=MAX_HEADERS, found=size, hint=hint)


def check_encoding(headers: Mapping[str, str]) -> None:
    """Let a request pass whose body is as it is. Raises `EncodingError`."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity"}:
        raise EncodingError(f"a body encoded as {shorten(encoding, 40)!r}")


class BodyReader:
    """One request's body, charged to its ticket while it arrives."""

    def __init__(
        self, receive: Callable[[], Awaitable[Any]], settings: Settings, ticket: Ticket, *, upload: bool = False
    ) -> None:
        self._limit, self._most = ("MAX_UPLOAD", MAX_UPLOAD) if upload else ("MAX_BODY", settings.max_body)
        self._receive = receive
        self._settings = settings
        self._ticket = ticket

    async def read(self, headers: Mapping[str, str]) -> bytes:
        """The whole body.

        Raises:
            BodyLimitError: it is larger than allowed, by its announcement or by what arrived.
            OverloadError: all bodies together are.
            SlowBodyError: it did not arrive in time, or the client went away.
        """
        self._allow(announced(headers))
        try:
            return await within(self._settings.body_seconds, self._collect())
        except TimeoutError:
            raise SlowBodyError("the body did not arrive in time", hint="send it at once") from None

    async def _collect(self) -> bytes:
        parts: list[bytes] = []
        while True:
            event = await self._receive()
            if event["type"] != "http.request":
                raise SlowBodyError("the client went away in the middle of the body")
            part = event.get("body", b"")
            self._allow(self._ticket.size + len(part))
            self._ticket.carry(len(part))
            parts.append(part)
            if not event.get("more_body"):
                return b"".join(parts)

    def _allow(self, size: int) -> None:
        if size > self._most:
            hint = "send less at once"
            raise BodyLimitError("the body", limit=self._limit, allowed=self._most, found=size, hint=hint)


def announced(headers: Mapping[str, str]) -> int:
    """What ``content-length`` says, or 0."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0  # noqa: PLR2004 - digits of 2**63
