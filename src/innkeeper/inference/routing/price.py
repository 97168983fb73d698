"""Price: what a model costs, and the one reader of it for chats and for pictures and videos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.tokens.table.catalogue import LongPrice, known_model

MILLION: Final = 1_000_000
"""Tokens that a price is for."""


class Price(msgspec.Struct, frozen=True):
    """Money for a million tokens read and written, for a call, for a picture and for a second of video.

    ``long`` takes the place of ``input`` and ``output`` for a prompt that is longer than it says.
    """

    input: float = 0.0
    output: float = 0.0
    call: float = 0.0
    image: float = 0.0
    second: float = 0.0
    long: LongPrice | None = None

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return what a call costs: its tokens, and one picture where pictures have a price."""
        rates = self.long if self.long is not None and input_tokens > self.long.above else self
        return (rates.input * input_tokens + rates.output * output_tokens) / MILLION + self.call + self.image

    def of_media(self, images: int = 1, seconds: float | None = None) -> float | None:
        """Return what pictures or a video cost; None where a second has a price and nobody says how many there are."""
        if self.second and not seconds:
            return None
        return self.call + self.image * images + self.second * (seconds or 0)

    @property
    def rank(self) -> float:
        """What is compared where the cheapest is wanted: a thousand tokens read, 300 written."""
        return self.of(1_000, 300)

    @classmethod
    def read(cls, pricing: Any) -> Price | None:
        """Return the price in a row's ``pricing``; None where it has none.

        ``input`` and ``output`` are for a million tokens, ``per_image`` for a picture, ``per_second`` for a second, ``call``,
        ``per_generation`` and ``cost_per_use`` for a call.
        """
        if not isinstance(pricing, Mapping):
            return None
        prices: dict[str, Any] = {
            field: next((pricing[name] for name in names if name in pricing), None) for field, names in _KEYS
        }
        known: dict[str, Any] = {field: float(value) for field, value in prices.items() if _is_money(value)}
        return cls(**known) if known else None

    @classmethod
    def known(cls, provider: str, model: str) -> Price | None:
        """Return the list price of a model at its own provider, by the catalogue of known models."""
        listed = known_model(model).price
        if listed is None or listed.provider != _OWNERS.get(provider, provider):
            return None
        return cls(listed.input, listed.output, long=listed.long)


def price_of(pricing: Any, provider: str, model: str) -> Price | None:
    """Return the price that a row says, else the catalogue's; None where nobody knows one."""
    return Price.read(pricing) or Price.known(provider, model)


_KEYS: Final = (
    ("input", ("input",)),
    ("output", ("output",)),
    ("call", ("call", "per_generation", "cost_per_use")),
    ("image", ("per_image",)),
    ("second", ("per_second",)),
)

_OWNERS: Final = {"openai-responses": "openai"}
"""Providers of the table that are another one by a second protocol."""


def _is_money(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
