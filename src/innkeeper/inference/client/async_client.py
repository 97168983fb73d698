"""AsyncClient: `Client` for event loops. Same settings, same answers, same errors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, closing
from typing import TYPE_CHECKING, Any, Self

from innkeeper.inference.client.base import BaseClient
from innkeeper.inference.client.chat import ChatReply, Progress
from innkeeper.inference.client.exchange import Exchange, Head, Send, Talk, is_wish
from innkeeper.inference.client.wire import Response, times

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


class AsyncClient(BaseClient):
    """See `Client`. One instance belongs to one event loop. Cancelling the task that waits closes the connection."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(base_url, headers=headers, transport=transport, **settings)
        self._opened: httpx.AsyncClient | None = None

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
        response: Response = await self._result(self._completion(request))
        return response

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
        self._check_delta(on_delta, stream=stream)
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
        """Send messages; iterate over the pieces of the answer."""
        exchange = self._streamed(model, messages, options, include_usage=include_usage)
        return AsyncChatStream(lambda progress: self._talk(exchange(progress), progress))

    async def models(self) -> Response:
        """The provider's list of models."""
        response: Response = await self._result(self._listing())
        return response

    async def embeddings(self, **request: Any) -> Response:
        """Send one embeddings request."""
        response: Response = await self._result(self._embedding(request))
        return response

    async def health(self) -> bool:
        """Whether the server answers at all."""
        return bool(await self._result(self._health()))

    @property
    def _http(self) -> httpx.AsyncClient:
        import httpx

        if self._opened is None:
            self._opened = httpx.AsyncClient(transport=self._transport, timeout=times(self.endpoint))
        return self._opened

    async def _result(self, exchange: Exchange) -> Any:
        async with aclosing(self._talk(exchange)) as given:
            return await anext(given)

    async def _talk(self, exchange: Exchange, progress: Progress | None = None) -> AsyncGenerator[Any]:
        """Do what an exchange wants; yields what is for the caller."""
        with closing(Talk(exchange, self.endpoint, progress)) as talk:
            async with AsyncExitStack() as answers:
                pieces: AsyncIterator[bytes] | None = None
                for step in talk:
                    if not is_wish(step):
                        yield step
                        continue
                    try:
                        async with asyncio.timeout(talk.watch.left):
                            if isinstance(step, Send):
                                await answers.aclose()
                                answer = await answers.enter_async_context(self._http.stream(**step._asdict()))
                                pieces = answer.aiter_bytes()
                                talk.give(Head(answer.status_code, answer.headers))
                            elif pieces is not None:
                                talk.give(talk.watch.take(await anext(pieces, b"")))
                    except TimeoutError:
                        talk.fail(talk.watch.late())
                    except talk.errors as error:
                        talk.fail(error)
