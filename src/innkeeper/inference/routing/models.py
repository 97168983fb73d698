"""Models: what a request's ``model`` means, and what answers: the port of the HTTP doors, and routes behind it.

A door knows nothing of providers: it asks `Models` with a request, and gets events. Whatever else can answer (a profile, which is
a model with a character) is one more implementation, and `AnyOf` puts several side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from innkeeper.budget.costing import Costing
from innkeeper.dialects import DIALECTS
from innkeeper.dialects.options import neutral
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.clients import NO_RETRIES, Retries
from innkeeper.inference.client.egress import Egress
from innkeeper.inference.client.model_clients import AsyncModelClient, client_options
from innkeeper.inference.local.shared import LocalModels
from innkeeper.inference.requests.request import GenerationRequest, provider_request
from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.routing.meter import MeteredCall, Pricing, admitted, book_embeddings, metered
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import ConfigError, InnkeeperError, UnknownNameError, UnsupportedError, Where
from innkeeper.prompt.machine import Secret
from innkeeper.prompt.note import Note
from innkeeper.tokens.framing import ANTHROPIC
from innkeeper.tokens.table.catalogue import known_window

if TYPE_CHECKING:
    from innkeeper.inference.run.moderation import ModerationReader

Secrets = Callable[[str], "Secret | None"]
"""Where a key is looked up by its name; None where there is none, and the provider is asked without."""


class ModelNotFoundError(UnknownNameError):
    """Nothing here answers by this name."""

    def __init__(self, name: str, known: Any = ()) -> None:
        super().__init__("model", name, known, where=Where(path="model"))


class EmbeddingsError(UnsupportedError):
    """The model of this name makes no embeddings."""

    http_status = 501


class ModelCard(NamedTuple):
    """A model as lists show it.

    ``model`` is its provider's name for it, by which its tokens are counted; ``context_window`` is in tokens, None where nobody
    says. ``kind`` is what it is here: a ``route`` or a ``profile``. Only keys of ``tenant``, and only the key ``only``, may ask
    it; where these are empty, all may. ``tier`` and ``gate`` are a profile's own words on which texts pass.
    """

    name: str
    owner: str
    model: str = ""
    context_window: int | None = None
    kind: str = "route"
    tenant: str = ""
    only: str = ""
    tier: str = ""
    gate: str = ""


class ModelAnswer(NamedTuple):
    """An answer that begins: its events, headers for the reply, notes, and what is sent to a provider.

    Nothing is sent before the first event is asked for; closing the events stops whoever makes them. ``asked`` names who is
    asked, for the record: ``route``, ``provider``, ``model``, ``profile``.
    """

    events: AsyncGenerator[ModelEvent]
    headers: Mapping[str, str] = EMPTY
    notes: tuple[Note, ...] = ()
    sent: ModelRequest | None = None
    asked: Mapping[str, str] = EMPTY


class Models(Protocol):
    """What answers requests, by the name of a model."""

    def cards(self) -> tuple[ModelCard, ...]:
        """The models that there are."""
        ...

    def card(self, name: str) -> ModelCard | None:
        """The model of this name; None where there is none."""
        ...

    async def answer(self, request: GenerationRequest, caller: str) -> ModelAnswer:
        """Begin to answer. Raises `ModelNotFoundError`, and what cannot be asked so."""
        ...

    async def count_tokens(self, request: GenerationRequest, caller: str) -> int:
        """Return the tokens of the prompt that would be sent. Raises `ModelNotFoundError`, and what building it raises."""
        ...

    async def embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """An answer as the provider gives it. Raises `ModelNotFoundError`, `EmbeddingsError`, `ProviderError`."""
        ...

    async def close(self) -> None:
        """Let all connections and models go."""
        ...


def request_tokens(request: GenerationRequest, route: Route | None = None) -> int:
    """Return the tokens of the body that a route is sent for a request; without a route, of one like Chat Completions' own.

    They are counted as those of a plan are: by the model's vocabulary or an estimate, with tools, schema, media, thoughts.
    """
    adapter = None if route is None else ADAPTERS[route.adapter]
    options = {**neutral(EMPTY if route is None else route.options), **neutral(request.options)}
    if adapter is None or adapter.name == request.surface:
        options |= {"extra": {**(options.get("extra") or {}), **request.extra}, "hosted_tools": request.hosted}
    model = request.model if route is None else route.model
    counter = None
    if route is not None and route.is_local:
        from innkeeper.inference.local.vocabulary import local_counter  # which brings clients along

        counter = local_counter(model)
    costing = Costing.of_dialect(
        None if route is None or adapter is None else route.dialect or adapter.dialect,
        DIALECTS,
        options,
        counter=counter,
        framing=ANTHROPIC if "claude" in model else None,
        model=model,
    )
    return costing.total(request.messages) + costing.tool_tokens(request.tools) + costing.option_tokens(options)


async def answered(models: Models, request: GenerationRequest, caller: str) -> tuple[ModelAnswer, ...]:
    """Begin to answer a request as many times as it wants answers, all at once. Raises as `Models.answer`.

    Each is asked for by itself, with a seed of its own where the request has one: providers that give several answers to one
    request are few, and what they take for them is the same for the answers and less for the prompt.
    """
    if request.choices == 1:
        return (await models.answer(request, caller),)
    tasks = [asyncio.ensure_future(models.answer(_choice(request, at), caller)) for at in range(request.choices)]
    try:
        return tuple(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        for made in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(made, ModelAnswer):
                await made.events.aclose()
        raise


def _choice(request: GenerationRequest, at: int) -> GenerationRequest:
    seed = request.options.get("seed")
    options = FrozenDict({**request.options, "seed": seed + at}) if type(seed) is int else request.options
    return msgspec.structs.replace(request, options=options, choice=at)


class RouteModels:
    """Routes as models. One instance belongs to one event loop.

    Args:
        routes: the routes.
        secrets: where keys are looked up, when a route is asked for the first time.
        retries: how often a request is sent again where that is safe.
        local: the models that run beside this process; whoever made them closes them.
        addresses: further providers by name, for routes that are not among ``routes``.
        egress: where requests on a route may go; None: where it says.
        options: settings of the clients: ``timeout``, ``open_timeout``, ``total_timeout`` (seconds), ``transport``.
    """

    def __init__(
        self,
        routes: Routes,
        secrets: Secrets = lambda _: None,
        *,
        retries: Retries = NO_RETRIES,
        local: LocalModels | None = None,
        addresses: Mapping[str, str] = EMPTY,
        egress: Callable[[Route], Egress | None] = lambda _: None,
        **options: Any,
    ) -> None:
        self._egress = egress
        self.addresses = addresses
        self.routes, self._secrets, self._retries = routes, secrets, retries
        self._options = client_options(options)
        self._clients: dict[str, AsyncModelClient] = {}
        self._own = LocalModels()
        self.local = local or self._own
        self._opening = asyncio.Lock()

    def cards(self) -> tuple[ModelCard, ...]:
        """The routes."""
        return tuple(self._cards.values())

    def card(self, name: str) -> ModelCard | None:
        """The route of this name."""
        return self._cards.get(name)

    @cached_property
    def _cards(self) -> dict[str, ModelCard]:
        return {
            name: ModelCard(name, route.provider, route.model, route.window or known_window(route.model))
            for name, route in self.routes.items()
        }

    def route(self, name: str) -> Route:
        """Return the route of this name. Raises `ModelNotFoundError`."""
        if name not in self.routes:
            raise ModelNotFoundError(name, self.routes)
        return self.routes[name]

    async def answer(self, request: GenerationRequest, caller: str) -> ModelAnswer:
        """Begin to answer on the route that the model names. Raises `ModelNotFoundError`, `UnavailableError`, `ConfigError`."""
        route = self.route(request.model)
        return await self.ask(route, provider_request(request, route, ADAPTERS[route.adapter]))

    async def ask(
        self, route: Route, sent: ModelRequest, *, profile: str = "", pricing: Pricing | None = None
    ) -> ModelAnswer:
        """Begin to answer a body that is written already, on any route.

        The meter of the running call decides whether the route may be asked, and books what the answer uses.

        Args:
            route: the route.
            sent: the body.
            profile: the profile that the call named, which is checked in place of the route.
            pricing: how an attempt of a router is allowed and priced.

        Raises:
            InnkeeperError: the call may not ask this route, or nothing can be asked there.
        """
        call = MeteredCall(route.name, route.provider, route.model, profile, sent.content, pricing)
        meter = admitted(call)
        client = self._clients.get(route.name) or await self._open(route)
        headers = {"x-innkeeper-route": route.name, "x-innkeeper-body-sha256": sent.sha256}
        asked = {"route": route.name, "provider": route.provider, "model": route.model}
        return ModelAnswer(metered(client.events(sent), meter, call), headers, sent.notes, sent, asked)

    async def count_tokens(self, request: GenerationRequest, caller: str) -> int:
        """Return the tokens of a request, as the route's model counts them. Raises `ModelNotFoundError`."""
        return await asyncio.to_thread(request_tokens, request, self.route(request.model))

    async def embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Embeddings of the route's provider, for its own model. Raises `EmbeddingsError` where it has none."""
        name = body.get("model")
        route = self.route(name if isinstance(name, str) else "")
        if route.adapter not in _WITH_EMBEDDINGS:
            raise EmbeddingsError(f"the model {route.name!r} makes no embeddings", where=Where(path="model"))
        call = MeteredCall(route.name, route.provider, route.model)
        meter = admitted(call)
        client = self._clients.get(route.name) or await self._open(route)
        response = await client.embeddings(**{**body, "model": route.model})
        reply: Mapping[str, Any] = response.body if isinstance(response.body, Mapping) else EMPTY
        book_embeddings(meter, call, body, reply)
        return reply

    async def close(self) -> None:
        """Close the clients, and let local models go."""
        clients, self._clients = [*self._clients.values()], {}
        for client in clients:
            with suppress(InnkeeperError):
                await client.close()
        await asyncio.to_thread(self._own.close)

    async def _open(self, route: Route) -> AsyncModelClient:
        async with self._opening:
            if route.name not in self._clients:
                self._clients[route.name] = await self._local_client(route) if route.is_local else self._client(route)
            return self._clients[route.name]

    def _client(self, route: Route) -> AsyncModelClient:
        secret = None if route.secret is None else self._secrets(route.secret)
        key = "" if secret is None else secret.reveal()
        adapter, egress = ADAPTERS[route.adapter], self._egress(route)
        options = {"quick": True, "name": route.name, **self._options, **({} if egress is None else {"egress": egress})}
        return AsyncModelClient(adapter, route.base_url or None, key=key, retries=self._retries, **options)

    def reader(self, name: str, kind: str) -> ModerationReader:
        """A second reader of the gate on a route. Raises `ModelNotFoundError`, `ConfigError` for a kind that there is not."""
        from innkeeper.inference.run.moderation import KINDS, ModerationReader

        if kind not in KINDS:
            raise ConfigError(f"no moderation model answers as {kind!r:.40}", hint=f"one of {', '.join(KINDS)}")
        route = self.route(name)
        secret = None if route.secret is None else self._secrets(route.secret)
        return ModerationReader(route, kind, key="" if secret is None else secret.reveal())

    async def _local_client(self, route: Route) -> AsyncModelClient:
        from innkeeper.inference.adapters.local import local_async_client

        model = await asyncio.to_thread(self.local.open, route.model, context_window=route.context_window)
        return local_async_client(model)


