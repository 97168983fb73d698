"""Client and AsyncClient: an OpenAI-compatible provider over HTTP, for blocking callers and for event loops.

Same settings, same answers, same errors. They send what they are given, untouched, once: they never retry.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, closing, suppress
from math import inf
from typing import TYPE_CHECKING, Any, Final, Self

from innkeeper.inference.client.chat import ChatReply, ChatStream, Progress
from innkeeper.inference.client.exchange import READ, REST, BaseClient, Exchange, Head, Send, Talk, is_wish
from innkeeper.inference.client.wire import Response, times, trust
from innkeeper.inference.errors import REST_SECONDS

if TYPE_CHECKING:
    import httpx

    from innkeeper.inference.client.egress import Egress
    from innkeeper.inference.client.quick import QuickSession


IDLE_CONNECTIONS: Final = 64
"""Connections that an `AsyncClient` keeps open between requests. How many are in use at once is for its caller to limit."""


class Client(BaseClient):
    """A client of one provider. Safe to share between threads; close it, or use it as a context manager.

    Settings that are not given come from ``INNKEEPER_BASE_URL``, ``INNKEEPER_API_PREFIX``, ``INNKEEPER_API_KEY``,
    ``INNKEEPER_TIMEOUT``, ``INNKEEPER_OPEN_TIMEOUT`` and ``INNKEEPER_TOTAL_TIMEOUT`` (seconds). A ``base_url`` that already ends
    with ``api_prefix`` is taken as meant. ``transport`` is an ``httpx`` transport, for tests and special networks.
    ``egress`` says where requests may go; without it they go where they are told.

    Every method raises `ProviderError` and its kin (`innkeeper.inference.errors`); the key appears in none of them. A call
    in a `cancelled_by` block stops within `CANCEL_INTERVAL` of being told to, also while it waits for its first byte.
    """

    def __init__(  # noqa: PLR0913 - one argument a setting, all by name
        self,
        base_url: str | None = None,
        *,
        api_prefix: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        open_timeout: float | None = None,
        total_timeout: float | None = None,
        name: str | None = None,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
        egress: Egress | None = None,
    ) -> None:
        super().__init__(
            base_url,
            api_prefix=api_prefix,
            api_key=api_key,
            timeout=timeout,
            open_timeout=open_timeout,
            total_timeout=total_timeout,
            name=name,
            headers=headers,
            transport=transport,
        )
        self._egress = egress
        self._opened: httpx.Client | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A closed client opens new ones when it is used again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def chat_completions(self, **request: Any) -> Response:
        """Send one chat completion request as it is and return the whole answer. For streams see `chat_stream`."""
        response: Response = self._result(self._completion(request))
        return response

    def chat(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        stream: bool = False,
        include_usage: bool = False,
        on_delta: Callable[[str], Any] | None = None,
        **options: Any,
    ) -> ChatReply:
        """Send messages; get ``(content, usage, finish_reason, response)``. ``on_delta`` gets each piece of a stream."""
        self._check_delta(on_delta, stream=stream)
        if not stream:
            return ChatReply.of(self.chat_completions(model=model, messages=messages, **options))
        with self.chat_stream(model, messages, include_usage=include_usage, **options) as pieces:
            for delta in pieces:
                if on_delta is not None:
                    on_delta(delta)
            return pieces.reply

    def chat_stream(
        self, model: str, messages: Sequence[Mapping[str, Any]], *, include_usage: bool = False, **options: Any
    ) -> ChatStream:
        """Send messages; iterate over the pieces of the answer. The request goes out with the first piece asked for.

        A server that answers with a whole JSON body, or that turns streaming down, gives one piece.
        """
        exchange = self._streamed(model, messages, options, include_usage=include_usage)
        return ChatStream(lambda progress: self.talk(exchange(progress), progress))

    def models(self) -> Response:
        """The provider's list of models."""
        response: Response = self._result(self._listing())
        return response

    def embeddings(self, **request: Any) -> Response:
        """Send one embeddings request."""
        response: Response = self._result(self._embedding(request))
        return response

    def health(self) -> bool:
        """Whether the server answers at all: ``/health`` at its root, and the list of models where there is no such page."""
        return bool(self._result(self._health()))

    @property
    def _http(self) -> httpx.Client:
        import httpx

        from innkeeper.inference.client.sockets import watch_connections

        with self._lock:
            if self._opened is None:
                client = httpx.Client(
                    transport=self._transport,
                    timeout=times(self.endpoint),
                    verify=trust(self.endpoint),
                    trust_env=self._egress is None,
                )
                self._opened = watch_connections(_guarded(client, self._egress))
            return self._opened

    def _result(self, exchange: Exchange) -> Any:
        with closing(self.talk(exchange)) as given:
            return next(given)

    def talk(self, exchange: Exchange, progress: Progress | None = None) -> Generator[Any]:
        """Do what an exchange wants; yields what is for the caller."""
        with closing(Talk(exchange, self.endpoint, progress)) as talk, ExitStack() as answers:
            pieces: Iterator[bytes] = iter(())
            for step in talk:
                if not is_wish(step):
                    yield step
                    continue
                try:
                    with talk.watch.reading():
                        if isinstance(step, Send):
                            answers.close()
                            answer = answers.enter_context(self._http.stream(**step._asdict()))
                            pieces = answer.iter_bytes()
                            talk.give(Head(answer.status_code, answer.headers))
                        elif step is REST:
                            with talk.watch.shortly(REST_SECONDS), suppress(*talk.errors):
                                for _ in pieces:
                                    talk.watch.check()
                        else:
                            talk.give(talk.watch.take(next(pieces, b"")))
                except talk.errors as error:
                    talk.fail(error)


