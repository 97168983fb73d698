"""AsyncClient: a provider over HTTP, for event loops. It sends requests untouched, and once unless it has `Retries`."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, TypeVar, Unpack

import msgspec

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.adapters.openai_chat import OpenAIChat
from innkeeper.inference.client.chat import (
    CHAT,
    AsyncChatStream,
    ChatRecording,
    ChatReply,
    chat_body,
    refuses_streaming,
)
from innkeeper.inference.client.endpoint import Endpoint, Response, decoded, encoded, raise_for_status
from innkeeper.inference.client.judged import judged_events, texts_of
from innkeeper.inference.client.remote import (
    STREAM,
    RemoteOperation,
    Reply,
    Request,
    media_type,
    send_operation,
    server_events,
)
from innkeeper.inference.client.transport import ProviderCall, Send, connections
from innkeeper.inference.errors import HttpError, ProviderConnectionError, ProviderTimeoutError
from innkeeper.inference.reasons import reason_of
from innkeeper.prompt import ProviderError, UsageError
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.machine import fresh_seed
from innkeeper.prompt.near import did_you_mean

if TYPE_CHECKING:
    import httpx

    from innkeeper.inference.adapters.adapter import Adapter, Reading
    from innkeeper.inference.client.egress import Egress
    from innkeeper.inference.client.transport import QuickSession
    from innkeeper.inference.response.events import ModelEvent
    from innkeeper.inference.response.views.view import ServerEvent


_T = TypeVar("_T")


def _chance() -> float:
    return fresh_seed() / 2**32


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often, how long, and after which waits. ``attempts`` counts the first; ``seconds`` is from the first to the last.

    The wait before attempt *n* is ``chance()``, a number from 0 to 1, of ``first_wait`` doubled each time, at most
    ``longest_wait``; where the provider says ``Retry-After``, it is that and ``chance()`` of ``first_wait`` more. A wait that
    would end after ``seconds`` is not begun: the error is raised at once.
    """

    attempts: int = 3
    seconds: float = 60.0
    first_wait: float = 0.5
    longest_wait: float = 20.0
    chance: Callable[[], float] = _chance
    clock: Callable[[], float] = monotonic

    def wait(self, error: ProviderError, attempt: int, began: float) -> float | None:
        """Seconds before the attempt after this one, counted from 1; None where there is none."""
        if attempt >= self.attempts or not is_safe(error):
            return None
        asked = error.retry_after if isinstance(error, HttpError) else None
        if asked is None:
            seconds = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1)) * self.chance()
        else:
            seconds = asked + self.first_wait * self.chance()
        return seconds if self.clock() - began + seconds <= self.seconds else None


NO_RETRIES: Final = Retries(attempts=1)
"""Each request is sent once."""

_NOT_NOW: Final = frozenset({408, 409, 429, *range(500, 600)}) - {501, 505}


def is_safe(error: ProviderError) -> bool:
    """Whether the request of this error may be sent again, as far as the error tells."""
    if isinstance(error, HttpError):
        advice = error.headers.get("x-should-retry")
        return error.status in _NOT_NOW and reason_of(error) not in _LASTING and advice != "false"
    if isinstance(error, ProviderTimeoutError):
        return error.phase == "open"
    return isinstance(error, ProviderConnectionError) and not error.opened


_LASTING: Final = frozenset({"quota", "context_length", "content_policy", "authentication"})
"""What waiting does not mend, whatever status it came with."""


async def retried(call: Callable[[], AsyncIterator[_T]], retries: Retries, wait: Any = None) -> AsyncGenerator[_T]:
    """What ``call`` gives, called again where it fails before the first of it. ``wait`` gets seconds, and is awaited.

    Raises the error of the last attempt; its detail ``attempts`` says how many there were.
    """
    from asyncio import sleep  # here, so that a blocking client does not load it

    wait = wait or sleep
    began, attempt = retries.clock(), 1
    while True:
        begun = False
        try:
            async with aclosing(call()) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    begun = True
                    yield piece
            return  # noqa: TRY300 - an else would stand behind the wait
        except ProviderError as error:
            seconds = None if begun else retries.wait(error, attempt, began)
            if seconds is None:
                error.details |= {"attempts": attempt} if attempt > 1 else {}
                raise
        await wait(seconds)
        attempt += 1


class ClientSettings(TypedDict, total=False):
    """The settings of a client beside its address; see `Client`."""

    api_prefix: str | None
    api_key: str | None
    timeout: float | None
    open_timeout: float | None
    total_timeout: float | None
    name: str | None
    headers: Mapping[str, str] | None
    transport: Any
    egress: Egress | None
    quick: bool


