"""Every provider at every door: terminal, runner, service, page; with retries, fallback, cancel and deadlines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

from innkeeper.inference import EchoServer, Fault, PromptRunner, Retries, RouteClient, RunnerConfig, cancelled_by
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client import model_clients
from innkeeper.inference.client.model_clients import client_options
from innkeeper.inference.errors import ProviderTimeoutError, RequestCancelledError
from innkeeper.inference.local.model import LocalModel
from innkeeper.inference.response.fold import response_of
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.inference.routing.routed import RoutedModels
from innkeeper.inference.routing.router import Router, RouteRequest
from innkeeper.service import Settings, create_app
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.server import entrance
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.inspector.talking import InspectorTalk
from tests.cli.running import Run, runner
from tests.inference.adapters.answers import Said
from tests.inference.client.test_route_client import Provider
from tests.inference.local.test_transport import FakeEngine, delta
from tests.service.inspector.opened import BASE, example_session
from tests.shared import ROOT

CARD = str(ROOT / "examples" / "wenna.png")
TEXT = "The reef is safe."
SAID = Said(text=("The reef ", "is safe."))
QUICK = Retries(chance=lambda: 0.0, first_wait=0.0)
REMOTE = ("anthropic", "gemini", "openai-responses", "openai", "openrouter")
LOCAL = "local"
remote = pytest.mark.parametrize("name", REMOTE)
STALL_SECONDS = 0.3


class World:
    """One provider, which every client of this process reaches, and the ways to ask it."""

    def __init__(self, name: str, run: Run, patch: pytest.MonkeyPatch) -> None:
        self.name, self.run = name, run
        self.model = LOCAL if name == LOCAL else f"{name}:big"
        self.route = Route.of("r", self.model)
        # A provider that is busy at first; the model on this machine never is.
        self.provider = Provider("openai" if name == LOCAL else name, 503, SAID)
        if name == LOCAL:
            patch.setattr(LocalModel, "open", lambda *_, **__: self.open())
            return
        transport = httpx.MockTransport(self.provider._answer)
        patch.setattr(model_clients, "client_options", lambda given: {**client_options(given), "transport": transport})
        patch.setenv("INNKEEPER_API_KEY", "sk-lantern-0123456789")

    def open(self) -> LocalModel:
        """The model on this machine."""
        return LocalModel(FakeEngine([delta("The reef "), delta("is safe."), delta(None, "stop")]))

    def models(self) -> RouteModels:
        """The provider as the one route of a service."""
        return RouteModels(Routes.read((f"r={self.model}",)), retries=QUICK)


def ask(world: World) -> str:
    """``innkeeper ask``."""
    ran = world.run("ask", CARD, "Is the reef safe?", "--model", world.model)
    assert ran.code == 0, ran.err
    return ran.out.strip()


def chat(world: World) -> str:
    """``innkeeper chat``."""
    ran = world.run("chat", CARD, "--model", world.model, input="Is the reef safe?\n")
    assert ran.code == 0, ran.err
    return TEXT if TEXT in ran.out else ran.out


def prompt_runner(world: World) -> str:
    """A runner in a program."""
    transport: dict[str, Any] = {"transport": world.open().transport} if world.name == LOCAL else {}
    with RouteClient(world.route, retries=QUICK, **transport) as client:
        config = RunnerConfig.build(world.name, "big")
        made = PromptRunner(client).build_request(config, message="Is the reef safe?")
        return PromptRunner(client).perform(made).content


def service(world: World) -> str:
    """``POST /v1/chat/completions``."""
    app = create_app(Settings(grpc_port=None), models=world.models())
    body = {"model": "r", "messages": [{"role": "user", "content": "Is the reef safe?"}], "max_tokens": 99}
    reply = TestClient(app, base_url=BASE).post("/v1/chat/completions", json=body)  # no lifespan: it starts processes
    assert reply.status_code == 200, reply.text
    return str(reply.json()["choices"][0]["message"]["content"])


def page(world: World) -> str:
    """The inspector."""
    inspector = Inspector(example_session(), Access(), InspectorTalk(world.models(), "r"))
    app = create_app(Settings(grpc_port=None), inspector=inspector)
    client = TestClient(app, base_url=BASE, follow_redirects=False)
    client.get(entrance("", inspector.access))
    asked = {"message": "Is the reef safe?", "route": "r"}
    reply = client.post("/v1/inspector/talk", json=asked, headers={"origin": BASE})
    assert reply.status_code == 200, reply.text
    lines = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: ")]
    return "".join(json.loads(line).get("text") or "" for line in lines if '"delta"' in line or '"text"' in line)


DOORS: dict[str, Callable[[World], str]] = {
    "ask": ask,
    "chat": chat,
    "runner": prompt_runner,
    "service": service,
    "page": page,
}


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Makes a world with one provider."""
    return partial(World, run=runner(monkeypatch, capsys, tmp_path), patch=monkeypatch)


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("name", [*REMOTE, LOCAL])
def test_every_door(name: str, door: Callable[[World], str], make: Callable[[str], World]) -> None:
    """The answer is the provider's own, in its own protocol; one that is busy is asked again with the same bytes."""
    world = make(name)
    assert TEXT in door(world)
    sent = [(str(request.url), request.content) for request in world.provider.requests]
    assert len(sent) == (0 if name == LOCAL else 2)
    assert len(set(sent)) <= 1


@remote
def test_fallback(name: str) -> None:
    """Where a provider fails, another answers, whatever protocols the two speak."""
    broken, well = Provider(name, *[500] * 4), Provider("anthropic" if name == "openai" else "openai", SAID)

    def answer(request: httpx.Request) -> httpx.Response:
        provider = broken if request.url.host == "broken" else well
        return provider._answer(request)

    deployments = [
        Deployment(name=host, route=route_to(provider.route.provider, f"http://{host}"), priority=rank)
        for rank, (host, provider) in enumerate({"broken": broken, "well": well}.items())
    ]

    async def run() -> str:
        routes = RouteModels(Routes(), transport=httpx.MockTransport(answer))
        try:
            began = await RoutedModels(Router(deployments), routes).begin(RouteRequest(), planned)
            events = [event async for event in began.events]
        finally:
            await routes.close()
        assert [step.outcome for step in began.trace.steps] == ["unavailable", "answered"]
        return response_of(events, response_id="r", model="m", created=0).text

    assert asyncio.run(run()) == TEXT


def route_to(provider: str, address: str) -> Route:
    """A route to a provider at another address."""
    route = Route.of(address, f"{provider}:big")
    return msgspec.structs.replace(route, base_url=address)


def planned(attempt: Any) -> ModelRequest:
    """A message, in the words of the deployment that is asked."""
    route = attempt.deployment.route
    body = {"model": route.model, "messages": [{"role": "user", "content": "Is the reef safe?"}]}
    return ModelRequest.of(ADAPTERS[route.adapter], body, model=route.model, stream=True)


@remote
@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_stops(name: str, how: str) -> None:
    """A provider that says nothing is left when its caller is told to stop, and when its time is over."""
    times: dict[str, Any] = {"total_timeout": STALL_SECONDS} if how == "deadline" else {}
    expected = ProviderTimeoutError if how == "deadline" else RequestCancelledError
    with EchoServer(Fault.stall()) as server:
        stop = (lambda: bool(server.requests)) if how == "cancel" else None
        client = RouteClient(route_to(name, server.base_url), **times)
        with client, cancelled_by(stop), pytest.raises(expected):
            client.chat("big", [{"role": "user", "content": "Hello"}], stream=True, max_tokens=9)
