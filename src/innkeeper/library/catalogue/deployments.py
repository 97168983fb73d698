"""Deployments and route policies, made of a library's rows.

A model's row and its provider's make a `Deployment`; a worker that holds a lease makes one for each model that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.adapters.providers import PROVIDERS
from innkeeper.inference.local.shared import DEFAULT_MODEL, LOCAL
from innkeeper.inference.routing.deployment import SLOTS, Deployment
from innkeeper.inference.routing.policy import RoutePolicy
from innkeeper.inference.routing.price import Price, price_of
from innkeeper.inference.routing.route import Route
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueProvider
from innkeeper.library.models.json_columns import RateLimits, WorkerModel, read_json
from innkeeper.library.rows import RoutePolicyRow
from innkeeper.library.workers.states import WorkerRow
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.tier import Tier
from innkeeper.prompt.typed.once import convert


def model_deployments(catalogue: Catalogue) -> list[Deployment]:
    """The deployments of the models of a catalogue. A model whose row and provider name no tier is for the general one."""
    providers = {row.id: row for row in catalogue.providers}
    owned = ((row, providers.get(row.provider_id)) for row in catalogue.models)
    return [_of_row(row, owner) for row, owner in owned if owner is not None]


def worker_deployments(catalogue: Catalogue, workers: Iterable[WorkerRow], now: float) -> list[Deployment]:
    """The deployments of workers (`WorkerStore.list`), by the leases that they hold.

    ``now`` is the router's clock at the moment that their ``lease_seconds`` are counted from.
    """
    models = {row.model_key: row for row in catalogue.models}
    return [one for worker in workers for one in _of_worker(worker, models, now)]


def deployments_of(catalogue: Catalogue, workers: Iterable[WorkerRow] = (), now: float = 0.0) -> list[Deployment]:
    """Both: `model_deployments` and `worker_deployments`."""
    return [*model_deployments(catalogue), *worker_deployments(catalogue, workers, now)]


def read_policies(rows: Iterable[RoutePolicyRow]) -> tuple[RoutePolicy, ...]:
    """The policies of active rows. Raises `ConfigError` for a row that is none, naming it."""
    return tuple(_read(row) for row in rows if row.is_active)


def _read(row: RoutePolicyRow) -> RoutePolicy:
    columns = {name: getattr(row, name) for name in RoutePolicy.__struct_fields__}
    fields = {name: value for name, value in columns.items() if value not in (None, ())}
    try:
        policy = convert(fields, RoutePolicy)
    except msgspec.ValidationError as error:
        raise ConfigError(f"the route policy {row.name!r:.60}: {error}") from error
    if len({*policy.criteria}) != len(policy.criteria):
        raise ConfigError(f"the route policy {policy.name!r:.60} names a criterion twice")
    return policy


def _of_row(row: CatalogueModel, owner: CatalogueProvider) -> Deployment:
    return Deployment(
        name=f"{owner.name}/{row.model_key}",
        route=_route(row, owner),
        modality=row.modality,
        tasks=frozenset(row.tasks),
        priority=row.priority,
        tier=_tier(row.tier_ceiling, owner.tier_ceiling),
        abilities=_abilities(row.capabilities),
        context_window=row.context_window,
        price=price_of(row.pricing, owner.name, row.model_key),
        slots=read_json(owner.rate_limits, RateLimits).concurrent_requests or (1 if owner.name == LOCAL else SLOTS),
        active=row.is_active and owner.is_active,
    )


def _route(row: CatalogueModel, owner: CatalogueProvider) -> Route:
    name, key = owner.name, row.model_key
    known = PROVIDERS.get(name)
    address = owner.base_url or (known.base_url if known else "")
    adapter = LOCAL if name == LOCAL else known.adapter if known else "openai-chat"
    return Route(
        name=f"{name}/{key}",
        model=DEFAULT_MODEL if name == LOCAL and key in {LOCAL, "echo"} else key,
        adapter=adapter,
        dialect=known.dialect if known else "openai-compatible",
        base_url=address,
        provider=name,
        secret=owner.secret_name or (None if name == LOCAL else name),
        options=FrozenDict({k: v for k, v in row.input_defaults.items() if k not in _OWN_WORDS and v is not None}),
        context_window=row.context_window,
    )


_OWN_WORDS: Final = frozenset({"messages", "prompt", "model", "stream", "input", "system"})
"""What a row's defaults never are: a stored prompt once took the place of a user's."""


def _of_worker(worker: WorkerRow, models: Mapping[str, CatalogueModel], now: float) -> Iterator[Deployment]:
    """A worker's models. What the catalogue says of a model counts; of one that it does not know, what the worker says."""
    capabilities = worker.capabilities
    listed = capabilities.get("models") or ()
    for model in [read_json(entry, WorkerModel) for entry in listed if isinstance(entry, Mapping)]:
        key = model.key
        row = models.get(key) or CatalogueModel(model_key=key)
        tasks = {*(row.tasks or model.tasks)} or {_TASKS[name] for name in _TASKS if capabilities.get(name)}
        window = row.context_window or model.context_window
        name = f"worker:{worker.id}/{key}"
        yield Deployment(
            name=name,
            route=Route(
                name=name,
                model=key,
                adapter="worker",
                dialect="openai-compatible",
                base_url=worker.url,
                provider="worker",
                secret=f"worker:{worker.id}",
                context_window=window,
            ),
            modality=row.modality or worker.kind,
            tasks=frozenset(tasks),
            priority=worker.priority,
            tier=_tier(row.tier_ceiling, worker.tier_ceiling),
            abilities=_abilities(row.capabilities or model.abilities),
            context_window=window,
            price=Price.read(row.pricing) if row.pricing else Price(),
            slots=max(1, worker.slots),
            active=worker.state.working and row.is_active,
            worker=worker.id,
            lease_until=now + worker.lease_seconds,
        )


_TASKS: Final[Mapping[str, str]] = {"chat": "roleplay", "enhancement": "enhancement"}


def _tier(*ceilings: Tier | None) -> Tier:
    """The lowest that any side names; where none does, the general tier: somebody has to say that a model is for adults."""
    return Tier.lowest(*(ceiling for ceiling in ceilings if ceiling is not None))


def _abilities(abilities: Any) -> frozenset[str]:
    if isinstance(abilities, Mapping):
        return frozenset(str(name).removeprefix("supports_") for name, value in abilities.items() if value is True)
    return frozenset(map(str, abilities)) if isinstance(abilities, (list, tuple)) else frozenset()
