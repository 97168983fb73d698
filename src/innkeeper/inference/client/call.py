"""ProviderCall: one request to a provider and the bytes of its answer, within the call's time and its limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial as bound
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from innkeeper.inference.client.watch import Watch
from innkeeper.inference.client.wire import broken, encoded, public_headers, raise_for_status, transport_errors
from innkeeper.inference.errors import REST_SECONDS

if TYPE_CHECKING:
    from innkeeper.inference.adapters.decoding import AnswerDecoder
    from innkeeper.inference.client.endpoint import Endpoint

T = TypeVar("T")


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

    ``decoder`` is what reads the answer, where it is read in pieces: errors say how far it came. ``longest_read``: seconds after
    which a read surely ends by itself.
    """

    def __init__(self, endpoint: Endpoint, http: Any, longest_read: float) -> None:
        self.decoder: AnswerDecoder | None = None
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._endpoint, self._http, self._longest_read = endpoint, http, longest_read
        self._watch = Watch(endpoint)
        self._errors = transport_errors()
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
        """Return the next bytes of the answer; none at its end."""
        if self._pieces is None:
            return b""
        piece = await self._do(bound(_next, self._pieces), reads=True)
        self._watch.count(piece)
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
        from innkeeper.inference.client.within import within  # here, so that a blocking client does not load asyncio

        self._watch.check(self.partial)
        left, partial = self._watch.left, None if self.decoder is None else self.decoder.partial
        try:
            # Most reads need no timer beside the session's own.
            return await (work() if reads and left > self._longest_read else within(left, work()))
        except TimeoutError:
            raise self._watch.late(self.partial) from None
        except self._errors as error:
            raise broken(error, self._endpoint, partial=partial) from error


async def _next(pieces: AsyncIterator[bytes]) -> bytes:
    return await anext(pieces, b"")
