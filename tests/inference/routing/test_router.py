"""The router: which deployment, in which order, within which bounds; what fails never makes things worse for anybody else."""

from __future__ import annotations

import time
import timeit
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.tier import Tier
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.failures import CONSEQUENCES, Failure
from innkeeper.inference.routing.policy import RoutePolicy
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.route import Route
from innkeeper.inference.routing.router import Attempt, RouteAttempts, Router, RouteRequest

NEVER = sorted(failure for failure, follows in CONSEQUENCES.items() if not follows.fallback)


def place(name: str, **facts: Any) -> Deployment:
    """A deployment for chats."""
    return Deployment(name=name, route=Route(name=name, model=facts.pop("model", "m"), provider="own"), **facts)


def names(router: Router, **request: Any) -> list[str]:
    """What would be tried, in order."""
    return [one.deployment for one in router.explain(RouteRequest(**request), 0.0) if not one.refused]


def walk(tries: RouteAttempts, *failures: Failure) -> list[Attempt]:
    """The attempts where these failures come one after the other, and then an answer."""
    attempts = []
    for failure in (*failures, None):
        attempt = tries.next(0.0)
        if attempt is None:
            break
        attempts.append(attempt)
        if failure is None:
            tries.done(attempt, 0.0)
        else:
            tries.failed(attempt, failure, 0.0)
    return attempts


PLACES = (
    place("a", priority=2, price=Price(3.0)),
    place("b", priority=1, price=Price(9.0)),
    place("c", priority=3, price=Price(1.0)),
    place("d", priority=0),
)


@dataclass
class Order:
    """The order by criteria, none of the places being busy."""

    id: str
    order: tuple[Any, ...]
    expected: list[str]


@pytest.mark.parametrize(
    "case",
    [
        Order("price", ("price",), ["c", "a", "b", "d"]),
        Order("priority", ("priority",), ["d", "b", "a", "c"]),
        Order("busy first", ("busy", "price", "priority"), ["c", "a", "b", "d"]),
        Order("name at last", ("busy",), ["a", "b", "c", "d"]),
    ],
    ids=lambda case: case.id,
)
def test_order(case: Order) -> None:
    """A policy's criteria count in their order; the lower number is tried first, a price that nobody knows last."""
    assert names(Router(PLACES, [RoutePolicy(criteria=case.order)])) == case.expected


def test_by_modality() -> None:
    """*Routing Logic by Modality*: the local worker first while it holds its lease, else the provider; each kind to its own."""
    chat, image = frozenset({"roleplay"}), frozenset({"t2i"})
    router = Router(
        [
            place("worker", tasks=chat, price=Price(), lease_until=10.0, worker="w"),
            place("openrouter", tasks=chat, price=Price(0.2, 0.4)),
            place("replicate", modality="image", tasks=image, price=Price(call=0.02)),
            place("sdxl", modality="image", tasks=image, price=Price(), lease_until=10.0, worker="s"),
        ]
    )

    def first(now: float, **request: Any) -> str:
        attempt = router.attempts(RouteRequest(**request), now).next(now)
        return "" if attempt is None else attempt.deployment.name

    assert first(0.0, task="roleplay") == "worker"
    assert first(10.0, task="roleplay") == "openrouter"
    assert first(0.0, modality="image", task="t2i") == "sdxl"
    assert first(10.0, modality="image", task="t2i") == "replicate"
    assert first(0.0, modality="video", task="i2v") == ""


def test_least_busy() -> None:
    """Requests spread over what is equal, by the share of slots that is taken."""
    router = Router([place("a", slots=1), place("b", slots=4)])
    all_tries = [router.attempts(RouteRequest(), 0.0) for _ in range(5)]
    attempts = [attempt for tries in all_tries if (attempt := tries.next(0.0))]
    assert [attempt.deployment.name for attempt in attempts] == ["a", "b", "b", "b", "b"]
    all_tries[0].done(attempts[0], 1.0)
    assert names(router) == ["a", "b"]


@dataclass
class Refused:
    """Why a place is not tried."""

    id: str
    facts: dict[str, Any]
    reason: str
    request: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    "case",
    [
        Refused("modality", {"modality": "image"}, "modality"),
        Refused("task", {"tasks": frozenset({"vision"})}, "task", {"task": "roleplay"}),
        Refused("model", {"model": "other"}, "model", {"model": "m"}),
        Refused("inactive", {"active": False}, "inactive"),
        Refused("tier", {}, "tier_ceiling", {"tier": Tier.NSFW}),
        Refused("ability", {"abilities": frozenset({"vision"})}, "capability", {"needs": frozenset({"tools"})}),
        Refused("window", {"context_window": 1000}, "context_window", {"input_tokens": 900, "output_tokens": 101}),
        Refused("window by far", {"context_window": 10}, "context_window", {"input_tokens": 900}),
        Refused("budget", {"price": Price(1e6)}, "budget", {"input_tokens": 2, "money": 1.0}),
        Refused("no price", {}, "price_unknown", {"money": 1.0}),
        Refused("lease", {"lease_until": 0.0}, "lease_over"),
    ],
    ids=lambda case: case.id,
)
def test_filters(case: Refused) -> None:
    """What does not suit a request is not tried, and the reason has a name; the trace counts it."""
    router = Router([place("a", **case.facts)])
    request = RouteRequest(**case.request)
    (candidate,) = router.explain(request, 0.0)
    assert (candidate.refused, candidate.place) == (case.reason, None)
    tries = router.attempts(request, 0.0)
    assert tries.next(0.0) is None
    assert (tries.trace.ended, dict(tries.trace.skipped)) == ("no_deployment", {case.reason: 1})


