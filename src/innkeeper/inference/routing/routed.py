"""RoutedModels: requests carried out on the routes that a router chooses, one attempt after the other.

Each attempt is planned anew for its deployment, by whoever asks: its dialect, its window, its tier. Nothing is passed on before
an answer has said something; from then on a failure is the caller's to see. A refusal is an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final, NamedTuple

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.adapters.worker import vouched
from innkeeper.inference.errors import ProviderTimeoutError
from innkeeper.inference.requests.raw import refuse_raw
from innkeeper.inference.requests.request import GenerationRequest, provider_request
from innkeeper.inference.requests.worker_protocol import messages_sha256
from innkeeper.inference.response.events import ModelEvent, Started, UsageReport
from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.failures import Failure, failure_of, retry_after
from innkeeper.inference.routing.meter import Pricing
from innkeeper.inference.routing.models import (
    EmbeddingsError,
    ModelAnswer,
    ModelCard,
    ModelNotFoundError,
    RouteModels,
    request_tokens,
)
from innkeeper.inference.routing.router import Attempt, NoRouteError, Reached, RouteAttempts, Router, RouteRequest
from innkeeper.inference.routing.trace import RouteTrace
from innkeeper.prompt.errors import InnkeeperError, UsageError, Where
from innkeeper.tokens import default_counter

AUTO: Final = "auto"
"""The name of a model that is whichever the router chooses; ``auto:TASK`` for one task."""

Planner = Callable[[Attempt], ModelRequest | Awaitable[ModelRequest]]
"""Makes what is sent for one attempt, anew for each. What it raises is a failure of the attempt (`failure_of`)."""


class RoutedAnswer(NamedTuple):
    """An answer that has begun. ``trace`` is as far as it has come: whole when the events have ended."""

    events: AsyncGenerator[ModelEvent]
    attempt: Attempt
    sent: ModelRequest
    attempts: RouteAttempts

    @property
    def trace(self) -> RouteTrace:
        """Where the request went."""
        return self.attempts.trace


class RoutedModels:
    """Models behind a router; as `Models` they answer to `AUTO`. One instance belongs to one event loop.

    Args:
        router: who chooses.
        routes: who asks; whoever made it closes it.
        tampered: told of a deployment whose answer was thrown away, for the register of workers.
        clock: seconds, going on evenly.
    """

    def __init__(
        self,
        router: Router,
        routes: RouteModels,
        *,
        tampered: Callable[[Deployment], object] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.router, self._routes, self._tampered, self._clock = router, routes, tampered, clock
        self._cards: tuple[tuple[Deployment, ...], tuple[ModelCard, ...]] = ((), ())

    async def begin(self, request: RouteRequest, plan: Planner, name: str = "") -> RoutedAnswer:
        """The answer of the first deployment that gives one.

        Args:
            request: what is needed.
            plan: makes what is sent.
            name: what the caller has asked for, which its key is checked for; each deployment where left out.

        Raises:
            NoRouteError: no deployment may be asked.
            InnkeeperError: the last attempt's error, with the trace as ``route_trace`` of its details.
        """
        attempts = self.router.attempts(request, self._clock())
        last: InnkeeperError | None = None
        while (attempt := attempts.next(self._clock())) is not None:
            try:
                return await self._attempt(attempts, attempt, plan, name)
            except InnkeeperError as error:
                last = error
        if last is None:
            dear = {} if attempts.cheapest is None else {"cheapest": attempts.cheapest}
            raise NoRouteError("there is nowhere to send this request", attempts.trace, **dear)
        last.details["route_trace"] = attempts.trace.to_dict()
        raise last

    async def _attempt(self, attempts: RouteAttempts, attempt: Attempt, plan: Planner, name: str) -> RoutedAnswer:
        running = _RunningAttempt(self, attempts, attempt)
        try:
            async with asyncio.timeout(attempt.seconds):
                made = plan(attempt)
                running.sent = made if isinstance(made, ModelRequest) else await made
                answer = await self._routes.ask(
                    attempt.deployment.route, running.sent, pricing=_pricing(attempt.deployment, attempts, name)
                )
                running.events = _checked(answer.events, attempt, running.sent)
                await running.begin()
        except TimeoutError:
            error = ProviderTimeoutError("no word of an answer came in time", phase="read")
            await running.fail(error)
            raise error from None
        except BaseException as error:
            await running.fail(error)
            raise
        events = running.rest()
        await anext(events)
        return RoutedAnswer(events, attempt, running.sent, attempts)

    # ---------------------------------------------------------------------------------------------------------- as models

    def cards(self) -> tuple[ModelCard, ...]:
        """`AUTO`, and one for each task that a model for chats does."""
        deployments = self.router.deployments
        if self._cards[0] is not deployments:  # asked for with every request, and changed seldom
            self._cards = (deployments, _cards(deployments))
        return self._cards[1]

    def card(self, name: str) -> ModelCard | None:
        """The card of this name among them."""
        return next((card for card in self.cards() if card.name == name), None)

    async def answer(self, request: GenerationRequest, caller: str) -> ModelAnswer:
        """Begin to answer a request, of the general tier, on the route that is best for it."""
        if self.card(request.model) is None:
            raise ModelNotFoundError(request.model, [card.name for card in self.cards()])
        refuse_raw(request, "the routed model")
        asked = await asyncio.to_thread(_needs, request)
        began = await self.begin(asked, lambda attempt: _planned(request, attempt), request.model)
        one = began.attempt.deployment
        headers = {
            "x-innkeeper-route": one.name,
            "x-innkeeper-route-trace": began.trace.header(one.name),
            "x-innkeeper-body-sha256": began.sent.sha256,
        }
        facts = {"route": one.name, "provider": one.route.provider, "model": one.route.model}
        return ModelAnswer(began.events, headers, began.sent.notes, began.sent, facts)

    async def count_tokens(self, request: GenerationRequest, caller: str) -> int:
        """Return the tokens of a request, estimated: which model will read them is decided when it is sent."""
        return await asyncio.to_thread(request_tokens, request)

    async def embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """None: vectors of one model are no use beside those of another."""
        raise EmbeddingsError("embeddings are made by a model that is named", where=Where(path="model"))

    async def close(self) -> None:
        """The routes are for whoever made them to close."""

    # ---------------------------------------------------------------------------------------------- for its own answers

    def over(self, running: _RunningAttempt, error: BaseException | None) -> None:
        """Record how an attempt ended."""
        attempts, attempt, now, sha256 = running.attempts, running.attempt, self._clock(), running.sha256
        if error is None:
            attempts.done(attempt, now, body_sha256=sha256, cost=_cost(attempt.deployment, running.usage))
            return
        stopped = isinstance(error, (asyncio.CancelledError, GeneratorExit))
        failure = Failure.CANCELLED if stopped else failure_of(error)
        kind = error.kind if isinstance(error, InnkeeperError) else type(error).__name__
        attempts.failed(
            attempt, failure, now, error=kind, asked=retry_after(error), body_sha256=sha256, reached=running.reached
        )
        if failure is Failure.TAMPERED:
            self._tampered(attempt.deployment)


class _RunningAttempt:
    """One attempt under way."""

    def __init__(self, models: RoutedModels, attempts: RouteAttempts, attempt: Attempt) -> None:
        self.attempts, self.attempt = attempts, attempt
        self.sent: ModelRequest = _NOTHING
        self.events: AsyncGenerator[ModelEvent] | None = None
        self.passed_on = False
        self.usage: Usage | None = None
        self._models = models
        self._first: list[ModelEvent] = []
        self._ended = False

    @property
    def sha256(self) -> str:
        """The hash of what was sent; empty where nothing was."""
        return "" if self.sent is _NOTHING else self.sent.sha256

    @property
    def reached(self) -> Reached:
        """How far it has come."""
        if self.events is None:
            return "planned"
        return "passed_on" if self.passed_on else "answering" if self._first else "sent"

    async def begin(self) -> None:
        """Wait for the first event that says something."""
        assert self.events is not None  # noqa: S101 - set by whoever begins
        async for event in self.events:
            self._first.append(event)
            if not isinstance(event, (Started, UsageReport)):
                return

    async def rest(self) -> AsyncGenerator[ModelEvent]:
        """All events; how it ends is told. The first is for whoever makes it: one that has begun notices that it is closed."""
        assert self.events is not None  # noqa: S101 - as above
        try:
            yield Started()
            self.passed_on = True
            for event in self._first:
                yield self._seen(event)
            async for event in self.events:
                yield self._seen(event)
        except BaseException as error:
            await self.fail(error)
            raise
        self._models.over(self, None)

    def _seen(self, event: ModelEvent) -> ModelEvent:
        if isinstance(event, UsageReport):
            self.usage = (self.usage or Usage()).updated(event.usage)
        return event

    async def fail(self, error: BaseException) -> None:
        """It came to nothing, or was stopped."""
        if not self._ended:
            self._ended = True
            self._models.over(self, error)
        if self.events is not None:
            with suppress(Exception):
                await self.events.aclose()


_NOTHING: Final = ModelRequest(model="", content=b"")


def _checked(events: AsyncGenerator[ModelEvent], attempt: Attempt, sent: ModelRequest) -> AsyncGenerator[ModelEvent]:
    """The events; of a worker only what repeats the hash of what it was sent."""
    if not attempt.deployment.worker:
        return events
    body = sent.body
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(messages, list):
        raise UsageError("a worker is sent messages", where=Where(path="messages"))
    return vouched(events, messages_sha256(messages))


def _cards(deployments: Iterable[Deployment]) -> tuple[ModelCard, ...]:
    chats = [one for one in deployments if one.modality == "chat" and one.active]
    tasks = sorted({task for one in chats for task in one.tasks})
    names = [AUTO, *(f"{AUTO}:{task}" for task in tasks)] if chats else []
    return tuple([ModelCard(name, "innkeeper", kind="route") for name in names])


def _cost(one: Deployment, usage: Usage | None) -> float | None:
    known = None if usage is None else usage.whole()
    return None if one.price is None or known is None else one.price.of_usage(known)


def _pricing(one: Deployment, attempts: RouteAttempts, name: str) -> Pricing:
    request = attempts.request
    estimate = Usage(input_tokens=request.input_tokens, output_tokens=request.output_tokens)
    return Pricing(name or one.name, one.name, None if one.price is None else one.price.of_usage, estimate)


def _needs(request: GenerationRequest) -> RouteRequest:
    """What a request needs: room for its texts and its answer, and tools or eyes where it has use for them."""
    texts = "\n".join(message.content for message in request.messages)
    written = request.options.get("max_tokens")
    needs = {"tools"} if request.tools else set()
    needs |= {"vision" for message in request.messages for one in message.attachments if one.kind == "image"}
    return RouteRequest(
        task=request.model.partition(":")[2],
        needs=frozenset(needs),
        input_tokens=default_counter().count(texts, None),
        output_tokens=written if isinstance(written, int) else 0,
    )


def _planned(request: GenerationRequest, attempt: Attempt) -> ModelRequest:
    route = attempt.deployment.route
    return provider_request(request, route, ADAPTERS[route.adapter])
