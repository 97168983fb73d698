"""Answering: the model of a conversation, on this machine or at any provider, and its answer to a plan.

A `ModelChoice` says which model: from the command line, the environment and the configuration.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click
import msgspec

from innkeeper.cli.settings.keys import key_for
from innkeeper.cli.settings.model_choice import LOCAL, ModelChoice
from innkeeper.inference.errors import DecodeError
from innkeeper.prompt import Plan, Ports, UsageError
from innkeeper.prompt.text import shorten

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.conversation import TurnInput
    from innkeeper.inference.adapters.adapter import ModelRequest
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

    client: EventClient
    model: str
    window: int | None = None
    counter: TokenCounter | None = None
    media: Callable[[str], bytes | None] | None = None
    address: str | None = None
    route: Route | None = None
    local: LocalModel | None = None

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

    def answer(self, plan: Plan, on_delta: Callable[[str], Any]) -> PlanAnswer:
        """Answer a plan; ``on_delta`` is called with each piece of text.

        Raises `TierBlockedError`, and `ProviderError` and its subclasses, among them `DecodeError` for calls of tools that nobody
        runs.
        """
        from innkeeper.inference.client.judged import judged_answer, texts_of
        from innkeeper.inference.client.model_clients import answered

        request = self.request(plan)
        events = judged_answer(texts_of(request), self.client.events(request))
        return plan_answer(answered(events, self.model, on_delta))

    def close(self) -> None:
        """Close the connections and the model."""
        self.client.close()
        if self.local is not None:
            self.local.close()


def plan_answer(response: ModelResponse) -> PlanAnswer:
    """Return a response as the answer to a plan. Raises `DecodeError` for calls of tools that nobody runs."""
    from innkeeper.inference.client.model_clients import chat_usage
    from innkeeper.inference.response.views.chat import finish_reason

    if response.calls:
        _refuse_calls(response)
    return PlanAnswer(response.text, finish_reason(response), chat_usage(response))


def _refuse_calls(response: ModelResponse) -> None:
    """Say that tools were called which nobody runs here: in a note beside a text, else in the error."""
    names = ", ".join(dict.fromkeys(shorten(call.name, 60) for call in response.calls))
    message = f"the model calls tools that nobody runs here: {names}"
    hint = "offer them with --tool FILE.py:FUNCTION or --mcp COMMAND"
    if not response.text.strip():
        raise DecodeError(message, hint=hint)
    click.echo(f"innkeeper: {message} ({hint})", err=True)


def served_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Return the tokens of a prompt that a cache served, by the provider's usage; None where it does not say."""
    count = (usage or {}).get("prompt_tokens_details", {}).get("cached_tokens")
    return count if isinstance(count, int) else None


class Nobody:
    """A client that is never asked, for looking only."""

    def events(self, _: ModelRequest) -> Generator[ModelEvent]:
        """Raise `UsageError`."""
        raise UsageError("nobody is there to answer")

    def close(self) -> None:
        """Do nothing."""


def open_choice(choice: ModelChoice, settings: UserSettings, window: int | None) -> ModelHandle:
    """Open a chosen model with its stored key. Raises what `open_model` does."""
    from innkeeper.inference.adapters.providers import provider_at

    if choice.address is None:
        return open_model(choice.name, None, window, None)
    key, usual = key_for(choice.address, settings), provider_at(choice.address)
    # Where two providers have one address, the name says which protocol is meant.
    if choice.provider and (usual is None or usual.name != choice.provider):
        return open_model(choice.name, choice.address, window, key, choice.provider)
    return open_model(choice.name, choice.address, window, key)


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
    # httpx tries to bring a command line of its own, with colours for source code: a seventh of the time to the first request.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    kind, _, name = (model or LOCAL).partition(":")
    if kind != LOCAL or base_url:
        if not model:
            raise UsageError("a provider needs the name of a model", hint="--model NAME")
        return _at_provider(model, base_url or os.environ.get("INNKEEPER_BASE_URL", ""), window, key, provider)
    return open_local(name, window)


def open_local(name: str = "", window: int | None = None, **options: Any) -> ModelHandle:
    """Open a model on this machine, the small one by default, with options of `LocalModel.open`. Raises `UnavailableError`."""
    from innkeeper.inference.client.model_clients import RouteClient
    from innkeeper.inference.local.model import LocalModel
    from innkeeper.inference.local.weights import DEFAULT_MODEL
    from innkeeper.inference.routing.route import Route

    opened = LocalModel.open(name or DEFAULT_MODEL, context_window=window, **options)
    route = Route(name=opened.name, model=opened.name, adapter=LOCAL, provider=LOCAL)
    times: dict[str, Any] = {"timeout": opened.endpoint.timeout, "total_timeout": opened.endpoint.total_timeout}
    client = RouteClient(route, transport=opened.transport, **times)
    return ModelHandle(client, opened.name, opened.context_window, opened.counter(), route=route, local=opened)


def _at_provider(model: str, address: str, window: int | None, key: Secret | None, provider: str) -> ModelHandle:
    from innkeeper.inference.client.clients import Retries
    from innkeeper.inference.client.endpoint import DEFAULT_BASE_URL, ENVIRONMENT
    from innkeeper.inference.client.model_clients import RouteClient
    from innkeeper.inference.routing.route import OWN, Route

    route = Route.at(address or DEFAULT_BASE_URL, model, provider)
    # The path before an address's own pages may be set for the shell; a provider of the table has the one of its protocol.
    prefix = os.environ.get(ENVIRONMENT["api_prefix"]) if route.provider == OWN else None
    options: dict[str, Any] = {} if prefix is None else {"api_prefix": prefix}
    secret = os.environ.get(ENVIRONMENT["api_key"], "") if key is None else key.reveal()
    client = RouteClient(route, secret.strip(), retries=Retries(), **options)
    return ModelHandle(client, model, window, address=provider or address or None, route=route)
