"""Deployment: a model at one provider or worker, with what the catalogue knows of it: what a request can be sent to.

`innkeeper.library.catalogue.deployments` makes them of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from innkeeper.inference.local.shared import LOCAL, LOCAL_WINDOW
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.route import Route
from innkeeper.prompt.tier import Tier

SLOTS: Final = 32
"""How many requests at once a provider is taken to serve that does not say."""


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """One of the places where a model runs.

    ``name`` is unique among all. ``tier`` is the highest that it may be asked for. ``needs`` are met by ``abilities``.
    ``context_window`` is in tokens, None where nobody says; ``price`` None where nobody says. ``slots`` is how many requests it
    serves at once before it counts as busy. ``lease_until`` is in seconds of the router's clock: None for what holds no lease.
    ``embedded`` is the model that comes with Innkeeper, where it stands in for what is missing.
    """

    name: str
    route: Route
    modality: str = "chat"
    tasks: frozenset[str] = frozenset()
    priority: int = 0
    tier: Tier = Tier.SFW
    abilities: frozenset[str] = frozenset()
    context_window: int | None = None
    price: Price | None = None
    slots: int = SLOTS
    active: bool = True
    worker: str = ""
    lease_until: float | None = None
    embedded: bool = False

    @property
    def price_rank(self) -> float:
        """Its price, to compare; a price that nobody knows is behind all others."""
        return float("inf") if self.price is None else self.price.rank


EMBEDDED: Final = Deployment(
    name=LOCAL,
    route=Route.of(LOCAL, LOCAL),
    tasks=frozenset({"enhancement", "roleplay", "reasoning"}),
    priority=1_000_000,
    context_window=LOCAL_WINDOW,
    price=Price(),
    slots=1,
    embedded=True,
)
"""The model that comes with Innkeeper, for the general tier. `with_embedded` says when it is asked."""


def with_embedded(deployments: Iterable[Deployment]) -> list[Deployment]:
    """The deployments, and the embedded model where none of them is for chats: on a bare machine."""
    known = list(deployments)
    return known if any(one.modality == "chat" and one.active for one in known) else [*known, EMBEDDED]