@pytest.mark.parametrize("failure", NEVER)
def test_what_never_falls_back(failure: Failure) -> None:
    """Refusals, keys, blocks and invalid requests end a request, whatever else there is; its caller is told which."""
    tries = Router(PLACES).attempts(RouteRequest(), 0.0)
    assert len(walk(tries, failure)) == 1
    assert tries.trace.ended == failure
    kept = {Failure.AUTH, Failure.CANCELLED, Failure.INVALID_REQUEST, Failure.POLICY_REFUSAL, Failure.SAFETY_BLOCK}
    assert {*NEVER} == {*kept, Failure.UNKNOWN}


@pytest.mark.parametrize("failure", [Failure.INVALID_REQUEST, Failure.POLICY_REFUSAL, Failure.SAFETY_BLOCK])
def test_a_bad_request_punishes_no_route(failure: Failure) -> None:
    """However many wrong requests come, their route is as well as before."""
    router = Router([place("a")])
    for _ in range(9):
        walk(router.attempts(RouteRequest(), 0.0), failure)
    assert names(router) == ["a"]


def test_bounds() -> None:
    """Attempts, time and money bound a request as a whole."""
    down = [Failure.UNAVAILABLE] * 9
    assert len(walk(Router(PLACES, [RoutePolicy(attempts=2)]).attempts(RouteRequest(), 0.0), *down)) == 2
    late = Router(PLACES, [RoutePolicy(seconds=10, first_seconds=8)]).attempts(RouteRequest(), 0.0)
    first = late.next(5.0)
    assert first is not None
    assert first.seconds == 5.0
    late.failed(first, Failure.TIMEOUT, 10.0)
    assert late.next(10.0) is None
    assert late.trace.ended == "seconds"
    paid = Router(PLACES, [RoutePolicy(money=0.005)]).attempts(RouteRequest(input_tokens=1000), 0.0)
    late_words = [Failure.TIMEOUT] * 9
    assert [attempt.deployment.name for attempt in walk(paid, *late_words)] == ["c", "a"]  # 1 and 3 of 5 thousandths
    assert (paid.trace.spent, paid.trace.skipped["budget"]) == (0.004, 2)
    free = Router(PLACES, [RoutePolicy(money=0.005)]).attempts(RouteRequest(input_tokens=1000), 0.0)
    walk(free, Failure.RATE_LIMITED)
    assert free.trace.spent == 0.003  # what was turned away costs nothing


def test_too_long_goes_to_a_larger_window() -> None:
    """A prompt that is too long for one is planned anew only for a window that is known to be larger."""
    router = Router(
        [place("a", context_window=900), place("b"), place("c", context_window=900), place("d", context_window=901)]
    )
    attempts = walk(router.attempts(RouteRequest(), 0.0), Failure.CONTEXT_LENGTH)
    assert [attempt.deployment.name for attempt in attempts] == ["a", "d"]


def test_an_answer_that_began_is_the_last() -> None:
    """After the first words nothing else is tried."""
    tries = Router(PLACES).attempts(RouteRequest(), 0.0)
    attempt = tries.next(0.0)
    assert attempt
    assert not tries.failed(attempt, Failure.UNAVAILABLE, 0.0, reached="passed_on")
    assert tries.next(0.0) is None


def test_what_is_known_outlasts_an_update() -> None:
    """A router that is told of other deployments keeps what it knows of those that stay."""
    router = Router([place("a"), place("b")])
    router.quarantine("a")
    router.update([place("a", priority=5), place("c")])
    assert names(router) == ["c"]
    router.quarantine("a", lifted=True)
    assert names(router) == ["c", "a"]


def test_lowered() -> None:
    """Where the policy allows it, a deployment of a lower tier is asked in its own tier, which is said; a later one no higher."""
    places = [place("a", tier=Tier.SFW), place("b", tier=Tier.NSFW)]
    tries = Router(places, [RoutePolicy(lower_tier=True)]).attempts(RouteRequest(tier=Tier.NSFW), 0.0)
    assert [attempt.tier for attempt in walk(tries, Failure.UNAVAILABLE)] == [Tier.SFW, Tier.SFW]
    assert tries.trace.degraded == ("fallback", "tier_lowered")
    assert tries.trace.to_dict()["degraded"] == ["fallback", "tier_lowered"]


