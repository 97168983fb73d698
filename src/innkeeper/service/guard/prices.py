"""Prices: what a route's tokens cost, as the operator says it, for the spending of keys.

``--price openai/*=1.25,10`` is 1.25 for a million tokens read and 10 for a million written, in whatever currency the keys'
``spend=`` is meant in. The first pattern that fits counts; a route that none fits costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from math import isfinite
from typing import Final, NamedTuple

from innkeeper.inference.response.response import Usage
from innkeeper.prompt.errors import ConfigError

_MILLION: Final = 1_000_000


class RoutePrice(NamedTuple):
    """What a million tokens cost on routes whose names a pattern fits."""

    pattern: str
    input: float
    output: float


def read_prices(texts: Iterable[str]) -> tuple[RoutePrice, ...]:
    """Prices as they are written: ``PATTERN=INPUT,OUTPUT``. Raises `ConfigError`."""
    return tuple([_read(text) for text in texts])


def _read(text: str) -> RoutePrice:
    pattern, _, numbers = text.rpartition("=")
    try:
        read, written = (float(number) for number in numbers.split(","))
    except ValueError:
        read = written = -1.0
    if not pattern or not (isfinite(read) and isfinite(written)) or min(read, written) < 0:
        raise ConfigError(
            f"{text!r:.80} is no price", hint="write it like NAME=1.25,10: for a million tokens in and out"
        )
    return RoutePrice(pattern, read, written)


def cost_of(route: str, usage: Usage, prices: Iterable[RoutePrice]) -> float:
    """What an answer on a route cost, as far as its tokens are known."""
    price = next((one for one in prices if fnmatchcase(route, one.pattern)), None)
    if price is None:
        return 0.0
    return (price.input * (usage.input_tokens or 0) + price.output * (usage.output_tokens or 0)) / _MILLION
