"""Router: which deployment a request goes to, and to which next. It asks nobody: time and chance are given, attempts are told.

A request begins a `RouteAttempts`, which gives one attempt after the other within the bounds of its policy. Deployments are kept
in their order, so that a decision looks at those that come first, and costs the same among ten and a thousand.

>>> from innkeeper.inference.routing.deployment import Deployment
>>> from innkeeper.inference.routing.route import Route
>>> from innkeeper.inference.routing.router import Router, RouteRequest
>>> router = Router([Deployment(name="here", route=Route(name="here", model="local"))])
>>> attempts = router.attempts(RouteRequest(), now=0.0)
>>> attempts.next(0.0).deployment.name
'here'
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.failures import CONSEQUENCES, FREE, Failure
from innkeeper.inference.routing.health import WELL, Health
from innkeeper.inference.routing.policy import Criterion, RoutePolicy, policy_for
from innkeeper.inference.routing.price import MEDIA
from innkeeper.inference.routing.trace import Candidate, RouteStep, RouteTrace
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import UnavailableError
from innkeeper.prompt.tier import Tier

Reached: TypeAlias = Literal["planned", "sent", "answering", "passed_on"]
"""How far an attempt came that failed: nothing of it was sent, it was, it had begun to answer, or the caller had some of that."""

MAX_POOLS: Final = 256
"""Kinds of requests whose deployments are kept in order (no error: all are sorted anew)."""


class NoRouteError(UnavailableError):
    """No deployment may be asked. ``details`` count by reason those that were passed over; ``trace`` tells of attempts."""

    HINT = "`innkeeper admin route explain` tells of each why"

    def __init__(self, message: str, trace: RouteTrace, **kwargs: Any) -> None:
        if "price_unknown" in trace.skipped:
            kwargs.setdefault("hint", "money is bounded: set the price of a model (`pricing`), or leave the bound out")
        super().__init__(message, skipped=dict(trace.skipped), **kwargs)
        self.trace = trace


class RouteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a request needs of a deployment.

    ``task`` empty: any. ``tier`` is the effective one, which no attempt exceeds. ``input_tokens`` is what its smallest plan
    takes, ``output_tokens`` what is kept for the answer; ``pictures`` and ``seconds`` are what is to be made. ``money`` bounds
    all attempts, beside the policy.
    ``model`` asks for one model, ``routes`` are patterns of the names of deployments that may be asked; those that are named by
    ``without`` were tried before.
    """

    modality: str = "chat"
    task: str = ""
    tier: Tier = Tier.SFW
    needs: frozenset[str] = frozenset()
    input_tokens: int = 0
    output_tokens: int = 0
    pictures: int = 1
    seconds: float | None = None
    money: float | None = None
    model: str | None = None
    routes: tuple[str, ...] | None = None
    without: frozenset[str] = frozenset()


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt, to be planned for its deployment: for its dialect, its window, and this ``tier``.

    ``seconds`` is how long its first word may be waited for; ``estimate`` its money, None where nobody knows the price.
    """

    number: int
    deployment: Deployment
    tier: Tier
    seconds: float
    began: float
    estimate: float | None = None


class DeploymentReport(msgspec.Struct, frozen=True):
    """What a router knows of a deployment now.

    ``state`` is ``open``, or why nothing goes there: ``cooldown``, ``breaker_open``, ``quarantined``, ``inactive``; ``seconds``
    how long yet, 0 where no time ends it. ``failures`` came in a row, ``busy`` requests are under way, of so many ``slots``.
    """

    deployment: str
    provider: str
    model: str
    state: Literal["open", "cooldown", "breaker_open", "quarantined", "inactive"]
    seconds: float
    failures: int
    busy: int
    slots: int


class Router:
    """Deployments, their loads and their healths. Threads may share it.

    Args:
        deployments: where requests can go.
        policies: how; the default one where none fits.
        chance: numbers from 0 to 1, which spread the times at which breakers are tried again.
    """

    def __init__(
        self,
        deployments: Iterable[Deployment] = (),
        policies: Iterable[RoutePolicy] = (),
        *,
        chance: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._chance = chance
        self._lock = Lock()
        self._load: dict[str, int] = {}
        self._health: dict[str, Health] = {}
        self.update(deployments, policies)

    def update(self, deployments: Iterable[Deployment], policies: Iterable[RoutePolicy] = ()) -> None:
        """Take other deployments and policies. What is known of those that stay stays known; requests under way go on."""
        named = {one.name: one for one in deployments}
        with self._lock:
            self._deployments, self._policies = named, tuple(policies)
            self._all = tuple(named.values())
            self._health = {name: health for name, health in self._health.items() if name in named}
            self._pools: dict[_Kind, _Pool] = {}
            self._pools_of: dict[str, list[_Pool]] = {}

    @property
    def deployments(self) -> tuple[Deployment, ...]:
        """All of them."""
        return self._all

    def health(self, name: str) -> Health:
        """What is known of a deployment."""
        return self._health.get(name, WELL)

    def report(self, now: float) -> tuple[DeploymentReport, ...]:
        """Return what this router knows of its deployments, by name."""
        reports = []
        for name, one in sorted(self._deployments.items()):
            health = self.health(name)
            state = health.closed_to(now) or ("open" if one.active else "inactive")
            seconds, busy = round(health.seconds_closed(now), 1), self._load.get(name, 0)
            reports.append(
                DeploymentReport(
                    name, one.route.provider, one.route.model, state, seconds, health.failures, busy, one.slots
                )
            )
        return tuple(reports)

    def quarantine(self, name: str, *, lifted: bool = False) -> None:
        """Trust a deployment no more, or (``lifted``) again."""
        with self._lock:
            self._health[name] = msgspec.structs.replace(self.health(name), quarantined=not lifted)

    def attempts(self, request: RouteRequest, now: float) -> RouteAttempts:
        """Begin a request. ``now`` is in seconds of any clock that goes on evenly, the same for all calls."""
        return RouteAttempts(self, request, policy_for(self._policies, request.modality, request.task), now)

    def explain(self, request: RouteRequest, now: float) -> tuple[Candidate, ...]:
        """All deployments, those that would be tried first, in their order; of the others why not."""
        attempts = self.attempts(request, now)
        order = _Pool(self._deployments.values(), attempts.policy.criteria, self._load)
        candidates = [self._candidate(one, attempts, now) for one in order]
        tried = [one for one in candidates if not one.refused]
        placed = [msgspec.structs.replace(one, place=place) for place, one in enumerate(tried, 1)]
        return (*placed, *(one for one in candidates if one.refused))

    def _candidate(self, one: Deployment, attempts: RouteAttempts, now: float) -> Candidate:
        refused = attempts.refused(one, now)
        return Candidate(
            deployment=one.name,
            provider=one.route.provider,
            model=one.route.model,
            refused=refused or "",
            tier=Tier.lowest(attempts.tier, one.tier),
            busy=self._load.get(one.name, 0) / one.slots,
            estimate=attempts.estimate(one),
            priority=one.priority,
            context_window=one.context_window,
        )

    # ------------------------------------------------------------------------------------------------ for its `RouteAttempts`

    def begin(self, attempts: RouteAttempts, now: float) -> Deployment | None:
        """The best deployment for the next attempt, its load one more; None where there is none."""
        with self._lock:
            chosen = next((one for one in self._pool(attempts) if attempts.barred(one, now) is None), None)
            if chosen is not None:
                self._health[chosen.name] = self.health(chosen.name).begun()
                self._loaded(chosen, 1)
            return chosen

    def enter(self, one: Deployment) -> None:
        """An attempt begins on a deployment that was chosen before; `end` ends it."""
        with self._lock:
            self._health[one.name] = self.health(one.name).begun()
            self._loaded(one, 1)

    def is_full(self, one: Deployment) -> bool:
        """Whether as many requests are under way there as it serves at once."""
        return self._load.get(one.name, 0) >= one.slots

    def end(self, one: Deployment, change: Callable[[Health, float], Health]) -> None:
        """An attempt is over: its load is taken back, and what it told is kept."""
        with self._lock:
            self._loaded(one, -1)
            if one.name in self._deployments:
                self._health[one.name] = change(self.health(one.name), self._chance())

    def _loaded(self, one: Deployment, change: int) -> None:
        before = self._load.get(one.name, 0)
        after = max(before + change, 0)
        for pool in self._pools_of.get(one.name, ()):
            pool.move(one.name, before, after)
        if after:
            self._load[one.name] = after
        else:
            self._load.pop(one.name, None)

    def _pool(self, attempts: RouteAttempts) -> _Pool:
        kind = attempts.kind()
        pool = self._pools.get(kind)
        if pool is None:
            fit = [one for one in self._deployments.values() if kind.misfit(one) is None]
            pool = _Pool(fit, attempts.policy.criteria, self._load)
            self._keep(kind, pool, fit)
        return pool

    def _keep(self, kind: _Kind, pool: _Pool, fit: list[Deployment]) -> None:
        """Keep a pool for the next request of its kind."""
        if len(self._pools) >= MAX_POOLS:
            self._pools, self._pools_of = {}, {}
        self._pools[kind] = pool
        for one in fit:
            self._pools_of.setdefault(one.name, []).append(pool)


def is_allowed(name: str, routes: Sequence[str] | None) -> bool:
    """Whether patterns let a deployment be asked, and named; None lets all."""
    return routes is None or any(fnmatchcase(name, pattern) for pattern in routes)


class _Kind(NamedTuple):
    """What decides which deployments come into question, whatever has happened so far. ``window`` is a power of two or 0."""

    modality: str
    task: str
    model: str | None
    needs: frozenset[str]
    tier: Tier
    window: int
    order: tuple[Criterion, ...]

    def misfit(self, one: Deployment) -> str | None:
        """Why a deployment does not come into question; None where it does."""
        return next((reason for reason, fails in _MISFITS if fails(self, one)), None)


_MISFITS: Final[tuple[tuple[str, Callable[[_Kind, Deployment], bool]], ...]] = (
    ("modality", lambda kind, one: one.modality != kind.modality),
    ("task", lambda kind, one: kind.task not in {"", *one.tasks}),
    ("model", lambda kind, one: kind.model not in {None, one.route.model}),
    ("inactive", lambda _, one: not one.active),
    ("tier_ceiling", lambda kind, one: one.tier.rank < kind.tier.rank),
    ("capability", lambda kind, one: not kind.needs <= one.abilities),
    ("context_window", lambda kind, one: one.context_window is not None and one.context_window < kind.window),
)


class _Pool:
    """Deployments for one kind of request, in order."""

    def __init__(self, deployments: Iterable[Deployment], order: Sequence[Criterion], load: dict[str, int]) -> None:
        self._order = tuple(order)
        self._named = {one.name: one for one in deployments}
        self._sorted = sorted(self._key(one, load.get(one.name, 0)) for one in self._named.values())

    def __iter__(self) -> Iterator[Deployment]:
        named = self._named
        return (named[key[-1]] for key in self._sorted)

    def move(self, name: str, before: int, after: int) -> None:
        """Put a deployment where it belongs by its new load."""
        one = self._named[name]
        del self._sorted[bisect_left(self._sorted, self._key(one, before))]
        insort(self._sorted, self._key(one, after))

    def _key(self, one: Deployment, load: int) -> tuple[Any, ...]:
        """What it is ordered by; its name last, so that no two are equal."""
        values = {"busy": load / one.slots, "price": one.price_rank, "priority": one.priority}
        return (*(values[name] for name in self._order), one.name)


class RouteAttempts:
    """One request on its way. Ask `next`, carry the attempt out, and tell `done` or `failed`; `trace` tells all of it.

    The tier of an attempt is at most that of the one before, which is at most the request's. ``cheapest`` is the least that
    an attempt would have cost, where money stood in the way.
    """

    def __init__(self, router: Router, request: RouteRequest, policy: RoutePolicy, began: float) -> None:
        self.request, self.policy, self.began = request, policy, began
        self.tier, self.spent, self.ended = request.tier, 0.0, ""
        self.cheapest: float | None = None
        self._router = router
        self._steps: list[RouteStep] = []
        self._tried: set[str] = set()
        self._least_window = 0
        self._skipped: Counter[str] = Counter()
        bounds = [money for money in (request.money, policy.money) if money is not None]
        self._money = min(bounds) if bounds else None
        self._needed = request.input_tokens + request.output_tokens

    @property
    def trace(self) -> RouteTrace:
        """What has happened so far."""
        request = self.request
        return RouteTrace(
            policy=self.policy.name,
            modality=request.modality,
            task=request.task,
            tier=request.tier,
            steps=tuple(self._steps),
            ended=self.ended,
            spent=round(self.spent, 9),
            skipped=FrozenDict(self._skipped),
        )

    def next(self, now: float) -> Attempt | None:
        """The next attempt; None where the request has ended, and `trace` says why."""
        left = self.policy.seconds - (now - self.began)
        if self.ended or len(self._steps) >= self.policy.attempts or left <= 0:
            self.ended = self.ended or ("seconds" if left <= 0 else "attempts")
            return None
        chosen = self._router.begin(self, now)
        if chosen is None:
            self.ended = "no_deployment"
            reasons = [(one, self.refused(one, now)) for one in self._router.deployments]
            self._skipped = Counter(reason for _, reason in reasons if reason)
            self.cheapest = min(
                (self.estimate(one) or 0.0 for one, reason in reasons if reason == "budget"), default=None
            )
            return None
        self._tried.add(chosen.name)
        self.tier = Tier.lowest(self.tier, chosen.tier)
        return Attempt(
            number=len(self._steps) + 1,
            deployment=chosen,
            tier=self.tier,
            seconds=min(left, self.policy.first_seconds),
            began=now,
            estimate=self.estimate(chosen),
        )

    def done(self, attempt: Attempt, now: float, *, body_sha256: str = "", cost: float | None = None) -> None:
        """An attempt was answered, a refusal of the model included. ``cost`` is what it took, where that is known."""
        self._over(attempt, now, "answered", cost, body_sha256=body_sha256)
        self.ended = "answered"
        self._router.end(attempt.deployment, lambda health, _: health.succeeded())

    def failed(
        self,
        attempt: Attempt,
        failure: Failure,
        now: float,
        *,
        error: str = "",
        asked: float | None = None,
        body_sha256: str = "",
        reached: Reached = "sent",
    ) -> bool:
        """An attempt failed; whether another may follow.

        Args:
            attempt: which.
            failure: the kind.
            now: the moment.
            error: the kind of the error.
            asked: seconds that the provider asks to be left alone.
            body_sha256: what was sent.
            reached: how far it came. It took its estimate if a model may have worked: surely not where nothing was sent, surely
                where it was answering, else by the kind (`FREE`). Nothing follows what was passed on.
        """
        one = attempt.deployment
        free = reached == "planned" or (reached == "sent" and failure in FREE)
        self._over(attempt, now, failure.value, 0.0 if free else None, error=error, body_sha256=body_sha256)
        self._router.end(one, lambda health, chance: health.failed(failure, now, self.policy, asked, chance))
        if failure is Failure.CONTEXT_LENGTH:
            self._least_window = max(self._least_window, (one.context_window or self._needed) + 1)
        if reached == "passed_on" or not CONSEQUENCES[failure].fallback:
            self.ended = failure.value
        return not self.ended

    def left(self, attempt: Attempt) -> None:
        """An attempt was not carried out: it tells nothing of its deployment, and the next is another."""
        self._router.end(attempt.deployment, lambda health, _: health.left())

    def estimate(self, one: Deployment) -> float | None:
        """What an attempt would cost; None where nobody knows a price."""
        price, request = one.price, self.request
        if price is None:
            return None
        if one.modality in MEDIA:
            return price.of_media(request.pictures, request.seconds)
        return price.of(request.input_tokens, request.output_tokens)

    def kind(self) -> _Kind:
        """What kind of deployments come into question."""
        request, needed = self.request, self._needed
        tier = Tier.SFW if self.policy.lower_tier else self.tier
        window = 1 << needed.bit_length() >> 1
        order = self.policy.criteria
        return _Kind(request.modality, request.task, request.model, request.needs, tier, window, order)

    def refused(self, one: Deployment, now: float) -> str | None:
        """Why a deployment is not tried now; None where it may be."""
        return self.kind().misfit(one) or self.barred(one, now)

    def barred(self, one: Deployment, now: float) -> str | None:
        """Why one of the right kind is not tried now."""
        if one.lease_until is not None and one.lease_until <= now:
            return "lease_over"
        window = one.context_window
        if window < max(self._needed, self._least_window) if window is not None else self._least_window:
            return "context_window"
        if self._money is not None:
            estimate = self.estimate(one)
            if estimate is None or self.spent + estimate > self._money:
                return "price_unknown" if estimate is None else "budget"
        if one.name in self._tried or one.name in self.request.without:
            return "tried"
        if not is_allowed(one.name, self.request.routes):
            return "not_allowed"
        return self._router.health(one.name).closed_to(now)

    def _over(self, attempt: Attempt, now: float, outcome: str, known: float | None, **facts: str) -> None:
        """Record an attempt; ``known`` is what it took, None where its estimate has to do."""
        route, cost = attempt.deployment.route, attempt.estimate if known is None else known
        self.spent += cost or 0.0
        source = "catalogue" if known else "estimate" if known is None and cost else ""
        step = RouteStep(
            number=attempt.number,
            deployment=attempt.deployment.name,
            provider=route.provider,
            model=route.model,
            worker=attempt.deployment.worker,
            tier=attempt.tier,
            outcome=outcome,
            estimate=attempt.estimate,
            cost=cost,
            cost_source=source,
            began_ms=round((attempt.began - self.began) * 1000, 3),
            ms=round((now - attempt.began) * 1000, 3),
            **facts,
        )
        self._steps.append(step)
