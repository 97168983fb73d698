"""Quotas: what a key has left, as time goes by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.service.errors import RateLimitError, TokenRateLimitError
from innkeeper.service.guard.grants import OPEN, Grant
from innkeeper.service.guard.quotas import Quotas


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def test_rate() -> None:
    """So many requests, then one for each share of the minute; Retry-After is when the next passes. Others are not touched."""
    clock = Clock()
    quotas, grant = Quotas(clock), Grant(rate=30)
    for _ in range(30):
        quotas.enter("a", grant)
    with pytest.raises(RateLimitError) as caught:
        quotas.enter("a", grant)
    assert (caught.value.http_status, caught.value.details["retry_after"]) == (429, 2)
    quotas.enter("b", grant)
    quotas.enter("c", OPEN)
    clock.now += caught.value.details["retry_after"]
    quotas.enter("a", grant)
    with pytest.raises(RateLimitError):
        quotas.enter("a", grant)


def test_slow_rate() -> None:
    """Less than one request a minute is one in so many minutes."""
    clock = Clock()
    quotas, grant = Quotas(clock), Grant(rate=0.5)
    quotas.enter("a", grant)
    with pytest.raises(RateLimitError) as caught:
        quotas.enter("a", grant)
    clock.now += caught.value.details["retry_after"]
    quotas.enter("a", grant)


def test_tokens() -> None:
    """Tokens are taken when they are known, also more than there were; then a key waits until there are some again."""
    clock = Clock()
    quotas, grant = Quotas(clock), Grant(tokens=600)
    quotas.enter("a", grant)
    quotas.charge("a", grant, 1_200)
    with pytest.raises(TokenRateLimitError) as caught:
        quotas.enter("a", grant)
    assert caught.value.details["retry_after"] == 61
    clock.now += 61
    quotas.enter("a", grant)


@given(
    rate=st.floats(0.1, 1_000),
    steps=st.lists(st.floats(0, 30), max_size=200),
)
def test_any_rate(rate: float, steps: list[float]) -> None:
    """Whenever they come, no more pass than the amount and what has come back since; who waits as told passes."""
    clock = Clock()
    quotas, grant = Quotas(clock), Grant(rate=rate)
    for passed, step in enumerate(steps, 1):
        clock.now += step
        try:
            quotas.enter("a", grant)
        except RateLimitError as error:
            clock.now += error.details["retry_after"] + 1e-6
            quotas.enter("a", grant)
        assert passed <= max(rate, 1) + clock.now * rate / 60 + 1e-6
