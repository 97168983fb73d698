"""ModelHandle: the model of a conversation, on this machine or at any provider, and its answer to a plan."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from innkeeper.inference.errors import DecodeError
from innkeeper.inference.local.shared import DEFAULT_MODEL, LOCAL
from innkeeper.prompt import Plan, Ports, UsageError
from innkeeper.prompt.text import shorten

if TYPE_CHECKING:
    from innkeeper.conversation import TurnInput
    from innkeeper.inference.adapters.adapter import ModelRequest
    from innkeeper.inference.client.clients import AsyncClient
    from innkeeper.inference.local.model import LocalModel
    from innkeeper.inference.response.events import ModelEvent
    from innkeeper.inference.response.response import ModelResponse
    from innkeeper.inference.routing.route import Route
    from innkeeper.prompt import TokenCounter
    from innkeeper.prompt.machine import Secret


class EventClient(Protocol):
    """Asks a model: `RouteClient`, `ModelClient`, or a stand-in."""

    def events(self, request: ModelRequest) -> Generator[ModelEvent]:
        """Send a request; yield the events of its answer."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


ModelSource: TypeAlias = "str | Route | EventClient | AsyncClient | ModelHandle"
"""What names or is a model: `ModelHandle.of` opens it."""


class PlanAnswer(NamedTuple):
    """A whole answer: its text, the reason of its end, and its usage by OpenAI's names."""

    text: str
    end: str | None
    usage: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ModelHandle:
    """A model's client, its name, and, if known, its window in tokens and its token counter.

    ``media`` reads the chat's media for builds. ``address`` is the provider's, or its name if two have the same one; None for a
    model in this process. ``route`` says how it is asked, by default by chat completions. ``local`` is a model in this process.
    """

    client: EventClient | AsyncClient
    model: str
    window: int | None = None
    counter: TokenCounter | None = None
    media: Callable[[str], bytes | None] | None = None
    address: str | None = None
    route: Route | None = None
    local: LocalModel | None = None

    @classmethod
    def of(cls, model: ModelSource, window: int | None = None, key: Secret | None = None) -> ModelHandle:
        """Return the handle of ``PROVIDER:MODEL``, ``local``, ``http://ADDRESS:MODEL``, a route, or a client.

        A name without a provider is asked at ``INNKEEPER_BASE_URL``. By default the ``key`` is ``INNKEEPER_API_KEY``. Raises
        `ConfigError`, `UnknownNameError` for a provider that there is not, `UnavailableError`.
        """
        from innkeeper.inference.routing.route import Route

        if isinstance(model, ModelHandle):
            return model
        if isinstance(model, str):
            if model.partition(":")[0] == LOCAL or ":" not in model:
                return open_model(model, None, window, key)
            model = Route.of(model, model)
        if isinstance(model, Route):
            return open_route(model, window, key)
        route = getattr(model, "route", None)
        return cls(model, "" if route is None else route.model, window, route=route)

    @property
    def ports(self) -> Ports:
        """The ports of builds for it."""
        return Ports(token_counter=self.counter, media=self.media)

    @property
    def provider(self) -> str | None:
        """The provider whose cache reads its prompts."""
        return None if self.route is None else self.route.provider

    @property
    def turn(self) -> TurnInput:
        """What it settles of a turn: model, dialect, window, options."""
        from innkeeper.conversation import TurnInput

        fields = {} if self.route is None else self.route.turn_fields()
        return TurnInput(
            **{**fields, "model": self.model, "context_window": self.window or fields.get("context_window")}
        )

    def speaking(self, dialect: str | None) -> ModelHandle:
        """Return it with bodies of another dialect, if one is said."""
        if dialect is None or self.route is None:
            return self
        return replace(self, route=msgspec.structs.replace(self.route, dialect=dialect))

    def request(self, plan: Plan, *, stream: bool = True) -> ModelRequest:
        """Return the request for a plan."""
        from innkeeper.inference.requests.request import request_for
        from innkeeper.inference.routing.route import Route

        route = self.route or Route(name=self.model, model=plan.model or self.model)
        return request_for(plan, route, stream=stream)

    def answer(
        self, plan: Plan, on_delta: Callable[[str], Any], report: Callable[[str], Any] = lambda _: None
    ) -> PlanAnswer:
        """Answer a plan; ``on_delta`` gets each piece of text, ``report`` a sentence about calls of tools beside a text.

        Raises `TierBlockedError`, and `ProviderError` and its subclasses, among them `DecodeError` for calls of tools that nobody
        runs.
        """
        from innkeeper.inference.client.judged import judged_answer, texts_of
        from innkeeper.inference.client.model_clients import answered

        request = self.request(plan)
        events = judged_answer(texts_of(request), self._sent(request))
        return plan_answer(answered(events, self.model, on_delta), report)

    async def events(self, plan: Plan) -> AsyncGenerator[ModelEvent]:
        """Answer a plan as `answer` does, for an event loop."""
        from innkeeper.inference.client.judged import judged_events, texts_of

        request = self.request(plan)
        async with aclosing(judged_events(texts_of(request), lambda: self._arriving(request))) as events:
            async for event in events:
                yield event

    def _arriving(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Return the events of an answer for an event loop; a client that is not of ours waits in threads of its own."""
        from innkeeper.inference.client.blocking import Client
        from innkeeper.inference.client.clients import AsyncClient

        if isinstance(self.client, AsyncClient):
            return self.client.events(request)
        return (
            self.client.events_async(request)
            if isinstance(self.client, Client)
            else _threaded(self.client.events(request))
        )

    def _sent(self, request: ModelRequest) -> Generator[ModelEvent]:
        """Return the events of an answer for a blocking caller."""
        from innkeeper.inference.client.clients import AsyncClient
        from innkeeper.inference.client.portal import portal

        if isinstance(self.client, AsyncClient):
            return portal().iterate(self.client.events(request))
        return self.client.events(request)

    def close(self) -> None:
        """Close the connections and the model."""
        from innkeeper.inference.client.clients import AsyncClient

        if not isinstance(self.client, AsyncClient):  # who opened it closes it, in its own loop
            self.client.close()
        if self.local is not None:
            self.local.close()


def plan_answer(response: ModelResponse, report: Callable[[str], Any] = lambda _: None) -> PlanAnswer:
    """Return a response as the answer to a plan; ``report`` gets a sentence about calls of tools beside its text.

    Raises `DecodeError` for calls of tools that nobody runs in the place of a text.
    """
    from innkeeper.inference.client.model_clients import chat_usage
    from innkeeper.inference.response.views.chat import finish_reason

    if response.calls:
        report(refused_calls(response))
    return PlanAnswer(response.text, finish_reason(response), chat_usage(response))


async def _threaded(events: Generator[ModelEvent]) -> AsyncGenerator[ModelEvent]:
    """Give the events of a blocking client, each waited for in a thread."""
    from innkeeper.inference.client.portal import in_thread

    while (event := await in_thread(lambda: next(events, None))) is not None:
        yield event


def refused_calls(response: ModelResponse) -> str:
    """Return a sentence about calls of tools that nobody runs here. Raises `DecodeError` where there is no text beside them."""
    names = ", ".join(dict.fromkeys(shorten(call.name, 60) for call in response.calls))
    message = f"the model calls tools that nobody runs here: {names}"
    hint = "offer them with --tool FILE.py:FUNCTION or --mcp COMMAND"
    if not response.text.strip():
        raise DecodeError(message, hint=hint)
    return f"{message} ({hint})"


def served_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Return the tokens of a prompt that a cache served, by the provider's usage; None where it does not say."""
    count = (usage or {}).get("prompt_tokens_details", {}).get("cached_tokens")
    return count if isinstance(count, int) else None


def open_model(
    model: str | None,
    base_url: str | None = None,
    window: int | None = None,
    key: Secret | None = None,
    provider: str = "",
) -> ModelHandle:
    """Open ``model``; without a name the local one, unless there is a ``base_url``.

    It is asked by the protocol of ``provider``, else of the provider at ``base_url``. By default the provider's ``key`` comes
    from ``INNKEEPER_API_KEY``. Raises `UsageError`, `UnavailableError`.
    """
    kind, _, name = (model or LOCAL).partition(":")
    if kind != LOCAL or base_url:
        if not model:
            raise UsageError("a provider needs the name of a model", hint="--model NAME")
        from innkeeper.inference.client.endpoint import DEFAULT_BASE_URL
        from innkeeper.inference.routing.route import Route

        address = base_url or os.environ.get("INNKEEPER_BASE_URL", "")
        handle = open_route(Route.at(address or DEFAULT_BASE_URL, model, provider), window, key)
        return replace(handle, address=provider or address or None)
    return open_local(name, window)


def open_local(name: str = "", window: int | None = None, **options: Any) -> ModelHandle:
    """Open a model on this machine, the small one by default, with options of `LocalModel.open`. Raises `UnavailableError`."""
    from innkeeper.inference.client.model_clients import RouteClient
    from innkeeper.inference.local.model import LocalModel
    from innkeeper.inference.routing.route import Route

    opened = LocalModel.open(name or DEFAULT_MODEL, context_window=window, **options)
    route = Route(name=opened.name, model=opened.name, adapter=LOCAL, provider=LOCAL)
    times: dict[str, Any] = {"timeout": opened.endpoint.timeout, "total_timeout": opened.endpoint.total_timeout}
    client = RouteClient(route, transport=opened.transport, **times)
    return ModelHandle(client, opened.name, opened.context_window, opened.counter(), route=route, local=opened)


def open_route(route: Route, window: int | None = None, key: Secret | None = None) -> ModelHandle:
    """Open the model of a route with the ``key``, by default ``INNKEEPER_API_KEY``. Raises `UnavailableError`."""
    from innkeeper.inference.client.clients import Retries
    from innkeeper.inference.client.endpoint import ENVIRONMENT
    from innkeeper.inference.client.model_clients import RouteClient
    from innkeeper.inference.routing.route import OWN

    if route.is_local:
        return open_local(route.model, window)
    # The path before an address's own pages may be set for the shell; a provider of the table has the one of its protocol.
    prefix = os.environ.get(ENVIRONMENT["api_prefix"]) if route.provider == OWN else None
    options: dict[str, Any] = {} if prefix is None else {"api_prefix": prefix}
    secret = os.environ.get(ENVIRONMENT["api_key"], "") if key is None else key.reveal()
    client = RouteClient(route, secret.strip(), retries=Retries(), **options)
    return ModelHandle(client, route.model, window, address=route.provider, route=route)
