"""Transports: one request to a provider over httpx or aiohttp, and the bytes of its answer, within the call's time and limits.

A service that passes answers on spends most of its time in its HTTP client, so `QuickSession` is what `ProviderCall` uses of an
`httpx.AsyncClient`, over aiohttp, which takes a tenth of its work a call. What goes wrong there is raised as httpx's own errors,
so that a call need not know which of the two it has; `broken` is our error for one of them.

A transport's own timeout starts anew with every byte, so a server that drips would keep a reader for ever: the time of the whole
call counts besides. `within` is a time limit for what seldom has to wait: its timer is made only where it does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial as bound
from importlib.util import find_spec
from math import inf
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from innkeeper.inference.client.endpoint import Endpoint, encoded, public_headers, raise_for_status, sample
from innkeeper.inference.errors import (
    MAX_RESPONSE_BYTES,
    REST_SECONDS,
    DecodeError,
    ProviderConnectionError,
    ProviderTimeoutError,
    StreamCutError,
)
from innkeeper.prompt import LimitError, ProviderError

if TYPE_CHECKING:
    import ssl

    import aiohttp
    import httpx

    from innkeeper.inference.adapters.decoding import AnswerDecoder
    from innkeeper.inference.client.egress import Egress
    from innkeeper.inference.client.endpoint import Endpoint


IDLE_CONNECTIONS: Final = 64
"""Connections that a client keeps open between requests. How many are in use at once is for its caller to limit."""


class QuickAnswer(NamedTuple):
    """An answer whose body is to be read."""

    status_code: int
    headers: Any
    body: Any

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked."""
        with _translated():
            async for piece in self.body.iter_any():
                yield piece


class QuickSession:
    """The connections to one endpoint. One instance belongs to one event loop.

    ``longest_read``: seconds after which a read surely ends by itself.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint, self.longest_read = endpoint, endpoint.timeout
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def stream(self, method: str, url: str, content: bytes | None, headers: dict[str, str]) -> AsyncIterator[Any]:
        """Send a request; its answer, whose connection is closed with the block unless the body was read."""
        from yarl import URL

        with _translated():
            answer = await self._opened().request(
                method, URL(url, encoded=True), data=content, headers=headers, allow_redirects=False
            )
        try:
            yield QuickAnswer(answer.status, answer.headers, answer.content)
        finally:
            answer.release()

    async def aclose(self) -> None:
        """Close the connections."""
        from asyncio import sleep  # here, so that a blocking client does not load it

        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await sleep(0)  # sockets are let go in the loop's next round

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp
            import httpx

            endpoint, total = self._endpoint, self._endpoint.total_timeout
            secure = endpoint.base_url.startswith("https://")
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=httpx.create_ssl_context() if secure else False),
                timeout=aiohttp.ClientTimeout(
                    total=None, connect=min(endpoint.open_timeout, total), sock_read=min(endpoint.timeout, total)
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


@contextmanager
def _translated() -> Iterator[None]:
    """What aiohttp raises, as httpx's error for the same."""
    import aiohttp
    import httpx

    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx.ConnectTimeout(str(error)) from error
    except aiohttp.ServerTimeoutError as error:
        raise httpx.ReadTimeout(str(error)) from error
    except aiohttp.InvalidURL as error:
        raise httpx.InvalidURL(str(error)) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx.ConnectError(str(error)) from error
    except aiohttp.ClientPayloadError as error:
        kind = httpx.DecodingError if "content-encoding" in str(error).lower() else httpx.RemoteProtocolError
        raise kind(str(error)) from error
    except aiohttp.ServerDisconnectedError as error:
        raise httpx.RemoteProtocolError(str(error)) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise httpx.RemoteProtocolError(str(error) or type(error).__name__) from error
    except OSError as error:
        raise httpx.ReadError(str(error)) from error


def connections(
    endpoint: Endpoint, *, transport: Any, egress: Egress | None, quick: bool
) -> httpx.AsyncClient | QuickSession:
    """Open what asks an endpoint: aiohttp where ``quick`` asks for it and it serves, else httpx. No connection is made yet."""
    from urllib.request import getproxies

    if quick and transport is None and egress is None and find_spec("aiohttp") is not None and not getproxies():
        import aiohttp  # noqa: F401 - here, so that loading it takes none of the first call's time

        return QuickSession(endpoint)
    import httpx

    total = endpoint.total_timeout
    client = httpx.AsyncClient(
        transport=transport,
        timeout=httpx.Timeout(min(endpoint.timeout, total), connect=min(endpoint.open_timeout, total)),
        verify=trust(endpoint),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS),
        trust_env=egress is None,
    )
    if egress is None:
        return client
    from innkeeper.inference.client.sockets import guard_connections

    return guard_connections(client, egress)


