"""Where a request goes: one decision among many deployments, held against one among ten."""

from collections.abc import Callable, Iterator

from benchmarks.case import Case
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.route import Route
from innkeeper.inference.routing.router import Router, RouteRequest

TASKS = frozenset({"roleplay", "enhancement"})


def cases() -> Iterator[Case]:
    """A thousand, idle and half of them busy."""
    for name, busy in (("idle", 0), ("half of them busy", 2)):
        many, few = _decision(1_000, busy), _decision(10, busy)
        yield Case(
            f"route, 1,000 deployments, {name}", many, few, "10 deployments", "a decision, an attempt and its end"
        )


def _decision(count: int, busy: int) -> Callable[[], object]:
    router = Router(_deployment(number) for number in range(count))
    for _ in range(count // busy if busy else 0):
        router.attempts(RouteRequest(task="roleplay"), 0.0).next(0.0)

    def decide() -> None:
        attempts = router.attempts(RouteRequest(task="roleplay", input_tokens=900, output_tokens=300), 0.0)
        attempt = attempts.next(0.0)
        assert attempt is not None
        attempts.done(attempt, 0.0)

    return decide


def _deployment(number: int) -> Deployment:
    name = f"d{number}"
    price = Price(number % 13, number % 17)
    return Deployment(
        name=name,
        route=Route(name=name, model="m"),
        tasks=TASKS,
        price=price,
        priority=number % 7,
        context_window=8_192,
    )
