"""Prices: one reader for tokens, calls, pictures and seconds; a row's before the catalogue's."""

from typing import Any

import pytest

from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.price import Price, price_of
from innkeeper.tokens.table.catalogue import LongPrice


@pytest.mark.parametrize(
    ("pricing", "price"),
    [
        ({"input": 1.5, "output": 2, "currency": "USD"}, Price(1.5, 2.0)),
        ({"call": 0.05}, Price(call=0.05)),
        ({"per_generation": 0.05}, Price(call=0.05)),
        ({"cost_per_use": 0.05}, Price(call=0.05)),
        ({"per_image": 0.05}, Price(image=0.05)),
        ({"per_second": 0.05}, Price(second=0.05)),
        ({"input": 0, "output": 0}, Price()),
        ({}, None),
        (None, None),
        ({"input": 2, "output": 6, "cached": 0.5}, Price(2.0, 6.0, cached=0.5)),
        ({"per_image": 0.04, "cost_per_use": 0.04}, Price(image=0.04)),
        ({"per_image": 0.04, "call": 0.01}, Price(image=0.04, call=0.01)),
        ({"cached": 0.5}, None),
        ({"per_imgae": 0.05, "input": "free"}, None),
        ({"input": "free", "output": 6}, None),
        ({"call": float("nan")}, None),
    ],
)
def test_reader(pricing: Any, price: Price | None) -> None:
    """All keys of a row are read here, for chats and for jobs; what is no money is no price."""
    assert Price.read(pricing) == price


@pytest.mark.parametrize(
    ("price", "images", "seconds", "cost"),
    [
        (Price(image=0.04), 3, None, 0.12),
        (Price(call=0.05), 3, None, 0.05),
        (Price(second=0.5), 1, 4, 2.0),
        (Price(second=0.5), 1, None, None),
        (Price(), 4, None, 0.0),
        (Price(2.0, 6.0), 1, None, None),
    ],
)
def test_media(price: Price, images: int, seconds: float | None, cost: float | None) -> None:
    """Pictures cost each, a call once, a video by the second; without its length nobody knows."""
    assert price.of_media(images, seconds) == (None if cost is None else pytest.approx(cost))


def test_cached_tokens_have_a_price_of_their_own() -> None:
    """Those that were read from a cache cost what the row says; where it says nothing, as others."""
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000)
    assert Price(2.0, 6.0, cached=0.5).of_usage(usage) == pytest.approx(2.0)
    assert Price(2.0, 6.0).of_usage(usage) == pytest.approx(2.6)
    assert Price(2.0, 6.0, cached=0.5, long=LongPrice(200_000, 4.0, 9.0)).of_usage(usage) == pytest.approx(4.9)


def test_a_row_counts_before_the_catalogue() -> None:
    """A row's own price wins; a list price counts at its own provider alone, longer prompts by their own."""
    assert price_of({"input": 7}, "openai", "gpt-4o") == Price(7.0)
    assert (
        price_of({}, "openai", "gpt-4o")
        == price_of(None, "openai-responses", "gpt-4o-2024-08-06")
        == Price(2.5, 10, cached=1.25)
    )
    assert price_of(None, "openrouter", "openai/gpt-4o") is None
    assert price_of(None, "openai", "nobody-knows") is None
    long = price_of(None, "gemini", "gemini-2.5-pro")
    assert long is not None
    assert long == Price(1.25, 10, cached=long.cached, long=LongPrice(200_000, 2.5, 15))
    assert (long.of(200_000, 0), long.of(200_001, 0)) == pytest.approx((0.25, 0.5000025))
