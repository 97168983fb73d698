"""AsyncClient: `Client` for event loops. Same settings, same answers, same errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from innkeeper.inference.client.chat import ChatDecoder, ChatReply, Progress, refuses_streaming
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.wire import (
    CHAT,
    Meter,
    Response,
    broken,
    chat_request,
    decoded,
    public_headers,
    raise_for_status,
    times,
    transport_errors,
    unstreamed,
    wire_request,
)
from innkeeper.inference.errors import HttpError
from innkeeper.prompt import UsageError

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncChatStream", "AsyncClient"]


class AsyncChatStream(Progress):
    """The pieces of an answer as an asynchronous iterator; when it has ended, `reply` is the whole answer."""

    def __init__(self, pieces: Callable[[AsyncChatStream], AsyncIterator[str]]) -> None:
        self._pieces: Any = pieces(self)

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        try:
            piece: str = await anext(self._pieces)
        except StopAsyncIteration:
            self._ended = True
            raise
        return piece

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop here; the connection is closed, which stops the provider."""
        await self._pieces.aclose()


class AsyncClient:
    """See `Client`. One instance belongs to one event loop."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
        **settings: Any,
    ) -> None:
        unknown = settings.keys() - {"api_prefix", "api_key", "timeout", "open_timeout", "total_timeout"}
        if unknown:
            msg = f"unknown setting {min(unknown)!r}"
            raise UsageError(msg, hint="settings: api_prefix, api_key, timeout, open_timeout, total_timeout")
        self.endpoint = Endpoint.of({"base_url": base_url, **settings}, headers)
        self._transport = transport
        self._opened: httpx.AsyncClient | None = None

    def __repr__(self) -> str:
        return f"AsyncClient({self.endpoint.base_url + self.endpoint.api_prefix!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.aclose()

    async def chat_completions(self, **request: Any) -> Response:
        """Send one chat completion request as it is and return the whole answer."""
        if request.get("stream"):
            msg = "chat_completions returns whole answers"
            raise UsageError(msg, hint="use chat_stream()")
        return await self._ask("POST", self.endpoint.url(CHAT), request)

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
        """Send messages; get ``(content, usage, finish_reason, response)``. ``on_delta`` is a plain function."""
        if not stream:
            return ChatReply.of(await self.chat_completions(model=model, messages=messages, **options))
        async with self.chat_stream(model, messages, include_usage=include_usage, **options) as pieces:
            async for delta in pieces:
                if on_delta is not None:
                    on_delta(delta)
            return pieces.reply

    def chat_stream(
        self, model: str, messages: Sequence[Mapping[str, Any]], *, include_usage: bool = False, **options: Any
    ) -> AsyncChatStream:
        """Send messages; iterate over the pieces of the answer."""
        request = chat_request(model, messages, options, include_usage=include_usage)
        return AsyncChatStream(lambda stream: self._pieces(request, stream))

    async def models(self) -> Response:
        """The provider's list of models."""
        return await self._ask("GET", self.endpoint.url("/models"))

    async def embeddings(self, **request: Any) -> Response:
        """Send one embeddings request."""
        return await self._ask("POST", self.endpoint.url("/embeddings"), request)

    @property
    def _http(self) -> httpx.AsyncClient:
        import httpx

        if self._opened is None:
            self._opened = httpx.AsyncClient(transport=self._transport, timeout=times(self.endpoint))
        return self._opened

    async def _ask(self, method: str, url: str, request: Any = None) -> Response:
        async with self._open(method, url, request) as (answer, meter):
            return decoded(answer.status_code, answer.headers, await _rest(answer, meter), self.endpoint)

    async def _pieces(self, request: dict[str, Any], stream: AsyncChatStream) -> AsyncGenerator[str]:
        try:
            async with aclosing(self._streamed(request, stream)) as pieces:
                async for piece in pieces:
                    yield piece
        except HttpError as error:
            if not refuses_streaming(error):
                raise
            async with aclosing(self._streamed(unstreamed(request), stream)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _streamed(self, request: dict[str, Any], stream: AsyncChatStream) -> AsyncGenerator[str]:
        async with self._open("POST", self.endpoint.url(CHAT), request, stream) as (answer, meter):
            shown = public_headers(answer.headers, self.endpoint)
            if not answer.is_success:
                raise_for_status(answer.status_code, shown, await _rest(answer, meter), self.endpoint)
            decoder = stream.decoder = ChatDecoder(self.endpoint, answer.status_code, shown)
            async for piece in answer.aiter_bytes():
                for delta in decoder.feed(meter.take(piece)):
                    yield delta
                if decoder.done:
                    break
            for delta in decoder.close():
                yield delta

    @asynccontextmanager
    async def _open(
        self, method: str, url: str, request: Any = None, stream: AsyncChatStream | None = None
    ) -> AsyncIterator[tuple[httpx.Response, Meter]]:
        meter = Meter(self.endpoint)
        sent = wire_request(self.endpoint, request, streams=stream is not None)
        try:
            async with self._http.stream(method, url, **sent) as answer:
                yield answer, meter
        except transport_errors() as error:
            raise broken(error, self.endpoint, partial=None if stream is None else stream.arrived) from error


async def _rest(answer: httpx.Response, meter: Meter) -> bytes:
    return b"".join([meter.take(piece) async for piece in answer.aiter_bytes()])