def trust(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """What TLS connections to an endpoint are checked by, as httpx takes it.

    An address without TLS has none to check, and reading the machine's certificates takes longer than all else before the first
    request: there a context that trusts nobody does. With a proxy, which may be reached by TLS itself, they are read.
    """
    import ssl
    from urllib.request import getproxies

    plain = endpoint.base_url.startswith("http://") and not getproxies()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True


def transport_errors() -> tuple[type[Exception], ...]:
    """What the transport raises for everything that is not the caller's fault."""
    import httpx

    # A host name that cannot be spelled in DNS surfaces as a UnicodeError of the resolver.
    return httpx.HTTPError, httpx.InvalidURL, UnicodeError


def broken(error: Exception, endpoint: Endpoint, *, partial: str | None = None) -> ProviderError:
    """Our error for one of `transport_errors`; ``partial`` is the text so far when a stream was under way."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return _late(error, endpoint, partial)
    failure = _failure(error, endpoint, partial)
    failure.origin = f"{endpoint.base_url}: {endpoint.redact(str(error)) or type(error).__name__}"
    return failure


def _failure(error: Exception, endpoint: Endpoint, partial: str | None) -> ProviderError:
    import httpx

    # What a transport says may hold addresses that nobody has written anywhere: those that a name was resolved to.
    reason = "" if endpoint.name else f": {sample(str(error), endpoint) or type(error).__name__}"
    if isinstance(error, httpx.DecodingError):
        return DecodeError(f"the provider's answer is not encoded as it says{reason}")
    if partial is not None:
        return StreamCutError(f"the stream from {endpoint.shown} broke{reason}", partial=partial)
    if isinstance(error, (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)):
        return ProviderConnectionError(f"the connection to {endpoint.shown} broke{reason}")
    hint = None if endpoint.name else "check base_url and that the server runs"
    return ProviderConnectionError(f"no connection to {endpoint.shown}{reason}", hint=hint, opened=False)


def _late(error: Exception, endpoint: Endpoint, partial: str | None) -> ProviderTimeoutError:
    import httpx

    phases: dict[type, str] = {httpx.ConnectTimeout: "open", httpx.PoolTimeout: "open", httpx.WriteTimeout: "write"}
    phase = phases.get(type(error), "read")
    allowed = endpoint.open_timeout if isinstance(error, httpx.ConnectTimeout) else endpoint.timeout
    msg = f"no answer from {endpoint.shown} within {allowed:g} s ({phase})"
    return ProviderTimeoutError(msg, phase=phase, partial=partial or "")


T = TypeVar("T")


@coroutine
def within(seconds: float, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """What ``work`` gives. Raises `TimeoutError` where it waits longer than ``seconds``; then it is cancelled."""
    try:
        waits = work.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    return (yield from _timed(seconds, work, waits).__await__())


async def _timed(seconds: float, work: Coroutine[Any, Any, T], waits: Any) -> T:
    from asyncio import timeout  # here, so that a blocking client does not load asyncio

    async with timeout(seconds):
        return await _rest(work, waits)


@coroutine
def _rest(work: Coroutine[Any, Any, T], waits: Any) -> Generator[Any, Any, T]:
    """The rest of work that has begun and waits: what it is sent and what is thrown goes to it, as with ``yield from``."""
    try:
        while True:
            try:
                sent = yield waits
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, the work is told
                waits = work.throw(error)
            else:
                waits = work.send(sent)
    except StopIteration as end:
        value: T = end.value
        return value


class Send(NamedTuple):
    """A request as the transport takes it."""

    method: str
    url: str
    content: bytes | None
    headers: dict[str, str]

    @classmethod
    def of(cls, endpoint: Endpoint, method: str, url: str, request: Any = None) -> Send:
        """Return the request with its body as JSON. Raises `UsageError` for what JSON cannot say."""
        content = None if request is None else encoded(request)
        return cls(method, url, content, _headers(endpoint, content, streams=False))

    @classmethod
    def raw(cls, endpoint: Endpoint, url: str, content: bytes, *, streams: bool = False) -> Send:
        """Return a request whose body is sent as it is."""
        return cls("POST", url, content, _headers(endpoint, content, streams=streams))


def _headers(endpoint: Endpoint, content: bytes | None, *, streams: bool) -> dict[str, str]:
    accept = "text/event-stream, application/json" if streams else "application/json"
    kind = {} if content is None else {"content-type": "application/json"}
    return {"accept": accept, **kind, **endpoint.wire_headers()}


class ProviderCall:
    """A call under way, as an asynchronous context manager; leaving it closes the connection unless all was read.

    ``decoder`` is what reads the answer, where it is read in pieces: errors say how far it came. ``http`` are the connections,
    ``most`` the bytes that an answer may have in the place of `MAX_RESPONSE_BYTES`.
    """

    def __init__(self, endpoint: Endpoint, http: Any, most: int | None = None) -> None:
        self.decoder: AnswerDecoder | None = None
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._endpoint, self._http, self._most = endpoint, http, most
        self._longest_read = getattr(http, "longest_read", inf)
        self._errors = transport_errors()  # loading the library takes none of the call's time
        self._deadline, self._size = monotonic() + endpoint.total_timeout, 0
        self._opened: Any = None
        self._pieces: AsyncIterator[bytes] | None = None

    @property
    def partial(self) -> str:
        """The text so far."""
        return "" if self.decoder is None else self.decoder.partial

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        opened, self._opened, self._pieces = self._opened, None, None
        if opened is not None:
            await opened.__aexit__(None, None, None)

    async def send(self, request: Send) -> None:
        """Send a request; its answer begins. Raises `ProviderError` and its kin."""
        await self._do(bound(self._send, request))

    async def _send(self, request: Send) -> None:
        await self.__aexit__()
        opened = self._http.stream(**request._asdict())
        answer = await opened.__aenter__()
        self._opened, self._pieces = opened, answer.aiter_bytes()
        self.status, self.headers = answer.status_code, answer.headers

    async def read(self) -> bytes:
        """Return the next bytes of the answer; none at its end. Raises `LimitError` past those it may have."""
        if self._pieces is None:
            return b""
        piece = await self._do(bound(_next, self._pieces), reads=True)
        self._size += len(piece)
        if self._size > (self._most or MAX_RESPONSE_BYTES):
            name, most = (
                ("MAX_BATCH_RESULT_BYTES", self._most) if self._most else ("MAX_RESPONSE_BYTES", MAX_RESPONSE_BYTES)
            )
            raise LimitError("the provider's answer", limit=name, allowed=most, found=self._size)
        return piece

    async def read_all(self) -> bytes:
        """Return all bytes that are still to come."""
        pieces = []
        while piece := await self.read():
            pieces.append(piece)
        return b"".join(pieces)

    async def begin(self, request: Send) -> None:
        """Send a request whose answer is read in pieces. Raises `HttpError` for a status that is none of success."""
        await self.send(request)
        self.headers = public_headers(self.headers, self._endpoint)
        refused = self.status not in range(200, 300)
        raise_for_status(self.status, self.headers, await self.read_all() if refused else b"", self._endpoint)

    async def read_rest(self) -> None:
        """Read an answer that is complete to the end of its bytes, so that its connection can be used again.

        It is waited for no longer than `REST_SECONDS`, and nothing that goes wrong matters.
        """
        from asyncio import timeout

        pieces = self._pieces
        if pieces is not None:
            with suppress(TimeoutError, *self._errors):
                async with timeout(REST_SECONDS):
                    async for _ in pieces:
                        pass

    async def _do(self, work: Callable[[], Coroutine[Any, Any, T]], *, reads: bool = False) -> T:
        """Return the result of what the transport does, within the call's time, its errors as our own."""
        left, partial = self._deadline - monotonic(), None if self.decoder is None else self.decoder.partial
        if left < 0:
            raise self._late()
        try:
            # Most reads need no timer beside the session's own.
            return await (work() if reads and left > self._longest_read else within(left, work()))
        except TimeoutError:
            raise self._late() from None
        except self._errors as error:
            raise broken(error, self._endpoint, partial=partial) from error

    def _late(self) -> ProviderTimeoutError:
        endpoint = self._endpoint
        msg = f"the answer from {endpoint.shown} took longer than {endpoint.total_timeout:g} s"
        error = ProviderTimeoutError(msg, phase="total", partial=self.partial)
        error.origin = endpoint.base_url
        return error


async def _next(pieces: AsyncIterator[bytes]) -> bytes:
    return await anext(pieces, b"")
