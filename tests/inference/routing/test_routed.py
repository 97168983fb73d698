"""Requests on routes that a router chooses: every fault of a provider or a worker has one outcome, and the trace tells it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.gate.tier import Tier
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.fake import EchoServer, FakeReply, Fault
from innkeeper.inference.requests.chat import read_chat
from innkeeper.inference.requests.worker_protocol import messages_sha256
from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.response.fold import response_of
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.models import EmbeddingsError, ModelNotFoundError, RouteModels
from innkeeper.inference.routing.policy import RoutePolicy
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.inference.routing.routed import RoutedModels
from innkeeper.inference.routing.router import Attempt, NoRouteError, Router, RouteRequest
from innkeeper.prompt.errors import InnkeeperError

MESSAGES = [{"role": "user", "content": "Hello"}]
REFUSAL = FakeReply(content=None, extra={"refusal": "I cannot help with that."})
Plan = Callable[[Attempt], ModelRequest]


def worker_reply(**change: Any) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """What a worker answers, and what of it is not as it should be."""

    def reply(request: Mapping[str, Any]) -> dict[str, Any]:
        facts = {"output": "A worker.", "finish_reason": "stop", "prompt_sha256": messages_sha256(request["messages"])}
        usage = {"prompt_tokens": 1, "completion_tokens": 2}
        return {name: value for name, value in {**facts, "usage": usage, **change}.items() if value is not None}

    return reply


@dataclass
class Two:
    """Two providers, of which the first is asked first, and what was heard of workers that tampered."""

    first: EchoServer
    second: EchoServer
    router: Router
    models: RoutedModels
    routes: RouteModels
    tampered: list[str]

    async def ask(self, plan: Plan | None = None, **request: Any) -> tuple[list[ModelEvent], Any]:
        """The events, and the trace."""
        try:
            began = await self.models.begin(RouteRequest(**request), plan or planned)
            return [event async for event in began.events], began.trace
        finally:
            await self.routes.close()

    def run(self, plan: Plan | None = None, **request: Any) -> tuple[str, Any]:
        """The text, and the trace."""
        events, trace = asyncio.run(self.ask(plan, **request))
        response = response_of(events, response_id="r", model="m", created=0)
        return response.text or response.refusal, trace


def planned(attempt: Attempt) -> ModelRequest:
    """One message, in the words of the deployment, and for which it was made."""
    route = attempt.deployment.route
    return ModelRequest.of(
        ADAPTERS[route.adapter], {"model": route.model, "messages": MESSAGES}, stream=attempt.number == 0
    )


Make = Callable[..., Two]


@pytest.fixture
def two() -> Iterator[Make]:
    """Makes two providers from what each answers."""
    with ExitStack() as stack:

        def make(first: Any, second: Any = "The second.", worker: bool = False, **policy: Any) -> Two:
            servers = [stack.enter_context(EchoServer(*[answer] * 4)) for answer in (first, second)]
            deployments = [
                Deployment(
                    name=name,
                    route=Route(
                        name=name,
                        model=f"m-{name}",
                        base_url=server.base_url,
                        provider="own",
                        adapter="worker" if worker and name == "first" else "openai-chat",
                    ),
                    priority=priority,
                    tier=Tier.NSFW,
                    worker="w1" if worker and name == "first" else "",
                )
                for priority, (name, server) in enumerate(zip(("first", "second"), servers, strict=True))
            ]
            router = Router(deployments, [RoutePolicy(criteria=("priority",), **policy)])
            routes, tampered = RouteModels(Routes()), list[str]()
            models = RoutedModels(router, routes, tampered=lambda one: tampered.append(one.worker))
            return Two(servers[0], servers[1], router, models, routes, tampered)

        yield make


@dataclass
class Outcome:
    """A fault of the first provider, and what comes of it: who answers, and what is said of the first."""

    id: str
    fault: Any
    outcome: str
    answer: str | None = "The second."
    closed: str | None = None
    worker: bool = False


FAULTS = [
    Outcome("answers", "The first.", "answered", "The first."),
    Outcome("refuses the connection", Fault.refuse(), "cut_stream"),
    Outcome("stalls", Fault.stall(0), "timeout"),
    Outcome("dies within the answer", Fault.cut(20), "cut_stream"),
    Outcome("is no provider", Fault.html(), "bad_answer"),
    Outcome("is overloaded", Fault.status(503), "unavailable"),
    Outcome("limits the rate", Fault.status(429, retry_after=7), "rate_limited", closed="cooldown"),
    Outcome("does not know the model", Fault.status(404), "not_found", closed="cooldown"),
    Outcome("has no credit", Fault.status(402), "quota", closed="cooldown"),
    Outcome("refuses the key", Fault.status(401), "auth", None, "cooldown"),
    Outcome("cannot read the request", Fault.status(422), "invalid_request", None),
    Outcome("refuses by its policy", Fault.status(400, "Your content policy ..."), "policy_refusal", None),
    Outcome("has a model that refuses", REFUSAL, "answered", "I cannot help with that."),
    Outcome("worker answers", worker_reply(), "answered", "A worker.", worker=True),
    Outcome("worker, wrong hash", worker_reply(prompt_sha256="0" * 64), "tampered", closed="quarantined", worker=True),
    Outcome("worker, no hash", worker_reply(prompt_sha256=None), "tampered", closed="quarantined", worker=True),
    Outcome("worker of another kind", "An OpenAI answer.", "bad_answer", worker=True),
    Outcome("worker dies", Fault.cut(20, worker_reply()), "cut_stream", worker=True),
    Outcome("worker refuses", worker_reply(output="No.", finish_reason="refusal"), "answered", "No.", worker=True),
]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.id)
def test_faults(two: Make, case: Outcome) -> None:
    """One outcome for each fault: who answers, what the trace says, and whether the first is asked again."""
    pair = two(case.fault, worker=case.worker, first_seconds=0.4 if case.outcome == "timeout" else 30)
    if case.answer is None:
        with pytest.raises(InnkeeperError) as caught:
            pair.run()
        steps = caught.value.details["route_trace"]["steps"]
        assert [step["outcome"] for step in steps] == [case.outcome]
        assert not pair.second.requests
    else:
        text, trace = pair.run()
        assert text == case.answer
        last = ["answered"] if case.outcome != "answered" else []
        assert [step.outcome for step in trace.steps] == [case.outcome, *last]
        assert trace.ended == "answered"
        assert all(step.body_sha256 for step in trace.steps)
        assert trace.degraded == (("fallback",) if last else ())
    assert pair.router.health("first").closed_to(0.0) == case.closed
    assert pair.tampered == (["w1"] if case.closed == "quarantined" else [])
    assert all(one.busy == 0 for one in pair.router.explain(RouteRequest(), 0.0))


def test_each_attempt_is_planned_anew(two: Make) -> None:
    """What goes to the second was written for it: its model, and never the body that the first got."""
    pair = two(Fault.status(503))
    seen: list[Attempt] = []

    def plan(attempt: Attempt) -> ModelRequest:
        seen.append(attempt)
        return planned(attempt)

    _, trace = pair.run(plan, tier=Tier.NSFW)
    assert [attempt.deployment.name for attempt in seen] == ["first", "second"]
    assert pair.second.requests[-1].body["model"] == "m-second"
    assert trace.steps[0].body_sha256 != trace.steps[1].body_sha256
    assert [step.tier for step in trace.steps] == [Tier.NSFW, Tier.NSFW]


def test_a_stream_that_breaks_is_not_begun_again(two: Make) -> None:
    """After the first words a failure is raised, and no other route is asked: an answer is never glued together."""
    pair = two(Fault.cut(400, "One two three four five."))

    async def read(began: Any, texts: list[str]) -> None:
        async for event in began.events:
            texts += [str(getattr(event, "text", ""))]

    async def ask() -> list[str]:
        texts: list[str] = []
        try:
            began = await pair.models.begin(RouteRequest(), lambda it: msg(it, stream=True))
            with pytest.raises(InnkeeperError):
                await read(began, texts)
            assert began.trace.ended == "cut_stream"
        finally:
            await pair.routes.close()
        return texts

    assert any(asyncio.run(ask()))
    assert not pair.second.requests


def msg(attempt: Attempt, *, stream: bool) -> ModelRequest:
    """One message, as a stream or whole."""
    route = attempt.deployment.route
    return ModelRequest.of(ADAPTERS[route.adapter], {"model": route.model, "messages": MESSAGES}, stream=stream)


def test_nobody_waits_any_more(two: Make) -> None:
    """An answer that is closed before it was read gives its place back, and punishes nobody."""
    pair = two("The first.")

    async def ask() -> Any:
        began = await pair.models.begin(RouteRequest(), planned)
        await began.events.aclose()
        await pair.routes.close()
        return began.trace

    assert asyncio.run(ask()).ended == "cancelled"
    assert pair.router.explain(RouteRequest(), 0.0)[0].busy == 0
    assert pair.router.health("first").failures == 0


def test_nowhere(two: Make) -> None:
    """Where no deployment suits, that is said, with the reasons."""
    pair = two("The first.")
    with pytest.raises(NoRouteError) as caught:
        pair.run(task="roleplay")
    assert caught.value.details["skipped"] == {"task": 2}
    assert caught.value.http_status == 503


def test_as_a_model(two: Make) -> None:
    """`auto` is a model like others: of the route that it chose it tells the name, and what was sent."""
    pair = two("The first.")
    assert [card.name for card in pair.models.cards()] == ["auto"]
    request = read_chat({"model": "auto", "messages": MESSAGES, "max_tokens": 9})

    async def ask() -> Any:
        answer = await pair.models.answer(request, "")
        events = [event async for event in answer.events]
        with pytest.raises(ModelNotFoundError):
            await pair.models.answer(read_chat({"model": "auto:song", "messages": MESSAGES}), "")
        with pytest.raises(EmbeddingsError):
            await pair.models.embeddings({"model": "auto"})
        await pair.routes.close()
        await pair.models.close()
        return answer, events

    answer, events = asyncio.run(ask())
    assert answer.headers["x-innkeeper-route"] == "first"
    trace = json.loads(answer.headers["x-innkeeper-route-trace"])
    assert trace == [{"deployment": "first", "outcome": "answering"}]
    assert answer.asked == {"route": "first", "provider": "own", "model": "m-first"}
    assert response_of(events, response_id="r", model="m", created=0).text == "The first."
    assert json.loads(answer.sent.content)["model"] == "m-first"
