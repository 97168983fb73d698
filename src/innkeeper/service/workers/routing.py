"""LibraryRouting: the router of a service: over the models of its library and the workers that hold a lease.

What it knows is read every few seconds beside the requests, none of which waits for it or probes anything. Its models are called
``auto`` and ``auto:TASK``; without a database there are none. Where the catalogue has nothing for chats, the model that comes
with Innkeeper answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from innkeeper.inference.client.egress import Egress
from innkeeper.inference.local.shared import LocalModels
from innkeeper.inference.requests.request import GenerationRequest
from innkeeper.inference.routing.deployment import EMBEDDED, Deployment, with_embedded
from innkeeper.inference.routing.models import ModelAnswer, ModelCard, RouteModels
from innkeeper.inference.routing.policy import RoutePolicy
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.inference.routing.routed import RoutedModels
from innkeeper.inference.routing.router import Router
from innkeeper.library.catalogue.deployments import model_deployments, read_policies, worker_deployments
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.machine import Secret, fresh_seed
from innkeeper.service.operations.library import SharedLibrary
from innkeeper.service.settings import Settings
from innkeeper.service.web import repeat

if TYPE_CHECKING:
    from innkeeper.library.catalogue.catalogue import Catalogue
    from innkeeper.library.workers.store import WorkerStore


LOG: Final = logging.getLogger("innkeeper.service")

REFRESH_SECONDS: Final = 2.0
"""How old at most what is known of workers and policies may be."""

_WORKER: Final = "worker:"


class LibraryRouting:
    """`Models` behind a router. One instance belongs to one event loop.

    Args:
        settings: whose database it is, and which hosts the operator allows.
        local: the models that run beside this process, where others use them, too.
        library: the library of the application, where others use it, too: it is theirs to close then.
    """

    def __init__(
        self, settings: Settings, local: LocalModels | None = None, library: SharedLibrary | None = None
    ) -> None:
        self.router = Router(chance=lambda: fresh_seed() / 2**32)
        self._settings = settings
        self._hosts: dict[str, tuple[str, ...]] = {}
        self._own = SharedLibrary(settings) if library is None else None
        self.library = library or self._own or SharedLibrary(settings)
        self._opening = asyncio.Lock()
        self._following: asyncio.Future[None] | None = None
        self._catalogue: Catalogue | None = None
        self._models: list[Deployment] = []
        self._routed: tuple[list[Deployment], tuple[RoutePolicy, ...]] | None = None
        self._routes = RouteModels(Routes(), self._secret, local=local, egress=self._egress)
        self.routed = RoutedModels(self.router, self._routes, tampered=self._quarantine)

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Know what there is, and follow it; where no database was named, from the first call on that needs it."""
        if self._settings.database is not None and find_spec("sqlalchemy") is not None:
            await self.ready()
        try:
            yield
        finally:
            if (following := self._following) is not None:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following

    async def ready(self) -> None:
        """Know what there is, and follow it from now on."""
        if self._following is None:
            async with self._opening:
                if self._following is None:
                    await self.refresh()
                    self._following = asyncio.ensure_future(repeat(REFRESH_SECONDS, self.refresh))

    async def refresh(self) -> None:
        """Read what there is now. A database that fails leaves what is known: leases run out by themselves."""
        try:
            await asyncio.to_thread(self._read)
        except InnkeeperError as error:
            LOG.warning("routes are as they were: %s", error.kind)
            if self._routed is None:
                self.router.update([EMBEDDED])

    def cards(self) -> tuple[ModelCard, ...]:
        """See `RoutedModels.cards`."""
        return self.routed.cards()

    def card(self, name: str) -> ModelCard | None:
        """See `RoutedModels.card`."""
        return self.routed.card(name)

    async def answer(self, request: GenerationRequest, caller: str) -> ModelAnswer:
        """See `RoutedModels.answer`."""
        return await self.routed.answer(request, caller)

    async def count_tokens(self, request: GenerationRequest, caller: str) -> int:
        """See `RoutedModels.count_tokens`."""
        return await self.routed.count_tokens(request, caller)

    async def embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `RoutedModels.embeddings`."""
        return await self.routed.embeddings(body)

    async def close(self) -> None:
        """Let go of connections, and of a library of its own."""
        await self._routes.close()
        if self._own is not None:
            self._own.close()

    def _read(self) -> None:
        from innkeeper.library.models.stores import RoutePolicyStore

        library = self.library.get()
        workers = self._workers().alive()
        self._hosts = {row.id: row.hosts for row in workers}
        policies = read_policies(RoutePolicyStore(library.db).list())
        catalogue, now = library.catalogue, monotonic()
        if catalogue is not self._catalogue:
            self._catalogue, self._models = catalogue, model_deployments(catalogue)
        current = (with_embedded([*self._models, *worker_deployments(catalogue, workers, now)]), policies)
        if workers or current != self._routed:
            self._routed = current
            self.router.update(*current)

    def _workers(self) -> WorkerStore:
        from innkeeper.library.workers.store import WorkerStore

        return WorkerStore(self.library.get().db)

    def _quarantine(self, deployment: Deployment) -> None:
        """Put a worker into quarantine for all services of this database; the answer that led to it waits for nothing."""
        from innkeeper.library.workers.states import WorkerState

        def move() -> None:
            with suppress(InnkeeperError):
                self._workers().move(
                    deployment.worker, WorkerState.QUARANTINED, reason="executed other messages", who="router"
                )

        asyncio.get_running_loop().run_in_executor(None, move)

    def _secret(self, name: str) -> Secret | None:
        """A worker's key, or a secret of the vault; a provider that has none is asked without."""
        try:
            if name.startswith(_WORKER):
                return Secret(self._workers().call_key(name.removeprefix(_WORKER)))
            return self.library.get().vault.reveal(name, who="router", why="route")
        except InnkeeperError:
            return None

    def _egress(self, route: Route) -> Egress | None:
        """A worker's address is its own word: only what it was invited for, and the open internet."""
        if route.provider != "worker":
            return None
        hosts = self._hosts.get((route.secret or "").removeprefix(_WORKER), ())
        return Egress((*hosts, *self._settings.egress.allowed))