def _guarded(client: Any, egress: Egress | None) -> Any:
    from innkeeper.inference.client.sockets import guard_connections

    return client if egress is None else guard_connections(client, egress)


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
    """See `Client`. One instance belongs to one event loop. Cancelling the task that waits closes the connection.

    ``quick``: use aiohttp where that can be (`innkeeper.inference.client.quick`).
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
        egress: Egress | None = None,
        quick: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(base_url, headers=headers, transport=transport, **settings)
        self._egress = egress
        self._quick = quick and transport is None and egress is None
        self._opened: httpx.AsyncClient | QuickSession | None = None
        self._longest_read = inf  # seconds after which a read surely ends by itself

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
        return AsyncChatStream(lambda progress: self.talk(exchange(progress), progress))

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
    def _http(self) -> Any:
        import httpx

        from innkeeper.inference.client.quick import QuickSession, is_quick

        if self._opened is None and self._quick and is_quick(self.endpoint):
            self._opened, self._longest_read = QuickSession(self.endpoint), self.endpoint.timeout
        if self._opened is None:
            client = httpx.AsyncClient(
                transport=self._transport,
                timeout=times(self.endpoint),
                verify=trust(self.endpoint),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS),
                trust_env=self._egress is None,
            )
            self._opened = _guarded(client, self._egress)
        return self._opened

    async def _result(self, exchange: Exchange) -> Any:
        async with aclosing(self.talk(exchange)) as given:
            return await anext(given)

    async def talk(self, exchange: Exchange, progress: Progress | None = None) -> AsyncGenerator[Any]:
        """Do what an exchange wants; yields what is for the caller."""
        from innkeeper.inference.client.within import within  # here, so that a blocking client does not load asyncio

        with closing(Talk(exchange, self.endpoint, progress)) as talk:
            async with aclosing(_Answer(self._http, talk)) as answer:
                for step in talk:
                    if not is_wish(step):
                        yield step
                        continue
                    left = talk.watch.left
                    try:
                        if step is READ and left > self._longest_read:  # most need no timer beside the session's own
                            await answer.do(step)
                        else:
                            await within(left, answer.do(step))
                    except TimeoutError:
                        talk.fail(talk.watch.late())
                    except talk.errors as error:
                        talk.fail(error)


class _Answer:
    """The answer that a talk is about: what it wants is done here."""

    def __init__(self, http: Any, talk: Talk) -> None:
        self._http, self._talk = http, talk
        self._opened: Any = None
        self._pieces: AsyncIterator[bytes] | None = None

    async def do(self, step: Any) -> None:
        """Give the talk what it wants. Raises what the transport raises."""
        if isinstance(step, Send):
            await self.aclose()
            opened = self._http.stream(**step._asdict())
            answer = await opened.__aenter__()
            self._opened, self._pieces = opened, answer.aiter_bytes()
            self._talk.give(Head(answer.status_code, answer.headers))
        elif self._pieces is not None and step is REST:
            await self._rest(self._pieces)
        elif self._pieces is not None:
            self._talk.give(self._talk.watch.take(await anext(self._pieces, b"")))

    async def _rest(self, pieces: AsyncIterator[bytes]) -> None:
        from asyncio import timeout

        with suppress(TimeoutError, *self._talk.errors):
            async with timeout(REST_SECONDS):
                async for _ in pieces:
                    pass

    async def aclose(self) -> None:
        """Close the connection, unless all was read."""
        opened, self._opened, self._pieces = self._opened, None, None
        if opened is not None:
            await opened.__aexit__(None, None, None)
