"""What carries tasks out in a service: opened with the first call, once for all, and ready for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from innkeeper.inference.fake import EchoServer
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.service.operations.surfaces import LibrarySurfaces
from innkeeper.service.operations.tasks import TaskSurface
from innkeeper.service.settings import Settings
from innkeeper.service.workers.routing import LibraryRouting
from tests.service.tasks.served import entered


def test_opened_once(tmp_path: Path) -> None:
    """All who come first get the same; nothing is opened before, and nothing written to the log by getting ready."""

    async def use() -> None:
        kept = LibrarySurfaces(settings, RouteModels(Routes()))
        async with kept.served():
            routing = LibraryRouting(settings, library=kept.library)
            async with routing.followed():
                media: Any = None
                surface = TaskSurface(settings, kept.library, routing, media)
                opened = await asyncio.gather(*(surface.tasks() for _ in range(5)))
                assert len({id(tasks) for tasks in opened}) == 1
                library = opened[0].library
                assert library is kept.library.get()
                assert library.log.figures().written == 0
                assert [one.name for one in routing.router.deployments] == ["elsewhere/big-0"]
            await routing.close()

    with EchoServer() as server:
        settings = Settings(database=str(entered(tmp_path / "library.db", server)))
        asyncio.run(use())
