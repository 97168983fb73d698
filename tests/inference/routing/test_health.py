"""Health: a breaker opens after failures in a row, lets one request try, and opens longer; a rest is what was asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.routing.failures import Failure
from innkeeper.inference.routing.health import LONGEST_REST, WELL, Health
from innkeeper.inference.routing.policy import RoutePolicy

POLICY = RoutePolicy(strikes=2, open_seconds=10)


def down(health: Health, now: float, times: int = 1) -> Health:
    """After so many failures."""
    for _ in range(times):
        health = health.failed(Failure.UNAVAILABLE, now, POLICY)
    return health


def test_breaker() -> None:
    """Open for its time, then for one request at a time; a failure then doubles the time, an answer closes it."""
    assert down(WELL, 0.0).closed_to(0.0) is None
    opened = down(WELL, 0.0, 2)
    assert (opened.closed_to(9.9), opened.closed_to(10.0)) == ("breaker_open", None)
    trying = opened.begun()
    assert trying.closed_to(10.0) == "breaker_open"
    again = down(trying, 10.0)
    assert (again.closed_to(29.9), again.closed_to(30.0)) == ("breaker_open", None)
    assert trying.succeeded() == WELL
    assert trying.failed(Failure.INVALID_REQUEST, 10.0, POLICY).closed_to(10.0) is None
    assert down(down(WELL, 0.0).succeeded(), 0.0).closed_to(0.0) is None


def test_rests() -> None:
    """Limits of rates rest a route at once, for as long as its provider asks; they open no breaker."""
    limited = WELL.failed(Failure.RATE_LIMITED, 0.0, POLICY)
    assert (limited.closed_to(4.9), limited.closed_to(5.0)) == ("cooldown", None)
    assert WELL.failed(Failure.RATE_LIMITED, 0.0, POLICY, asked=60.0).closed_to(59.0) == "cooldown"
    assert WELL.failed(Failure.RATE_LIMITED, 0.0, POLICY, asked=1e9).closed_to(LONGEST_REST) is None
    assert WELL.failed(Failure.UNAVAILABLE, 0.0, POLICY, asked=3.0).closed_to(2.0) == "cooldown"
    assert limited.failures == 0


def test_quarantine_stays() -> None:
    """Who tampered is out until somebody lifts it, whatever else happens."""
    out = WELL.failed(Failure.TAMPERED, 0.0, POLICY)
    assert out.closed_to(1e12) == "quarantined"
    assert out.succeeded().closed_to(1e12) == "quarantined"


@given(st.lists(st.tuples(st.sampled_from(Failure), st.floats(0, 1)), max_size=40))
def test_never_closed_for_ever(events: list[tuple[Failure, float]]) -> None:
    """Whatever failed, but for a quarantine, a route is open again after the longest time, and is tried."""
    health, now = WELL, 0.0
    for failure, chance in events:
        if failure is not Failure.TAMPERED:
            health = health.begun().failed(failure, now, POLICY, None, chance)
            now += 1.0
    assert health.closed_to(now + LONGEST_REST) is None
