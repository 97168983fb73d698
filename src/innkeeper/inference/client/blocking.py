"""Client: a provider over HTTP, for blocking callers.

The same settings, answers and errors as those of `AsyncClient`, which has the calls; a `Client` has them done in the process's
`Portal`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from innkeeper.inference.client.chat import ChatReply, ChatStream
from innkeeper.inference.client.clients import AsyncClient, ClientSettings, blocking_transport, check_delta
from innkeeper.inference.client.portal import portal
from innkeeper.prompt.data import EMPTY

if TYPE_CHECKING:
    from innkeeper.inference.adapters.adapter import ModelRequest
    from innkeeper.inference.client.endpoint import Response
    from innkeeper.inference.client.remote import RemoteOperation, Reply, Request
    from innkeeper.inference.response.events import ModelEvent
    from innkeeper.inference.response.views.view import ServerEvent


class Client:
    """A client of one provider. Safe to share between threads; close it, or use it as a context manager.

    Settings that are not given come from ``INNKEEPER_BASE_URL``, ``INNKEEPER_API_PREFIX``, ``INNKEEPER_API_KEY``,
    ``INNKEEPER_TIMEOUT``, ``INNKEEPER_OPEN_TIMEOUT`` and ``INNKEEPER_TOTAL_TIMEOUT`` (seconds). A ``base_url`` that already ends
    with ``api_prefix`` is taken as meant. ``transport`` is an ``httpx`` transport, for tests and special networks.
    ``egress`` says where requests may go; without it they go where they are told.

    Every method raises `ProviderError` and its kin (`innkeeper.inference.errors`); the key appears in none of them. A call
    in a `cancelled_by` block stops within `CANCEL_INTERVAL` of being told to, also while it waits for its first byte.
    """

    def __init__(self, base_url: str | None = None, **settings: Unpack[ClientSettings]) -> None:
        self._wrap(AsyncClient(base_url, **threaded(settings)))

    def _wrap(self, client: AsyncClient) -> None:
        """Take the client whose calls this one has done in the portal."""
        self._client, self.endpoint, self.adapter = client, client.endpoint, client.adapter

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.base_url + self.endpoint.api_prefix!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A closed client opens new ones when it is used again."""
        if self._client.is_open:
            portal().finish(self._client.close())

    def events(self, request: ModelRequest) -> Generator[ModelEvent]:
        """Send a request and give the events of its answer. Raises `ProviderError` and its kin.

        Leaving it early (its ``close``) closes the connection, which stops the provider; so does the event or function of a
        `cancelled_by` block.
        """
        yield from portal().iterate(self._client.events(request))

    def events_async(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Do as `events` for a program's own event loop. Leaving it early (its ``aclose``) closes the connection."""
        return portal().relay(self._client.events(request))

    def chat_completions(self, **request: Any) -> Response:
        """Send one chat completion request as it is and return the whole answer. For streams see `chat_stream`."""
        return portal().call(self._client.chat_completions(**request))

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
        check_delta(on_delta, stream=stream)
        if not stream:
            return portal().call(self._client.chat(model, messages, **options))
        with self.chat_stream(model, messages, include_usage=include_usage, **options) as pieces:
            for delta in pieces:
                if on_delta is not None:
                    on_delta(delta)
            return pieces.reply

    def chat_stream(
        self, model: str, messages: Sequence[Mapping[str, Any]], *, include_usage: bool = False, **options: Any
    ) -> ChatStream:
        """Send messages; iterate over the pieces of the answer. See `AsyncClient.chat_stream`."""
        stream = self._client.chat_stream(model, messages, include_usage=include_usage, **options)
        return ChatStream(stream)

    def call(self, operation: RemoteOperation[Request, Reply], request: Request) -> Reply:
        """Ask a service for an operation; return its reply. See `AsyncClient.call`."""
        return portal().call(self._client.call(operation, request))

    def stream(self, operation: RemoteOperation[Request, Any], request: Request) -> Generator[ServerEvent]:
        """Ask a service for an operation; give the events of its reply. See `AsyncClient.stream`."""
        yield from portal().iterate(self._client.stream(operation, request))

    def fetch(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: Mapping[str, str] = EMPTY,
        *,
        most: int | None = None,
    ) -> Generator[bytes]:
        """Give the bytes of a page of the provider, piece by piece. See `AsyncClient.fetch`."""
        yield from portal().iterate(self._client.fetch(method, path, content, headers, most=most))

    def models(self) -> Response:
        """Return the provider's list of models."""
        return portal().call(self._client.models())

    def embeddings(self, **request: Any) -> Response:
        """Send one embeddings request."""
        return portal().call(self._client.embeddings(**request))

    def moderations(self, **request: Any) -> Response:
        """Send one request to the moderation endpoint."""
        return portal().call(self._client.moderations(**request))

    def health(self) -> bool:
        """Whether the server answers at all: ``/health`` at its root, and the list of models where there is no such page."""
        return portal().call(self._client.health())


def threaded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a blocking client for one of event loops: its transport is asked in threads of their own."""
    return {**settings, "transport": blocking_transport(settings.get("transport"))}
