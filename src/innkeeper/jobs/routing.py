"""MediaRoutes: where pictures and videos can be made, and where an attempt goes: by the router, as requests of chats do.

Deployments are the models of the catalogue whose provider is a backend, those of workers that hold a lease, and the tiny picture
for what none of them does. What is known of failures is this process's own, as with chats; where a job has been is in its row
(`innkeeper.jobs.job.JobRoute`), so that whoever goes on with it knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.inference.errors import BudgetError
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.failures import CONSEQUENCES
from innkeeper.inference.routing.failures import Failure as Kind
from innkeeper.inference.routing.policy import RoutePolicy, policy_for
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.route import Route
from innkeeper.inference.routing.router import NoRouteError, Router, RouteRequest, is_allowed
from innkeeper.jobs.backend import WORKER, Backend, JobFailure
from innkeeper.jobs.backends.registry import backend_of
from innkeeper.jobs.backends.tiny_seed_picture import MODEL, NAME
from innkeeper.jobs.job import JobRoute
from innkeeper.jobs.media import MediaRequest, MediaRequestError
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.deployments import model_deployments, read_policies, worker_deployments
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueProvider
from innkeeper.library.workers.states import WorkerRow
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import ConfigError, InnkeeperError, UnknownNameError
from innkeeper.prompt.machine import fresh_seed

if TYPE_CHECKING:
    from innkeeper.jobs.job import Job
    from innkeeper.library.library import Library


REFRESH_SECONDS: Final = 2.0
"""How old at most what is known of workers and policies may be."""

_MODALITIES: Final = ("image", "video")
_RESTING: Final = frozenset({"cooldown", "breaker_open"})
"""Why a deployment is not asked now that may be asked later: a job can wait."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a job may cost, in US dollars, and on which deployments it may be made: by patterns, and not those ``without``."""

    money: float | None = None
    routes: tuple[str, ...] | None = None
    without: frozenset[str] = frozenset()


NO_BOUNDS: Final = Bounds()
"""Any money, anywhere."""


class JobTarget(msgspec.Struct, frozen=True):
    """Who makes it: the rows of a model and its provider, the name of a backend, and the deployment that they are."""

    model: CatalogueModel
    provider: CatalogueProvider | None
    backend: str
    deployment: Deployment

    @property
    def key(self) -> str:
        """The model's key."""
        return self.model.model_key


_TINY: Final = {"image": ("t2i", "i2i"), "video": ("t2v", "i2v")}


def media_deployments(
    catalogue: Catalogue, backends: Mapping[str, Backend], workers: Iterable[WorkerRow] = (), now: float = 0.0
) -> list[Deployment]:
    """Where pictures and videos can be made; of a provider that is no backend here as inactive.

    ``now`` is the router's clock at the moment that the leases of ``workers`` are counted from.
    """
    rows = [_asked_by(one, backends) for one in model_deployments(catalogue) if one.modality in _MODALITIES]
    leased = [one for one in worker_deployments(catalogue, workers, now) if one.modality in _MODALITIES]
    known = [*rows, *leased]
    served = {(one.modality, task) for one in known if one.active for task in one.tasks}
    missing = {kind: {task for task in tasks if (kind, task) not in served} for kind, tasks in _TINY.items()}
    return [*known, *(_tiny(kind, tasks) for kind, tasks in missing.items() if tasks)]


def _asked_by(one: Deployment, backends: Mapping[str, Backend]) -> Deployment:
    """A model as its backend makes it: on a server of one's own it costs nothing, where its row does not say otherwise."""
    name = backend_of(one.route.provider, backends)
    if name is None:
        return msgspec.structs.replace(one, active=False)
    free = one.price is None and backends[name].repeatable
    return msgspec.structs.replace(one, price=Price()) if free else one


def _tiny(modality: str, tasks: set[str]) -> Deployment:
    name = NAME if modality == "image" else f"{NAME}/{modality}"
    route = Route(name=name, model=NAME, provider=NAME)
    return Deployment(
        name=name, route=route, modality=modality, tasks=frozenset(tasks), tier=Tier.NSFW, price=Price(), priority=10**6
    )


