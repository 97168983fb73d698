"""An application with a fake provider in its catalogue, and a client of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

from innkeeper.inference.fake import EchoServer
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.service import Settings, create_app

__all__ = ["Ask", "entered", "served"]

Ask = Callable[[httpx.AsyncClient], Awaitable[Any]]


def entered(path: Path, server: EchoServer, models: Iterable[Mapping[str, Any]] = ({},)) -> Path:
    """A database whose catalogue has models at a fake provider."""
    with Database.open(path) as db:
        owner = ProviderStore(db).put({"name": "elsewhere", "base_url": server.base_url})
        for number, model in enumerate(models):
            known: dict[str, Any] = {
                "model_key": f"big-{number}",
                "provider_id": owner["id"],
                "modality": "chat",
                "tasks": ["roleplay", "enhancement", "reasoning"],
                "pricing": {"input": 1.0, "output": 2.0},
                "priority": number,
            }
            ModelStore(db).put({**known, **model})
    return path


def served(path: Path, ask: Ask, **settings: Any) -> Any:
    """What a function gives that asks an application over this database."""
    checked = Settings(database=str(path), grpc_port=None, **settings)

    async def run() -> Any:
        app = create_app(checked)
        transport = httpx.ASGITransport(app=app)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60)
        async with app.router.lifespan_context(app), client:
            return await ask(client)

    return asyncio.run(run())
