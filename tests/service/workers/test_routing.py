"""The router of a service: what its database says of models and workers, without asking any of them before a request does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.fake import EchoServer
from innkeeper.inference.requests.chat import read_chat
from innkeeper.inference.requests.worker_protocol import messages_sha256
from innkeeper.inference.response.fold import response_of
from innkeeper.inference.routing.models import EmbeddingsError
from innkeeper.inference.routing.router import RouteRequest
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import ModelStore, ProviderStore, RoutePolicyStore
from innkeeper.library.workers.states import WorkerState
from innkeeper.library.workers.store import WorkerReport, WorkerStore
from innkeeper.service.guard.grants import Keys
from innkeeper.service.settings import Settings
from innkeeper.service.workers.routing import LibraryRouting
from innkeeper.service.workers.surface import WorkerSurface

HELLO = [{"role": "user", "content": "Hello"}]
REPORT = WorkerReport(WorkerState.READY, {"chat": True, "models": [{"key": "qwen"}]})
Use = Callable[[LibraryRouting], Coroutine[Any, Any, Any]]


def honest(request: dict[str, Any]) -> dict[str, Any]:
    """A worker's answer."""
    return {"output": "A worker.", "finish_reason": "stop", "prompt_sha256": messages_sha256(request["messages"])}


def lying(request: dict[str, Any]) -> dict[str, Any]:
    """The answer of one that has executed something else."""
    return {
        **honest(request),
        "prompt_sha256": messages_sha256([{"role": "system", "content": "Be rude."}, *request["messages"]]),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a provider and a policy."""
    path = tmp_path / "library.db"
    with Database.open(path) as db:
        RoutePolicyStore(db).put({"name": "default", "criteria": ["priority"], "attempts": 2})
    return path


def enter(path: Path, worker: EchoServer, provider: EchoServer, hosts: tuple[str, ...] = ("127.0.0.1",)) -> str:
    """Enter a worker, which is tried first, and a model at a provider; the worker's id."""
    with Database.open(path) as db:
        owner = ProviderStore(db).put({"name": "elsewhere", "base_url": provider.base_url})
        ModelStore(db).put(
            {"model_key": "big", "provider_id": owner.id, "modality": "chat", "tasks": ["roleplay"], "priority": 5}
        )
        store = WorkerStore(db)
        return store.enrol(store.invite(hosts=hosts), worker.base_url, REPORT).id


def routed(path: Path, use: Use, **options: Any) -> Any:
    """What a function gives that uses the router of this database."""

    async def run() -> Any:
        routing = LibraryRouting(Settings(database=str(path), **options))
        try:
            async with routing.followed():
                return await use(routing)
        finally:
            await routing.close()

    return asyncio.run(run())


async def say(routing: LibraryRouting) -> tuple[str, str]:
    """Who answers `auto`, and what."""
    answer = await routing.answer(read_chat({"model": "auto:roleplay", "messages": HELLO}), "")
    events = [event async for event in answer.events]
    return answer.asked["route"], response_of(events, response_id="r", model="m", created=0).text


def test_a_worker_first(path: Path) -> None:
    """A request goes to the worker with the best priority, with the key that it derives; without a probe before."""
    with EchoServer(honest) as worker, EchoServer("A provider.") as provider:
        name = enter(path, worker, provider)
        assert routed(path, say) == (f"worker:{name}/qwen", "A worker.")
        assert [(one.method, one.path) for one in worker.requests] == [("POST", "/chat")]
        with Database.open(path) as db:
            key = WorkerStore(db).call_key(name)
        assert worker.requests[0].headers["authorization"] == f"Bearer {key}"
        assert worker.requests[0].body == {"model": "qwen", "messages": HELLO}


def test_a_liar_is_quarantined(path: Path) -> None:
    """The answer of a worker that executed something else is thrown away, and it gets nothing more, from any service."""

    async def use(routing: LibraryRouting) -> tuple[str, str]:
        said = await say(routing)
        assert await say(routing) == said
        return said

    with EchoServer(lying) as worker, EchoServer("A provider.", "A provider.") as provider:
        name = enter(path, worker, provider)
        assert routed(path, use) == ("elsewhere/big", "A provider.")
        assert len(worker.requests) == 1
    with Database.open(path) as db:
        assert WorkerStore(db).get(name).state == "quarantined"


def test_an_address_that_was_not_allowed(path: Path) -> None:
    """A worker whose row names an address beyond its invitation is not called, and the request goes elsewhere."""

    async def use(routing: LibraryRouting) -> str:
        assert routing.router.explain(RouteRequest(task="roleplay"), 0.0)[0].provider == "worker"
        return (await say(routing))[0]

    with EchoServer(honest) as worker, EchoServer("A provider.") as provider:
        enter(path, worker, provider, hosts=())
        assert routed(path, use, keys=Keys("k")) == "elsewhere/big"
        assert not worker.requests


def test_leases_run_out(path: Path) -> None:
    """A lease that nobody renews ends by itself, whatever else is read."""

    async def use(routing: LibraryRouting) -> list[str]:
        (worker,) = [one for one in routing.router.deployments if one.worker]
        assert worker.lease_until is not None
        found = routing.router.explain(RouteRequest(task="roleplay"), worker.lease_until + 1)
        return [one.refused for one in found]

    with EchoServer() as worker, EchoServer() as provider:
        enter(path, worker, provider)
        assert routed(path, use) == ["", "lease_over"]


def test_without_a_database() -> None:
    """Without a database there is no router among the models."""

    class Nothing:
        def cards(self) -> tuple[Any, ...]:
            return ()

    models: Any = Nothing()
    surface = WorkerSurface(Settings(), models)
    assert surface.models is models
    assert surface.routing.cards() == ()

    async def use() -> None:
        async with surface.followed():
            with pytest.raises(EmbeddingsError):
                await surface.routing.embeddings({"model": "auto"})
        await surface.routing.close()

    asyncio.run(use())
