"""Prices: what answers cost, and what is no price."""

import pytest

from innkeeper.inference.response.response import Usage
from innkeeper.prompt.errors import ConfigError
from innkeeper.service.guard.prices import RoutePrice, cost_of, read_prices

PRICES = read_prices(["cheap=0,0", "openai/*=1.25,10", "*=100,100"])
USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000)


@pytest.mark.parametrize(
    ("route", "cost"), [("cheap", 0.0), ("openai/gpt-5", 2.25), ("OPENAI/x", 110.0), ("other", 110.0)]
)
def test_cost(route: str, cost: float) -> None:
    """The first pattern that fits counts, by tokens in and out."""
    assert cost_of(route, USAGE, PRICES) == pytest.approx(cost)


def test_nothing_known() -> None:
    """Without a price, or without tokens, nothing is counted."""
    assert cost_of("other", USAGE, PRICES[:2]) == 0
    assert cost_of("other", Usage(), PRICES) == 0
    assert read_prices(["a=b=1,2"]) == (RoutePrice("a=b", 1, 2),)


@pytest.mark.parametrize("text", ["", "a", "a=", "=1,2", "a=1", "a=1,2,3", "a=-1,2", "a=nan,1", "a=inf,1", "a=x,y"])
def test_no_price(text: str) -> None:
    """What is no price is refused when the service starts."""
    with pytest.raises(ConfigError):
        read_prices([text])