def check_settings(settings: Iterable[str], known: Collection[str] = ClientSettings.__annotations__.keys()) -> None:
    """Raise `UsageError` for a setting that there is not."""
    for name in settings:
        if name not in known:
            listed = f"settings: {', '.join(sorted(known))}"
            raise UsageError(f"unknown setting {name!r}", hint=did_you_mean(name, known, listed))


class AsyncClient:
    """See `Client`. One instance belongs to one event loop. Cancelling the task that waits closes the connection.

    ``quick``: use aiohttp where that can be (`innkeeper.inference.client.transport`).
    """

    adapter: Adapter = OpenAIChat()
    retries: Retries = NO_RETRIES

    def __init__(self, base_url: str | None = None, **settings: Unpack[ClientSettings]) -> None:
        check_settings(settings)
        self.endpoint = Endpoint.of({"base_url": base_url, **settings}, settings.get("headers"))
        transport = settings.get("transport")
        is_blocking = transport is not None and not hasattr(transport, "handle_async_request")
        self._transport = blocking_transport(transport) if is_blocking else transport
        self._egress, self._quick = settings.get("egress"), settings.get("quick", False)
        self._opened: httpx.AsyncClient | QuickSession | None = None
        self._process = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.base_url + self.endpoint.api_prefix!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.aclose()

    @property
    def is_open(self) -> bool:
        """Whether it has connections in this process: they do not outlive a fork."""
        return self._opened is not None and self._process == os.getpid()

    def events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Send a request and give the events of its answer. Cancelling the task closes the connection.

        Raises `ProviderError` and its kin, and `TierBlockedError` before anything is sent. Leaving it early (its ``aclose``)
        closes the connection, which stops the provider.
        """
        return judged_events(texts_of(request), lambda: self._sent(request), answers=False)

    def _sent(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        return retried(lambda: self._answered(request, self.adapter.reading), self.retries)

    async def chat_completions(self, **request: Any) -> Response:
        """Send one chat completion request as it is and return the whole answer. For streams see `chat_stream`."""
        if request.get("stream"):
            msg = "chat_completions returns whole answers"
            raise UsageError(msg, hint="use chat(stream=True) or chat_stream()")
        return await self._json("POST", CHAT, request)

    async def chat(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        stream: bool = False,
        include_usage: bool = False,
        on_delta: Callable[[str], Any] | None = None,
        **options: Any,
    ) -> ChatReply:
        """Send messages; get ``(content, usage, finish_reason, response)``. What ``on_delta`` returns is awaited if it can be."""
        check_delta(on_delta, stream=stream)
        if not stream:
            return ChatReply.of(await self.chat_completions(model=model, messages=messages, **options))
        async with self.chat_stream(model, messages, include_usage=include_usage, **options) as pieces:
            async for delta in pieces:
                done = on_delta(delta) if on_delta is not None else None
                if inspect.isawaitable(done):
                    await done
            return pieces.reply

    def chat_stream(
        self, model: str, messages: Sequence[Mapping[str, Any]], *, include_usage: bool = False, **options: Any
    ) -> AsyncChatStream:
        """Send messages; iterate over the pieces of the answer. The request goes out with the first piece asked for.

        A server that answers with a whole JSON body, or that turns streaming down, gives one piece.
        """
        body = chat_body(model, messages, options, include_usage=include_usage)
        recordings: list[tuple[ProviderCall, ChatRecording]] = []

        async def events() -> AsyncGenerator[ModelEvent]:
            request = ModelRequest(model=model, content=encoded(body), stream=True)
            async with aclosing(self._answered(request, ChatRecording, recordings.append)) as arriving:
                async for event in arriving:
                    yield event

        def reply() -> ChatReply:
            call, recording = recordings[-1]
            return recording.reply(call.status, call.headers)

        return AsyncChatStream(events(), reply)

    async def call(self, operation: RemoteOperation[Request, Reply], request: Request) -> Reply:
        """Ask a service for an operation; return its reply.

        Raises the error that the service raised, `UsageError` for a reply that comes as events, `ProviderError` and its kin.
        """
        async with self._call() as call:
            await send_operation(call, self.endpoint, operation, request)
            kind = media_type(call)
            if kind == STREAM:
                raise UsageError("the reply comes as events", hint="use stream()")
            reply: Reply = operation.read_reply(await call.read_all(), kind)
            return reply

    async def stream(self, operation: RemoteOperation[Request, Any], request: Request) -> AsyncGenerator[ServerEvent]:
        """Ask a service for an operation; give the events of its reply. A reply that is whole is the event ``done``.

        Raises the error that the service raised, `ProviderError` and its kin. Leaving it early closes the connection.
        """
        async with self._call() as call:
            await send_operation(call, self.endpoint, operation, request)
            async with aclosing(server_events(call)) as events:
                async for event in events:
                    yield event

    async def models(self) -> Response:
        """Return the provider's list of models."""
        return await self._json("GET", "/models")

    async def embeddings(self, **request: Any) -> Response:
        """Send one embeddings request."""
        return await self._json("POST", "/embeddings", request)

    async def moderations(self, **request: Any) -> Response:
        """Send one request to the moderation endpoint."""
        return await self._json("POST", "/moderations", request)

    async def health(self) -> bool:
        """Whether the server answers at all: ``/health`` at its root, and the list of models where there is no such page."""
        try:
            async with self._call() as call:
                await call.send(Send.of(self.endpoint, "GET", self.endpoint.base_url + "/health"))
                raise_for_status(call.status, {}, await call.read_all(), self.endpoint)
        except HttpError as error:
            return await self._lists_models() if error.status in {404, 405} else error.status in {401, 403}
        except ProviderError:
            return False
        return True

    async def _lists_models(self) -> bool:
        try:
            await self.models()
        except ProviderError:
            return False
        return True

    def fetch(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: Mapping[str, str] = EMPTY,
        *,
        most: int | None = None,
    ) -> AsyncGenerator[bytes]:
        """Give the bytes of a page of the provider, piece by piece, for what is no answer of a model: files, batches.

        ``path`` begins after the address, and has the prefix. Only what is without effect (``GET``) is sent again. Raises
        `ProviderError` and its kin, `LimitError` past ``most`` bytes, or `MAX_RESPONSE_BYTES`.
        """
        begun = Send.of(self.endpoint, method, self.endpoint.base_url + path)
        kind = {} if content is None else {"content-type": "application/json"}
        sent = begun._replace(content=content, headers={**begun.headers, **kind, **headers})

        async def pieces() -> AsyncGenerator[bytes]:
            async with self._call(most) as call:
                await call.begin(sent)
                while piece := await call.read():
                    yield piece

        return retried(pieces, self.retries if method == "GET" else NO_RETRIES)

    async def _json(self, method: str, path: str, request: Any = None) -> Response:
        async with self._call() as call:
            await call.send(Send.of(self.endpoint, method, self.endpoint.url(path), request))
            return decoded(call.status, call.headers, await call.read_all(), self.endpoint)

    async def _answered(
        self, request: ModelRequest, reading_of: Callable[[], Reading], begun: Callable[[Any], Any] = lambda _: None
    ) -> AsyncGenerator[ModelEvent]:
        """The events of one attempt; whole where the server turns streaming down. ``begun`` gets each call and its reading.

        That second request is for translated bodies alone: a caller's own bytes are sent once, or not at all.
        """
        try:
            async with aclosing(self._read(request, reading_of(), begun)) as arriving:
                async for event in arriving:
                    yield event
        except HttpError as error:
            if request.raw or not (request.stream and refuses_streaming(error)):
                raise
        else:
            return
        async with aclosing(self._read(request.unstreamed(self.adapter), reading_of(), begun)) as arriving:
            async for event in arriving:
                yield event

    async def _read(
        self, request: ModelRequest, reading: Reading, begun: Callable[[Any], Any]
    ) -> AsyncGenerator[ModelEvent]:
        url = self.endpoint.url(self.adapter.path(request.model, stream=request.stream))
        async with self._call() as call:
            begun((call, reading))
            sent = Send.raw(self.endpoint, url, request.content, streams=request.stream)
            await call.begin(sent._replace(headers={**sent.headers, **request.headers}))
            decoder = call.decoder = AnswerDecoder(reading, self.endpoint, call.status, call.headers)
            while not decoder.done and (piece := await call.read()):
                for event in decoder.feed(piece):
                    yield event
            for event in decoder.close():
                yield event
            if decoder.done:
                await call.read_rest()

    def _call(self, most: int | None = None) -> ProviderCall:
        if not self.is_open:
            self._opened = connections(self.endpoint, transport=self._transport, egress=self._egress, quick=self._quick)
            self._process = os.getpid()
        return ProviderCall(self.endpoint, self._opened, most)


def check_delta(on_delta: Any, *, stream: bool) -> None:
    """Raise `UsageError` for a listener to pieces where there are none."""
    if on_delta is not None and not stream:
        msg = "on_delta is for streams"
        raise UsageError(msg, hint="pass stream=True")


def blocking_transport(transport: Any) -> Any:
    """Return an ``httpx`` transport of a blocking client as one of event loops: it is asked in threads of their own."""
    if transport is None or not hasattr(transport, "handle_request"):
        return transport
    from innkeeper.inference.client.threaded import ThreadedTransport

    return ThreadedTransport(transport)
