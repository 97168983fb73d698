"""Workers in a service: where they enrol, and the router that sends requests to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec

from starlette.routing import BaseRoute

from innkeeper.inference.local.shared import LocalModels
from innkeeper.inference.routing.models import AnyOf, Models
from innkeeper.operations.workers import WorkerRegistry
from innkeeper.prompt.errors import UnavailableError
from innkeeper.service.operations.http import routes
from innkeeper.service.operations.library import SharedLibrary
from innkeeper.service.operations.paths import WORKERS
from innkeeper.service.operations.scope import Resources
from innkeeper.service.settings import Settings
from innkeeper.service.workers.routing import LibraryRouting


def worker_registry(settings: Settings, library: SharedLibrary) -> WorkerRegistry:
    """The workers of the database that the settings name. Raises `UnavailableError` where they name none."""
    if find_spec("sqlalchemy") is None or settings.database is None:
        hint = "start the service with --database"
        raise UnavailableError("workers are kept in a library's database, and this service has none", hint=hint)
    from innkeeper.library.workers.store import WorkerStore

    return WorkerRegistry(WorkerStore(library.get().db), settings.egress.allowed)


class WorkerSurface:
    """The routes, and ``models``: those that are given, with those of the router beside them.

    Args:
        settings: whose database it is, and which hosts the operator allows.
        models: what answers otherwise.
        local: the models that run beside this process, where ``models`` uses them, too.
        library: the library of the application, where others use it, too.
    """

    def __init__(
        self, settings: Settings, models: Models, local: LocalModels | None = None, library: SharedLibrary | None = None
    ) -> None:
        self.routing = LibraryRouting(settings, local, library)
        self.models: Models = models if settings.database is None else AnyOf(models, self.routing)
        self._settings = settings

    def routes(self) -> list[BaseRoute]:
        """The routes."""
        return routes(WORKERS, Resources(workers=partial(worker_registry, self._settings, self.routing.library)))

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Know what there is while the service runs."""
        try:
            async with self.routing.followed():
                yield
        finally:
            await self.routing.close()
