"""LibrarySurfaces: the surfaces that one library is behind: workers and the router, jobs, tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

from starlette.routing import BaseRoute

from innkeeper.gate.gate import TierGate, default_gate
from innkeeper.gate.second_reader import SecondReader
from innkeeper.inference.local.shared import LocalModels
from innkeeper.inference.routing.models import Models, RouteModels
from innkeeper.inference.routing.router import Router
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.typed.once import once
from innkeeper.service.door_gate import DoorGate
from innkeeper.service.openapi.document import Description
from innkeeper.service.operations.http import described
from innkeeper.service.operations.jobs import JobSurface
from innkeeper.service.operations.library import SharedLibrary
from innkeeper.service.operations.paths import JOBS, WORKERS
from innkeeper.service.operations.tasks import TaskSurface
from innkeeper.service.settings import Settings
from innkeeper.service.workers.surface import WorkerSurface


class LibrarySurfaces:
    """The routes, and ``models``: those that are given, with those of the router beside them.

    Args:
        settings: whose database it is, and what callers may do.
        models: what answers otherwise.
        local: the models that run beside this process, where ``models`` uses them, too.
        routes: those among which the second reader of the gate is.
    """

    def __init__(
        self, settings: Settings, models: Models, local: LocalModels | None = None, routes: Models | None = None
    ) -> None:
        self.library, self._settings = SharedLibrary(settings), settings
        self._routes, self._reader = routes, once(self._open_reader)
        self._workers = WorkerSurface(settings, models, local, self.library)
        self._jobs = JobSurface(settings, self.library)
        self._tasks = TaskSurface(settings, self.library, self._workers.routing, self._jobs.jobs, models)
        self.models = self._workers.models
        plain = settings.database is None and not settings.second_reader
        self.gate = DoorGate(settings.gate) if plain else DoorGate(settings.gate, self._operator_gate)

    @property
    def router(self) -> Router:
        """What chooses among the library's models and the workers."""
        return self._workers.routing.router

    def _operator_gate(self) -> TierGate:
        """The operator's gate: that of the library's rules where the settings name its database, else the packaged one."""
        gate = default_gate() if self._settings.database is None else self.library.get().rules.gate
        reader = self._reader()
        return gate if reader is None else replace(gate, reader=reader, always=self._settings.reads_always)

    def _open_reader(self) -> SecondReader | None:
        """The moderation model of the settings. Raises `ConfigError`, `ModelNotFoundError`."""
        route, _, kind = self._settings.second_reader.partition(":")
        if not route:
            return None
        if not isinstance(self._routes, RouteModels):
            raise ConfigError("a second reader wants routes", hint="pass models=RouteModels(...), or none")
        return self._routes.reader(route, kind or "schema")

    def descriptions(self) -> Iterator[Description]:
        """What the OpenAPI document says of them: made when it is asked for."""
        yield described(WORKERS)
        yield described(JOBS)
        yield from self._tasks.descriptions()

    def routes(self) -> list[BaseRoute]:
        """The routes."""
        return [*self._workers.routes(), *self._jobs.routes(), *self._tasks.routes()]

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Know where requests go, and carry out jobs, while the service runs; the library is given back at the end."""
        try:
            async with self._workers.followed(), self._jobs.served():
                yield
        finally:
            await asyncio.to_thread(self.library.close)
