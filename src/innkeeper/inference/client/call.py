"""ProviderCall: one request to a provider and the bytes of its answer, within the call's time and its limits.

A transport's own timeout starts anew with every byte, so a server that drips would keep a reader for ever: the time of the whole
call counts besides. `within` is a time limit for what seldom has to wait: its timer is made only where it does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping
from contextlib import suppress
from functools import partial as bound
from math import inf
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from innkeeper.inference.client.endpoint import encoded, public_headers, raise_for_status
from innkeeper.inference.client.transport import broken, transport_errors
from innkeeper.inference.errors import MAX_RESPONSE_BYTES, REST_SECONDS, ProviderTimeoutError
from innkeeper.prompt import LimitError

if TYPE_CHECKING:
    from innkeeper.inference.adapters.decoding import AnswerDecoder
    from innkeeper.inference.client.endpoint import Endpoint


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

    ``decoder`` is what reads the answer, where it is read in pieces: errors say how far it came. ``http`` are the connections.
    """

    def __init__(self, endpoint: Endpoint, http: Any) -> None:
        self.decoder: AnswerDecoder | None = None
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._endpoint, self._http = endpoint, http
        self._longest_read = getattr(http, "longest_read", inf)
        self._deadline, self._size = monotonic() + endpoint.total_timeout, 0
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
        """Return the next bytes of the answer; none at its end. Raises `LimitError` past `MAX_RESPONSE_BYTES`."""
        if self._pieces is None:
            return b""
        piece = await self._do(bound(_next, self._pieces), reads=True)
        self._size += len(piece)
        if self._size > MAX_RESPONSE_BYTES:
            what = "the provider's answer"
            raise LimitError(what, limit="MAX_RESPONSE_BYTES", allowed=MAX_RESPONSE_BYTES, found=self._size)
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