_TIERS = st.sampled_from(Tier)
_PLACES = st.lists(
    st.builds(
        lambda name, tier, window, price, priority, active: place(
            f"d{name}", tier=tier, context_window=window, price=price, priority=priority, active=active
        ),
        st.integers(0, 30),
        _TIERS,
        st.none() | st.integers(1, 3000),
        st.none() | st.builds(Price, st.integers(0, 5)),
        st.integers(-2, 2),
        st.booleans(),
    ),
    unique_by=lambda one: one.name,
    max_size=12,
)
_REQUESTS = st.builds(RouteRequest, tier=_TIERS, input_tokens=st.integers(0, 2000), money=st.none() | st.just(0.004))
_POLICIES = st.builds(
    RoutePolicy,
    lower_tier=st.booleans(),
    attempts=st.integers(1, 6),
    criteria=st.permutations(["busy", "price", "priority"]).map(tuple),
)


@given(_PLACES, _REQUESTS, _POLICIES, st.lists(st.sampled_from(Failure), max_size=8))
def test_tiers_only_fall(
    places: list[Deployment], request: RouteRequest, policy: RoutePolicy, failures: list[Failure]
) -> None:
    """S6: no attempt is above its request, its deployment, or the attempt before; none is made twice; windows and bounds hold."""
    tries = Router(places, [policy]).attempts(request, 0.0)
    attempts = walk(tries, *failures)
    tiers = [request.tier, *(attempt.tier for attempt in attempts)]
    assert all(after.rank <= before.rank for before, after in pairwise(tiers))
    for attempt in attempts:
        one = attempt.deployment
        assert attempt.tier.rank <= one.tier.rank
        assert policy.lower_tier or attempt.tier is request.tier
        assert one.active
        assert one.context_window is None or one.context_window >= request.input_tokens
    assert len({attempt.deployment.name for attempt in attempts}) == len(attempts) <= policy.attempts
    assert request.money is None or tries.trace.spent <= request.money
    assert all(
        step.outcome == "answered" or CONSEQUENCES[Failure(step.outcome)].fallback for step in tries.trace.steps[:-1]
    )


@given(_PLACES, _REQUESTS, _POLICIES, st.integers(0, 20))
def test_a_decision_is_the_first_that_is_explained(
    places: list[Deployment], request: RouteRequest, policy: RoutePolicy, busy: int
) -> None:
    """What is decided from the order that is kept is what comes first where all are looked at and sorted."""
    router = Router(places, [policy])
    for _ in range(busy):
        router.attempts(RouteRequest(), 0.0).next(0.0)
    explained = router.explain(request, 0.0)
    attempt = router.attempts(request, 0.0).next(0.0)
    first = next((one.deployment for one in explained if not one.refused), None)
    assert (attempt and attempt.deployment.name) == first
    assert len(explained) == len(places)
    assert msgspec.to_builtins(router.explain(request, 0.0)) is not None


@pytest.mark.slow
def test_a_decision_costs_the_same_among_many() -> None:
    """Among a thousand deployments a decision takes hardly longer than among ten."""

    def seconds(count: int) -> float:
        router = Router([place(f"d{n}", price=Price(n % 13), priority=n % 7) for n in range(count)])
        for n in range(count):
            if n % 2:
                router.attempts(RouteRequest(), 0.0).next(0.0)

        def decide() -> None:
            tries = router.attempts(RouteRequest(input_tokens=10), 0.0)
            attempt = tries.next(0.0)
            assert attempt is not None
            tries.done(attempt, 0.0)

        return min(timeit.repeat(decide, timer=time.process_time, number=300, repeat=7))

    assert seconds(1000) < 4 * seconds(10)


def test_chosen_before() -> None:
    """Choices that are only looked at tell nothing; an attempt begins where it was chosen to; who was tried is left out."""
    router = Router([place("a", slots=1, price=Price(1.0)), place("b", price=Price(2.0))], [RoutePolicy(strikes=1)])
    tries = router.attempts(RouteRequest(without=frozenset({"none"})), 0.0)
    looked = [tries.next(0.0), tries.next(0.0)]
    for attempt in looked:
        assert attempt is not None
        tries.left(attempt)
    assert [attempt.deployment.name for attempt in looked if attempt] == ["a", "b"]
    assert (tries.next(0.0), tries.trace.steps) == (None, ())
    assert names(router, without=frozenset({"a"})) == ["b"]
    first = router.deployments[0]
    assert not router.is_full(first)
    router.enter(first)
    assert router.is_full(first)
    router.end(first, lambda health, _: health.failed(Failure.UNAVAILABLE, 0.0, RoutePolicy(strikes=1)))
    assert not router.is_full(first)
    assert names(router) == ["b"]
