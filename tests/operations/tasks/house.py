"""A library, a router and a fake provider: what tasks are tried with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from innkeeper.gate.tier import Tier
from innkeeper.inference.fake import EchoServer
from innkeeper.inference.routing.deployment import Deployment, with_embedded
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.inference.routing.routed import RoutedModels
from innkeeper.inference.routing.router import Router
from innkeeper.library.catalogue.deployments import model_deployments
from innkeeper.library.library import Library
from innkeeper.operations.tasks.execution import TextTasks

__all__ = ["deployment", "library_at", "run"]

TASKS = frozenset({"enhancement", "roleplay", "reasoning"})


def deployment(server: EchoServer, name: str = "there/big", **fields: Any) -> Deployment:
    """A deployment at a fake provider."""
    model = name.partition("/")[2] or name
    known: dict[str, Any] = {"tasks": TASKS, "price": Price(input=1.0, output=2.0), "tier": Tier.SFW, **fields}
    return Deployment(
        name=name, route=Route(name=name, model=model, base_url=server.base_url, provider="there"), **known
    )


@contextmanager
def library_at(path: Path, **options: Any) -> Any:
    """An open library that follows nothing."""
    with Library.open(path, watch=False, **options) as library:
        yield library


def run(library: Library, use: Callable[[TextTasks], Awaitable[Any]], *deployments: Deployment, **policies: Any) -> Any:
    """What a function gives that has tasks over these deployments; those of the catalogue where none are given."""

    async def go() -> Any:
        known = list(deployments) or with_embedded(model_deployments(library.catalogue))
        routes = RouteModels(Routes())
        try:
            return await use(TextTasks(library, RoutedModels(Router(known, **policies), routes)))
        finally:
            await routes.close()

    return asyncio.run(go())
