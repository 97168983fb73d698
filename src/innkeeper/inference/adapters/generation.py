"""Generation: one call of a model, without I/O: what is sent, and the events of what comes back.

`ModelRequest` is what goes over the wire, as bytes and their hash, so that whoever asked can check that nothing was added. The
two model clients send it once; repeating it is for `innkeeper.inference.adapters.retries`.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, closing
from typing import Any, Self

import msgspec

from innkeeper.inference.adapters.adapter import Adapter
from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.client.chat import Progress, refuses_streaming
from innkeeper.inference.client.clients import AsyncClient, Client
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.client.exchange import READ, Exchange, Head, Send, rest
from innkeeper.inference.client.wire import encoded, public_headers, raise_for_status, unstreamed
from innkeeper.inference.errors import HttpError
from innkeeper.inference.response.events import ModelEvent

__all__ = ["AsyncModelClient", "ModelClient", "ModelRequest"]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the model's name, the bytes of its body, and whether they ask for a stream."""

    model: str
    content: bytes
    stream: bool = False

    @classmethod
    def of(cls, adapter: Adapter, body: Mapping[str, Any], *, stream: bool = False) -> Self:
        """A body that a dialect made, and what asks for a stream. Raises `UsageError` for what JSON cannot say."""
        sent = adapter.body(body, stream=stream)
        return cls(model=str(body.get("model") or ""), content=encoded(sent), stream=stream)

    @property
    def sha256(self) -> str:
        """The hash of the bytes that are sent."""
        return hashlib.sha256(self.content).hexdigest()


def generated(adapter: Adapter, endpoint: Endpoint, request: ModelRequest, progress: Progress) -> Exchange:
    """The events of one answer, ``progress`` on the way; whole where the server turns streaming down."""
    try:
        yield from _answered(adapter, endpoint, request, progress)
    except HttpError as error:
        if not (request.stream and refuses_streaming(error)):
            raise
        body = unstreamed(msgspec.json.decode(request.content))
        again = ModelRequest(model=request.model, content=encoded(body))
        yield from _answered(adapter, endpoint, again, progress)


def _answered(adapter: Adapter, endpoint: Endpoint, request: ModelRequest, progress: Progress) -> Exchange:
    url = endpoint.url(adapter.path(request.model, stream=request.stream))
    head: Head = yield Send.raw(endpoint, url, request.content, streams=request.stream)
    public = public_headers(head.headers, endpoint)
    raise_for_status(head.status, public, b"" if head.status in range(200, 300) else (yield from rest()), endpoint)
    decoder = AnswerDecoder(adapter, endpoint, head.status, public)
    progress.decoder = decoder
    while not decoder.done and (piece := (yield READ)):
        yield from decoder.feed(piece)
    yield from decoder.close()


def _settings(adapter: Adapter, base_url: str | None, key: str, headers: Mapping[str, str] | None) -> dict[str, Any]:
    named = {**adapter.headers(key), **(headers or {})}
    return {"base_url": base_url or adapter.base_url, "api_prefix": adapter.prefix, "headers": named}


class ModelClient:
    """A model behind an adapter, for blocking callers. Close it, or use it as a context manager.

    Args:
        adapter: the wire protocol.
        base_url: the provider's address; the adapter's own provider where left out.
        key: the provider's key; it appears in no error and no representation.
        headers: further headers.
        options: ``timeout``, ``open_timeout``, ``total_timeout`` (seconds), ``transport``, and ``api_prefix`` where a provider
            has another path than the protocol's own.
    """

    def __init__(
        self,
        adapter: Adapter,
        base_url: str | None = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.adapter = adapter
        self._client = Client(**{**_settings(adapter, base_url, key, headers), **options})

    @property
    def endpoint(self) -> Endpoint:
        """Where it sends."""
        return self._client.endpoint

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def events(self, request: ModelRequest) -> Iterator[ModelEvent]:
        """Send a request and give the events of its answer. Raises `ProviderError` and its kin.

        Leaving it early (its ``close``) closes the connection, which stops the provider.
        """
        progress = Progress()
        with closing(
            self._client.talk(generated(self.adapter, self.endpoint, request, progress), progress)
        ) as arriving:
            yield from arriving


class AsyncModelClient:
    """See `ModelClient`. One instance belongs to one event loop."""

    def __init__(
        self,
        adapter: Adapter,
        base_url: str | None = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.adapter = adapter
        self._client = AsyncClient(**{**_settings(adapter, base_url, key, headers), **options})

    @property
    def endpoint(self) -> Endpoint:
        """Where it sends."""
        return self._client.endpoint

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def events(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send a request and give the events of its answer. Cancelling the task closes the connection."""
        progress = Progress()
        async with aclosing(
            self._client.talk(generated(self.adapter, self.endpoint, request, progress), progress)
        ) as arriving:
            async for event in arriving:
                yield event
