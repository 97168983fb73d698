"""Clients of any provider's model by the one model stack, for blocking callers and for event loops.

`events` is the stack itself: a `ModelRequest` goes out, the events of its answer come back. A `RouteClient` answers chats, too:
its `chat_completions`, `chat` and `chat_stream` are views over that in OpenAI's shape, for callers who have no plan: runners,
tool loops, directives.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Final, Unpack

from innkeeper.inference.adapters.adapter import Adapter, ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.blocking import Client, threaded
from innkeeper.inference.client.chat import AsyncChatStream, ChatReply, chat_body
from innkeeper.inference.client.clients import NO_RETRIES, AsyncClient, ClientSettings, Retries, check_settings
from innkeeper.inference.client.endpoint import Response
from innkeeper.inference.requests.chat import read_chat
from innkeeper.inference.requests.request import provider_request
from innkeeper.inference.response.events import ModelEvent, TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.response.views.chat import CHAT, finish_reason, usage_dict
from innkeeper.prompt import UsageError, utc_now
from innkeeper.prompt.machine import fresh_id

if TYPE_CHECKING:
    from innkeeper.inference.routing.route import Route


_OPTIONS: Final = ClientSettings.__annotations__.keys() - {"api_key", "headers"}


def client_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a model client that are to be used later. Raises `UsageError` for one that there is not."""
    check_settings(options, _OPTIONS)
    return dict(options)


class AsyncModelClient(AsyncClient):
    """See `ModelClient`. One instance belongs to one event loop. A key is never taken from the environment."""

    def __init__(
        self,
        adapter: Adapter,
        base_url: str | None = None,
        *,
        key: str = "",
        retries: Retries = NO_RETRIES,
        **settings: Unpack[ClientSettings],
    ) -> None:
        self.adapter, self.retries = adapter, retries
        headers = {**adapter.headers(key), **(settings.pop("headers", None) or {})}
        options: Any = {"api_prefix": adapter.prefix, "api_key": "", **client_options(settings)}
        super().__init__(base_url or adapter.base_url, headers=headers, **options)


class ModelClient(Client):
    """A model behind an adapter, for blocking callers. Close it, or use it as a context manager.

    Args:
        adapter: the wire protocol.
        base_url: the provider's address; the adapter's own provider where left out.
        key: the provider's key; it appears in no error and no representation.
        retries: how often a request is sent again where that is safe; never, where left out.
        settings: those of a `Client`; ``api_prefix`` where a provider has another path than the protocol's own.
    """

    def __init__(self, adapter: Adapter, base_url: str | None = None, *, key: str = "", **settings: Any) -> None:
        self._wrap(AsyncModelClient(adapter, base_url, key=key, **threaded(settings)))


_CHAT_ADAPTERS: Final = frozenset({"openai-chat", "local"})
"""Adapters of providers that are sent a chat completion as it is; for all others it is translated."""


class AsyncRouteClient(AsyncModelClient):
    """See `RouteClient`. One instance belongs to one event loop."""

    def __init__(self, route: Route, key: str = "", **options: Any) -> None:
        self.route = route
        super().__init__(ADAPTERS[route.adapter], route.base_url or None, key=key, **options)

    async def chat_completions(self, **request: Any) -> Response:
        """One chat completion, translated where the provider speaks another protocol; what is lost is in ``innkeeper.notes``."""
        if request.get("stream"):
            return await super().chat_completions(**request)  # which refuses it
        sent, fold = self._request(request, stream=False), response_fold(self.route.model)
        async with aclosing(self.events(sent)) as events:
            async for event in events:
                fold.take(event)
        return _response(fold.response(), sent)

    def chat_stream(
        self, model: str, messages: Sequence[Mapping[str, Any]], *, include_usage: bool = False, **options: Any
    ) -> AsyncChatStream:
        """Send messages; iterate over the pieces of the answer. See `Client.chat_stream`."""
        body = chat_body(model, messages, options, include_usage=include_usage)
        fold, sent = response_fold(self.route.model), self._request(body, stream=True)

        async def events() -> AsyncGenerator[ModelEvent]:
            async with aclosing(self.events(sent)) as arriving:
                async for event in arriving:
                    fold.take(event)
                    yield event

        return AsyncChatStream(events(), lambda: chat_reply(fold.response(), sent))

    def _request(self, body: Mapping[str, Any], *, stream: bool) -> ModelRequest:
        """The request of a chat completion's body."""
        if self.adapter.name in _CHAT_ADAPTERS:
            return ModelRequest.of(self.adapter, body, stream=stream)
        request = read_chat({**body, "stream": stream})
        if request.choices > 1:
            raise UsageError("n: this provider gives one answer to one request", hint="ask several times")
        return provider_request(request, self.route, self.adapter)


class RouteClient(Client):
    """A client of the model that a `Route` names, whatever its provider's protocol is. Options are those of `ModelClient`."""

    def __init__(self, route: Route, key: str = "", **options: Any) -> None:
        self.route = route
        self._wrap(AsyncRouteClient(route, key, **threaded(options)))


def response_fold(model: str) -> ResponseFold:
    """Return what the events of an answer that begins now are put together in."""
    return ResponseFold(f"resp_{fresh_id()}", model, int(utc_now().timestamp()))


def answered(events: Generator[ModelEvent], model: str, on_delta: Callable[[str], Any] | None = None) -> ModelResponse:
    """Return the whole answer that the events are; ``on_delta`` is called with each piece of its text."""
    fold = response_fold(model)
    with closing(events):
        for event in events:
            fold.take(event)
            if on_delta is not None and isinstance(event, TextDelta) and event.text:
                on_delta(event.text)
    return fold.response()


def chat_reply(response: ModelResponse, sent: ModelRequest) -> ChatReply:
    """Return an answer as a `ChatReply`."""
    return ChatReply(response.text, chat_usage(response), finish_reason(response), _response(response, sent))


def chat_usage(response: ModelResponse) -> dict[str, Any] | None:
    """Return the token figures of an answer by OpenAI's names, without those that the provider does not tell."""
    usage = usage_dict(response.usage)
    return None if usage is None else {name: figure for name, figure in usage.items() if figure not in (None, {})}


def _response(response: ModelResponse, sent: ModelRequest) -> Response:
    body = CHAT.whole(response)
    lost = [str(note) for note in sent.notes]
    if lost:
        body["innkeeper"] = {"notes": [*lost, *body.get("innkeeper", {}).get("notes", ())]}
    return Response(200, {}, {**body, "usage": chat_usage(response)})