_WITH_EMBEDDINGS = frozenset({"openai-chat", "openai-responses", "text-completion"})


class AnyOf:
    """Several `Models` as one: the first that knows a name answers."""

    def __init__(self, *models: Models) -> None:
        self._models = models

    def cards(self) -> tuple[ModelCard, ...]:
        """All models; of two of one name, the first."""
        return tuple({card.name: card for models in reversed(self._models) for card in models.cards()}.values())

    def card(self, name: str) -> ModelCard | None:
        """The model of this name, of the first that has one."""
        cards = (models.card(name) for models in self._models)
        return next((card for card in cards if card is not None), None)

    async def answer(self, request: GenerationRequest, caller: str) -> ModelAnswer:
        """Begin to answer. Raises `ModelNotFoundError` where nobody knows the name."""
        return await self._of(request.model).answer(request, caller)

    async def count_tokens(self, request: GenerationRequest, caller: str) -> int:
        """See `Models.count_tokens`."""
        return await self._of(request.model).count_tokens(request, caller)

    async def embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Models.embeddings`."""
        return await self._of(str(body.get("model") or "")).embeddings(body)

    async def close(self) -> None:
        """Close all of them."""
        for models in self._models:
            await models.close()

    def _of(self, name: str) -> Models:
        for models in self._models:
            if models.card(name) is not None:
                return models
        raise ModelNotFoundError(name, [card.name for card in self.cards()])
