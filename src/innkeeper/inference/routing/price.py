"""Price: what a model costs, and the one reader of it for chats and for pictures and videos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from innkeeper.inference.response.response import Usage
from innkeeper.tokens.table.catalogue import LongPrice, known_model, tokens_cost

MEDIA: Final = frozenset({"image", "video"})
"""Modalities whose price is for what is made."""

Amount = Annotated[float, msgspec.Meta(ge=0)]


class ModelPricing(msgspec.Struct, frozen=True, kw_only=True):
    """``api_models.pricing``: US dollars for a million tokens read (``cached``: from a cache) and written.

    ``call`` is for each call, ``per_image`` for a picture, ``per_second`` for a second of video. ``per_generation`` and
    ``cost_per_use`` are for all that one call makes, where neither of these two is there.
    """

    input: Amount | None = None
    output: Amount | None = None
    cached: Amount | None = None
    call: Amount | None = None
    per_image: Amount | None = None
    per_second: Amount | None = None
    per_generation: Amount | None = None
    cost_per_use: Amount | None = None
    currency: str | None = None
    billing_unit: str | None = None


class Price(msgspec.Struct, frozen=True):
    """Money for a million tokens read and written, for a call, for a picture and for a second of video.

    ``cached`` is for tokens that were read from a cache, None: as others. ``long`` takes the place of ``input`` and ``output``
    for a prompt that is longer than it says.
    """

    input: float = 0.0
    output: float = 0.0
    call: float = 0.0
    image: float = 0.0
    second: float = 0.0
    cached: float | None = None
    long: LongPrice | None = None

    def of(self, input_tokens: int, output_tokens: int, *, cached_tokens: int = 0) -> float:
        """Return what a call costs: its tokens, and one picture where pictures have a price.

        ``cached_tokens`` are among those that were read.
        """
        tokens = tokens_cost(self, input_tokens, output_tokens, cached_tokens=cached_tokens)
        return tokens + self.call + self.image

    def of_usage(self, usage: Usage) -> float:
        """Return what an answer of this usage costs."""
        read, written = usage.input_tokens or 0, usage.output_tokens or 0
        return self.of(read, written, cached_tokens=min(usage.cached_tokens or 0, read))

    def of_media(self, images: int = 1, seconds: float | None = None) -> float | None:
        """Return what pictures or a video cost.

        None where nobody knows: a second has a price and nobody says how many there are, or only tokens have one.
        """
        flat = self.call or self.image or self.second
        if (self.second and not seconds) or (not flat and (self.input or self.output)):
            return None
        return self.call + self.image * images + self.second * (seconds or 0)

    @property
    def rank(self) -> float:
        """What is compared where the cheapest is wanted: a thousand tokens read, 300 written; a picture, a second."""
        return self.of(1_000, 300) + self.second

    @classmethod
    def read(cls, pricing: Any) -> Price | None:
        """Return the price in a row's ``pricing`` (`ModelPricing`); None where it has none, or something that is no money."""
        if not isinstance(pricing, Mapping):
            return None
        named = {name: pricing[name] for name in _AMOUNTS if pricing.get(name) is not None}
        if not all(map(_is_money, named.values())):
            return None
        whole = next((named[name] for name in ("per_generation", "cost_per_use") if name in named), None)
        if whole is not None and not named.keys() & {"call", "per_image", "per_second"}:
            named["call"] = whole
        known: dict[str, Any] = {field: float(named[name]) for field, name in _FIELDS.items() if name in named}
        return cls(**known) if known.keys() - {"cached"} else None

    @classmethod
    def known(cls, provider: str, model: str) -> Price | None:
        """Return the list price of a model at its own provider, by the catalogue of known models."""
        listed = known_model(model).price
        if listed is None or listed.provider != _OWNERS.get(provider, provider):
            return None
        return cls(listed.input, listed.output, cached=listed.cached, long=listed.long)


def price_of(pricing: Any, provider: str, model: str) -> Price | None:
    """Return the price that a row says, else the catalogue's; None where nobody knows one."""
    return Price.read(pricing) or Price.known(provider, model)


_AMOUNTS: Final = tuple(name for name in ModelPricing.__struct_fields__ if name not in {"currency", "billing_unit"})
_FIELDS: Final[Mapping[str, Any]] = {
    **{name: name for name in ("input", "output", "cached", "call")},
    "image": "per_image",
    "second": "per_second",
}

_OWNERS: Final = {"openai-responses": "openai"}
"""Providers of the table that are another one by a second protocol."""


def _is_money(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
