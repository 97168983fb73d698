"""Deployment: a model at one provider or worker, with what the catalogue knows of it: what a request can be sent to.

`innkeeper.library.catalogue.deployments` makes them of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.local.shared import LOCAL
from innkeeper.inference.routing.route import Route
from innkeeper.prompt.tier import Tier

MILLION: Final = 1_000_000
"""Tokens that a price is for."""

SLOTS: Final = 32
"""How many requests at once a provider is taken to serve that does not say."""


class Price(msgspec.Struct, frozen=True):
    """Money for a million tokens read and written, and for a call."""

    input: float = 0.0
    output: float = 0.0
    call: float = 0.0

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """What a call costs."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION + self.call

    @property
    def rank(self) -> float:
        """What is compared where the cheapest is wanted: a thousand tokens read, 300 written."""
        return self.of(1_000, 300)

    @classmethod
    def read(cls, row: Any) -> Price | None:
        """A price as a model's row has it (``input``, ``output`` for a million tokens, ``call``); None where it has none.

        ``per_image``, ``per_generation`` and ``cost_per_use`` of the requirement document are a price for a call.
        """
        if not isinstance(row, Mapping):
            return None
        per_call = next((row[name] for name in _PER_CALL if name in row), None)
        prices: dict[str, Any] = {"input": row.get("input"), "output": row.get("output"), "call": per_call}
        known = {name: float(value) for name, value in prices.items() if _is_money(value)}
        return cls(**known) if known else None


_PER_CALL: Final = ("call", "per_image", "per_generation", "cost_per_use")


def _is_money(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


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
    context_window=4_096,
    price=Price(),
    slots=1,
    embedded=True,
)
"""The model that comes with Innkeeper, for the general tier. `with_embedded` says when it is asked."""


def with_embedded(deployments: Iterable[Deployment]) -> list[Deployment]:
    """The deployments, and the embedded model where none of them is for chats: on a bare machine."""
    known = list(deployments)
    return known if any(one.modality == "chat" and one.active for one in known) else [*known, EMBEDDED]