class MediaRoutes:
    """The deployments of one library and what is known of them. Threads may share it."""

    def __init__(self, library: Library, backends: Mapping[str, Backend]) -> None:
        self.library = library
        self.backends = backends
        self.router = Router(chance=lambda: fresh_seed() / 2**32)
        self._lock = Lock()
        self._catalogue: Catalogue | None = None
        self._read = 0.0
        self._known: tuple[list[Deployment], tuple[RoutePolicy, ...]] = ([], ())
        self._named: dict[str, Deployment] = {}
        self._workers: dict[str, WorkerRow] = {}
        self._by_model: dict[str, Deployment] = {}
        self._rows: dict[str, CatalogueModel] = {}
        self._by_id: dict[str, CatalogueModel] = {}
        self._owners: dict[str, CatalogueProvider] = {}

    # ------------------------------------------------------------------------------------------------------------- choosing

    def targets(self, request: MediaRequest, tier: Tier, bounds: Bounds = NO_BOUNDS) -> Iterator[JobTarget]:
        """Where a request may go within these bounds, best first; behind those that can be asked now those that rest.

        Raises:
            BudgetError: whoever can be asked costs more.
            NoRouteError: nowhere; its details count why.
            UnknownNameError, MediaRequestError, ConfigError: the model that is named cannot be asked this.
        """
        self.refresh()
        key = None if request.model is None else self._key(request, bounds.routes)
        if key == NAME:
            yield JobTarget(MODEL, None, NAME, _tiny(request.mode.modality, {request.mode.value}))
            return
        now = monotonic()
        # Of a model that is named, the tier is lowered to what its row allows; of others only those come into question that
        # may be asked for this tier.
        named = self._by_model.get(key or "")
        route_request = RouteRequest(
            modality=request.mode.modality if named is None else named.modality,
            task="" if key else request.mode.value,
            tier=Tier.SFW if key else tier,
            model=key,
            without=bounds.without,
            pictures=request.count,
            seconds=request.duration,
            money=bounds.money,
            routes=bounds.routes,
        )
        attempts, any_target = self.router.attempts(route_request, now), False
        while (attempt := attempts.next(now)) is not None:
            attempts.left(attempt)
            any_target = True
            yield self.target(attempt.deployment)
        for candidate in self.router.explain(route_request, now):
            if candidate.refused in _RESTING:
                any_target = True
                yield self.target(self._named[candidate.deployment])
        if any_target:
            return
        if attempts.cheapest is not None and bounds.money is not None:
            raise BudgetError("the job costs more than it may", estimate=attempts.cheapest, left=bounds.money)
        raise NoRouteError("nobody can be asked for this", attempts.trace)

    def target(self, one: Deployment) -> JobTarget:
        """The rows of a deployment."""
        if one.route.provider == NAME:
            return JobTarget(MODEL, None, NAME, one)
        row = self._rows.get(one.route.model)
        if one.worker:
            worker = self._workers.get(one.worker)
            models = () if worker is None else worker.capabilities.get("models") or ()
            own = next((FrozenDict(model) for model in models if model.get("key") == one.route.model), EMPTY)
            reported = CatalogueModel(
                model_key=one.route.model, modality=one.modality, capabilities=own, tasks=tuple(one.tasks)
            )
            return JobTarget(row or reported, None, WORKER, one)
        model = row or CatalogueModel(model_key=one.route.model)
        return JobTarget(
            model, self._owners.get(model.provider_id), backend_of(one.route.provider, self.backends) or "", one
        )

    def of(self, name: str, key: str) -> JobTarget:
        """Where a job goes: to the deployment of this name, or whoever has its model, where that is not there any more."""
        self.refresh()
        owned = (one for one in self._named.values() if one.route.model == key and not one.worker)
        one = self._named.get(name) or next(owned, None)
        if one is not None:
            return self.target(one)
        return JobTarget(
            self._rows.get(key) or CatalogueModel(model_key=key),
            None,
            "",
            Deployment(name=name, route=Route(name=name, model=key)),
        )

    def policy_name(self, request: MediaRequest) -> str:
        """The policy by which a request goes."""
        return policy_for(self._known[1], request.mode.modality, request.mode.value).name

    def is_open(self, name: str) -> bool:
        """Whether a deployment may be asked now: it is there, it is not left alone, and a worker holds its lease."""
        self.refresh()
        one, now = self._named.get(name), monotonic()
        if one is None or not one.active or (one.lease_until is not None and one.lease_until <= now):
            return False
        busy = bool(one.worker) and self.router.is_full(one)
        return not busy and self.router.health(name).closed_to(now) is None

    def is_there(self, job: Job) -> bool:
        """Whether a job may be handed over at all: what is for a worker only while that holds its lease."""
        one = self._named.get(JobRoute.of(job).deployment)
        return job.backend != WORKER or (one is not None and (one.lease_until or 0.0) > monotonic())

    def _key(self, request: MediaRequest, routes: tuple[str, ...] | None) -> str:
        """The key of the model that is named, by key or id; errors list those on ``routes`` alone.

        Raises `UnknownNameError`, `MediaRequestError`, `ConfigError`.
        """
        name = str(request.model)
        if name == NAME:
            return NAME
        row = self._rows.get(name) or self._by_id.get(name)
        key = name if row is None else row.model_key
        deployment = self._by_model.get(key)
        if row is None and deployment is None:
            own = {one.route.model for one in self._named.values() if is_allowed(one.name, routes)}
            raise UnknownNameError("model", name, {*own, NAME})
        tasks = (() if row is None else row.tasks) or (() if deployment is None else tuple(deployment.tasks))
        if tasks and request.mode.value not in tasks:
            raise MediaRequestError(f"{name} does not do {request.mode}", hint=f"it does {', '.join(tasks)}")
        if deployment is None:
            raise ConfigError(
                f"the provider of {name} makes no pictures or videos that are known here",
                hint=f"backends: {', '.join(sorted(self.backends))}",
            )
        return key

    # ---------------------------------------------------------------------------------------------------- while it is asked

    def enter(self, name: str) -> Deployment | None:
        """An attempt is handed over. Tell `leave`."""
        one = self._named.get(name)
        if one is not None:
            self.router.enter(one)
        return one

    def leave(self, one: Deployment | None, failure: JobFailure | None = None) -> None:
        """It is over: ``failure`` is why, None where it was answered."""
        if one is None:
            return
        if failure is None:
            self.router.end(one, lambda health, _: health.succeeded())
            return
        kind, now, policy = kind_of(failure), monotonic(), policy_for(self._known[1], one.modality, "")
        self.router.end(one, lambda health, chance: health.failed(kind, now, policy, failure.retry_after, chance))
        if kind is Kind.TAMPERED:
            self._quarantine(one)

    # ------------------------------------------------------------------------------------------------------------ following

    def refresh(self) -> None:
        """Know what there is. A database that fails leaves what is known: leases run out by themselves."""
        catalogue, now = self.library.catalogue, monotonic()
        if catalogue is self._catalogue and now - self._read < REFRESH_SECONDS:
            return
        if self._lock.acquire(blocking=catalogue is not self._catalogue):  # one reads; who can go on goes on
            try:
                self._refresh(catalogue, now)
            finally:
                self._lock.release()

    def _refresh(self, catalogue: Catalogue, now: float) -> None:
        policies = self._known[1]
        try:
            self._workers, policies = self._snapshot()
        except InnkeeperError:
            if self._catalogue is None:
                raise
        snapshot = (media_deployments(catalogue, self.backends, self._workers.values(), now), policies)
        if self._workers or snapshot != self._known:
            self._known, self._named = snapshot, {one.name: one for one in snapshot[0]}
            self._by_model = {one.route.model: one for one in snapshot[0] if one.active}
            self.router.update(*snapshot)
        if catalogue is not self._catalogue:
            self._rows = {row.model_key: row for row in catalogue.models}
            self._by_id = {row.id: row for row in catalogue.models}
            self._owners = {row.id: row for row in catalogue.providers}
        self._catalogue, self._read = catalogue, now

    def _quarantine(self, one: Deployment) -> None:
        """Put a worker into quarantine for everybody who has this database."""
        from innkeeper.library.workers.states import WorkerState
        from innkeeper.library.workers.store import WorkerStore

        with suppress(InnkeeperError):
            store = WorkerStore(self.library.db)
            store.move(one.worker, WorkerState.QUARANTINED, reason="made something else than it was sent", who="jobs")

    def _snapshot(self) -> tuple[dict[str, WorkerRow], tuple[RoutePolicy, ...]]:
        from innkeeper.library.models.stores import RoutePolicyStore
        from innkeeper.library.workers.store import WorkerStore

        db = self.library.db
        alive = WorkerStore(db).alive()
        workers = {row.id: row for row in alive if row.kind in _MODALITIES}
        return workers, read_policies(RoutePolicyStore(db).list())


_KINDS: Final[Mapping[str, Kind]] = {
    **{kind.value: kind for kind in Kind},
    "bad_result": Kind.BAD_ANSWER,
    "provider_policy_refusal": Kind.POLICY_REFUSAL,
    "too_large": Kind.INVALID_REQUEST,
}


def kind_of(failure: JobFailure) -> Kind:
    """A failure of a job as the router has it."""
    return _KINDS.get(failure.kind, Kind.UNKNOWN)


def may_go_elsewhere(failure: JobFailure) -> bool:
    """Whether another deployment may be asked after a failure: never after a refusal, nor where the request or a key is wrong."""
    return CONSEQUENCES[kind_of(failure)].fallback
