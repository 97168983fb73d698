"""Tasks behind the guard with a fake provider in their catalogue, and a client of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware

from innkeeper.inference.fake import EchoServer
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.service.guard.guard import Guard
from innkeeper.service.guard.work import Gate
from innkeeper.service.operations.surfaces import LibrarySurfaces
from innkeeper.service.settings import Settings

__all__ = ["Ask", "entered", "served"]

Ask = Callable[[httpx.AsyncClient], Awaitable[Any]]


def entered(path: Path, server: EchoServer, models: Iterable[Mapping[str, Any]] = ({},)) -> Path:
    """A database whose catalogue has models at a fake provider."""
    with Database.open(path) as db:
        owner = ProviderStore(db).put({"name": "elsewhere", "base_url": server.base_url})
        for number, model in enumerate(models):
            known: dict[str, Any] = {
                "model_key": f"big-{number}",
                "provider_id": owner.id,
                "modality": "chat",
                "tasks": ["roleplay", "enhancement", "reasoning"],
                "pricing": {"input": 1.0, "output": 2.0},
                "priority": number,
            }
            ModelStore(db).put({**known, **model})
    return path


def served(path: Path, ask: Ask, **settings: Any) -> Any:
    """What a function gives that asks tasks and jobs over this database, behind the guard; no process is begun for it."""
    checked = Settings(database=str(path), grpc_port=None, **settings).checked()
    kept = LibrarySurfaces(checked, RouteModels(Routes()))
    gate = Gate(calls=checked.max_calls, volume=checked.max_bodies, keys=checked.keys)
    app = Starlette(routes=kept.routes(), middleware=[Middleware(Guard, settings=checked, gate=gate)])

    async def run() -> Any:
        transport = httpx.ASGITransport(app=app)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60)
        async with kept.served(), client:
            return await ask(client)

    return asyncio.run(run())
