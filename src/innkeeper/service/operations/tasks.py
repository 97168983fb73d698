"""TaskSurface: what carries tasks out in a service, opened with the first call, and the routes of all tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from innkeeper.inference.routing.models import Models
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.openapi.document import Description
from innkeeper.service.operations.http import described, routes
from innkeeper.service.operations.library import SharedLibrary
from innkeeper.service.operations.paths import SCENES, STORED, TASKS
from innkeeper.service.operations.scope import Resources
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.library.library import Library
    from innkeeper.operations.tasks.execution import TextTasks
    from innkeeper.service.workers.routing import LibraryRouting


class TaskSurface:
    """Tasks of one application. Whoever made library and routing closes them.

    Args:
        settings: what callers may do.
        library: what decides.
        routing: where requests go.
        media: the jobs that make pictures.
        models: what else answers, profiles among it.
    """

    def __init__(
        self,
        settings: Settings,
        library: SharedLibrary,
        routing: LibraryRouting,
        media: Callable[[], MediaJobs],
        models: Models | None = None,
    ) -> None:
        self.settings, self.library, self.routing, self.media = settings, library, routing, media
        self.models = models
        self._tasks: TextTasks | None = None
        self._opening = asyncio.Lock()

    async def tasks(self) -> TextTasks:
        """What carries tasks out. Raises `UnavailableError` without the extra ``library``."""
        if self._tasks is None:
            async with self._opening:
                if self._tasks is None:
                    library = await asyncio.to_thread(_opened, self.library)
                    await self.routing.ready()
                    from innkeeper.operations.tasks.execution import TextTasks

                    self._tasks = TextTasks(library, self.routing.routed)
        return self._tasks

    def descriptions(self) -> Iterator[Description]:
        """What the OpenAPI document says of it."""
        yield described((*TASKS, *STORED, *SCENES))

    def routes(self) -> list[BaseRoute]:
        """The routes."""
        return routes((*TASKS, *STORED, *SCENES), Resources(self.tasks, self.media, models=self.models))


def _opened(shared: SharedLibrary) -> Library:
    """The library, with what its first request would make all others wait for: word lists, tokenizers, templates."""
    from innkeeper.library.prepare.request import PrepareRequest

    library = shared.get()
    with suppress(InnkeeperError):
        prepared = library.prepare(
            PrepareRequest(use_case="enhancement", text="a fox", job_type="image", target_model="sdxl"), log=False
        )
        library.check_output(prepared, "a red fox")
    return library
