"""Work: how much is done at once, and for whom: what each call may do and holds, and what is known of it when it has ended.

One caller is one key, or one address where no key is needed. Nobody holds more than a share (`SHARE`) of anything.

A `CallRecord` is for logs, metrics, spans and quotas; it holds no text of a prompt. The guard begins it and says how it ended;
the surface that answers fills in what only it knows; what it has asked and used is written down by its `Ticket` alone::

    record = request.scope["innkeeper.ticket"].record
    record.answered(response)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil, inf
from time import monotonic
from typing import Any, Final

from innkeeper.inference.local.shared import LOCAL
from innkeeper.inference.local.turns import CALLER, SECONDS
from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.inference.routing.meter import METER, MeteredCall
from innkeeper.inference.routing.models import ModelCard
from innkeeper.inference.routing.price import Price
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.machine import utc_now
from innkeeper.service.errors import (
    MAX_ANSWERS,
    MAX_LAG,
    RETRY_SECONDS,
    SHARE,
    ConcurrencyLimitError,
    OverloadError,
    PriceUnknownError,
)
from innkeeper.service.guard.accounts import (
    Ledger,
    Quotas,
    RoutePrice,
    account_of,
    afford,
    cost_of,
    price_on,
    quota_headers,
    spendings_in_memory,
)
from innkeeper.service.guard.callers import AuthThrottle
from innkeeper.service.guard.grants import ANSWERING, Keys

SOCKET: Final = "WEBSOCKET"
"""The method of a call that is a WebSocket, or one message of it."""

ANTHROPIC_PATHS: Final = "/v1/messages"
"""What the paths of Anthropic's surface begin with."""

SWITCHED: Final = 101
"""The status of a WebSocket that was opened."""


@dataclass(slots=True)
class CallRecord:
    """One call. Moments are seconds of one clock that only runs forward; `moment` makes them times of the day.

    ``first`` is when the first byte of the answer's body went out, ``asked`` when the model was asked. ``error`` is the kind of
    an error, ``upstream`` the address behind it and what the connection said. ``body_sha256`` is of what the provider was sent,
    ``mode`` how that was made. ``cost`` is by the prices of the service.
    ``guess`` is what answers must have taken whose providers have not told, about four bytes a token.
    """

    number: str = ""
    caller: str = ""
    method: str = ""
    path: str = ""
    surface: str | None = None
    trace: str = ""
    operation: str = ""
    route: str = ""
    profile: str = ""
    provider: str = ""
    model: str = ""
    answered_by: str = ""
    response_id: str = ""
    finish_reason: str = ""
    status: int = 0
    error: str = ""
    upstream: str = ""
    mode: str = ""
    body_sha256: str = ""
    usage: Usage = field(default_factory=Usage)
    guess: Usage = field(default_factory=Usage)
    cost: float = 0.0
    at: datetime = field(default_factory=utc_now)
    began: float = field(default_factory=monotonic)
    asked: float | None = None
    first: float | None = None
    ended: float | None = None

    def asks(self, **names: str) -> None:
        """A model is asked now: ``route``, ``provider``, ``model``, ``profile``, ``operation`` (``chat`` and the like)."""
        self.asked = monotonic()
        for name, value in names.items():
            setattr(self, name, value)

    def failed(self, error: InnkeeperError) -> None:
        """The call ends with an error."""
        self.error, self.upstream = error.kind, getattr(error, "origin", "")

    def answered(self, response: ModelResponse) -> None:
        """The model has answered; in a call with several turns once for each."""
        self.model = self.model or response.model
        self.answered_by = str(response.provider.get("model") or response.model)
        self.response_id, self.finish_reason = response.id, response.finish or ""

    def book(self, usage: Usage, cost: float, *, estimated: bool) -> None:
        """Add what an answer has used, as the route's meter counts it. Estimated tokens are charged, and not shown as usage."""
        self.cost += cost
        if estimated:
            self.guess = _sum(self.guess, usage)
        else:
            self.usage = _sum(self.usage, usage)

    @property
    def tokens(self) -> int:
        """Tokens of prompt and answer: what providers have reported, and estimates where they have not."""
        counts = ((each.input_tokens or 0) + (each.output_tokens or 0) for each in (self.usage, self.guess))
        return sum(counts)

    @property
    def seconds(self) -> float:
        """How long the call took, or has taken so far."""
        return (monotonic() if self.ended is None else self.ended) - self.began

    def moment(self, clock: float) -> datetime:
        """The time of the day of one of the moments."""
        return self.at + timedelta(seconds=clock - self.began)


def _sum(one: Usage, other: Usage) -> Usage:
    """Both together; what neither says stays unknown."""
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in Usage.__struct_fields__)
    return Usage(**{name: (a or 0) + (b or 0) for name, a, b in pairs if (a, b) != (None, None)})


Observer = Callable[[CallRecord], Any]
"""What is called with each call that has ended."""


def share(amount: int) -> int:
    """How much of an amount one caller may hold: less than all of it, but of one the one."""
    return max(1, min(ceil(amount * SHARE), amount - 1))


class Gate:
    """How much is let in: calls that compute, calls that wait for a model, and the bytes that they bring and are answered with.

    What ``keys`` grant is seen to here, so that all surfaces count together. ``ledger`` has what they have spent. ``seconds``
    is how long the model on this machine may take for one call, waiting included.
    """

    def __init__(
        self,
        *,
        calls: int,
        volume: int,
        answers: int = MAX_ANSWERS,
        keys: Keys | None = None,
        prices: Sequence[RoutePrice] = (),
        ledger: Ledger | None = None,
        seconds: float = inf,
    ) -> None:
        self._calls, self._seconds = calls, seconds
        self._volume = volume
        self._answers = answers
        self.keys = Keys() if keys is None else keys
        self.throttle = AuthThrottle(self.keys)
        self.prices = prices
        self.calls: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.volume: Counter[str] = Counter()
        self.quotas = Quotas()
        self.ledger = Ledger(spendings_in_memory) if ledger is None else ledger
        self.lag = Lag()
        self.observers: tuple[Observer, ...] = ()

    @contextmanager
    def ticket(self, caller: str, record: CallRecord | None = None) -> Iterator[Ticket]:
        """What one call holds; all of it is given back at the end of the block, and what it used is charged."""
        ticket = Ticket(self, caller, record or CallRecord(caller=caller))
        _CURRENT.set(ticket)  # each call is a task of its own
        METER.set(ticket)
        CALLER.set(caller)
        SECONDS.set(self._seconds)
        try:
            yield ticket
        finally:
            ticket.is_over = True
            give_back(self.volume, caller, ticket.size)
            give_back(self.calls, caller, ticket.calls)
            give_back(self.answers, caller, ticket.answers)
            self._charge(ticket)

    def _charge(self, ticket: Ticket) -> None:
        """Take what a call has used."""
        self.quotas.charge(ticket.caller, ticket.grant, ticket.record.tokens)
        account = account_of(ticket.caller, ticket.grant)
        if account is not None and ticket.record.cost:
            self.ledger.charge(account, ticket.record.cost)

    @contextmanager
    def recorded(self, record: CallRecord) -> Iterator[None]:
        """Record how the call ends that this block answers, for those who observe: of calls that are no requests of HTTP."""
        try:
            yield
            record.status = record.status or 200
        except InnkeeperError as error:
            record.status = error.http_status
            record.failed(error)
            raise
        except Exception as error:
            record.status, record.error = 500, type(error).__name__
            raise
        finally:
            self.ended(record)

    def ended(self, record: CallRecord) -> None:
        """Tell those who observe that a call has ended."""
        record.ended = monotonic()
        for observe in self.observers:
            observe(record)

    def enter(self, caller: str) -> None:
        """Let a call in. Raises `OverloadError` where there are too many, or too many of this caller."""
        self._take(self.calls, caller, 1, self._calls, "calls", "MAX_CALLS")

    def wait(self, caller: str, count: int = 1) -> None:
        """Let a call in that is to wait for so many answers of models. Raises `OverloadError`."""
        self._take(self.answers, caller, count, self._answers, "answers", "MAX_ANSWERS")

    def carry(self, caller: str, size: int) -> None:
        """Take ``size`` bytes more. Raises `OverloadError` where all calls together hold too many, or this caller's."""
        self._take(self.volume, caller, size, self._volume, "bytes", "MAX_BODIES")

    @staticmethod
    def _take(held: Counter[str], caller: str, amount: int, allowed: int, what: str, limit: str) -> None:
        if held.total() + amount > allowed or held[caller] + amount > share(allowed):
            raise OverloadError(f"{what} at once", limit=limit, allowed=allowed, retry_after=RETRY_SECONDS)
        held[caller] += amount


class Lag:
    """How late an event loop is, on average of the last moments. It is measured while calls ask for it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._asked = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def check(self) -> None:
        """Let a call pass unless the loop is too late. Raises `OverloadError`."""
        self._asked = True
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self.seconds = loop, 0.0
            loop.call_later(_LAG_EVERY, self._tick, loop, loop.time() + _LAG_EVERY)
        if self.seconds > MAX_LAG:
            raise OverloadError("seconds behind", limit="MAX_LAG", allowed=MAX_LAG, retry_after=RETRY_SECONDS)

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        if self._loop is not loop:
            return
        if not self._asked:
            self._loop, self.seconds = None, 0.0
            return
        late = min(loop.time() - due, _LAG_MOST)
        self.seconds += (late - self.seconds) * _LAG_WEIGHT
        self._asked = self.seconds > MAX_LAG / 2
        loop.call_later(_LAG_EVERY, self._tick, loop, loop.time() + _LAG_EVERY)


_LAG_EVERY: Final = 0.05
_LAG_MOST: Final = 3 * MAX_LAG
"""One moment counts for no more, so that a single one (a library is imported, a process sleeps) turns nobody away."""
_LAG_WEIGHT: Final = 0.3


def give_back(held: Counter[str], caller: str, amount: int) -> None:
    """Take from what a caller holds."""
    held[caller] -= amount
    if held[caller] <= 0:
        del held[caller]


_TELLS_COST: Final = frozenset({LOCAL, "openrouter"})
"""Whose answers cost nothing, or say what they cost."""


class Ticket:
    """One call of a caller: what it may do (`grant`), what it holds, and what is known of it (`record`).

    ``money`` is what it may cost at most by what its caller may still spend, None where nothing bounds it.
    ``caller`` is also who owns what the call stores: a key's name, or, where there are no keys, `EVERYBODY`.
    """

    def __init__(self, gate: Gate, caller: str, record: CallRecord) -> None:
        self._gate = gate
        self.caller = caller
        self.grant = gate.keys.grant(caller)
        self.owner = caller if gate.keys else EVERYBODY
        self.record = record
        self.money: float | None = None
        self.calls = 0
        self.answers = 0
        self.size = 0
        self.is_over = False

    def admit(self, call: MeteredCall) -> None:
        """Check that this call may use a profile, or else a route. See `Meter`.

        Raises:
            ScopeError: the key may not.
            PriceUnknownError: its money is bounded, and nobody knows what the route costs.
        """
        if self.is_over:  # a task that the call left behind works for the service
            return
        pricing = call.pricing
        route = call.route if pricing is None else pricing.deployment
        allowed = route if pricing is None else pricing.name
        self.grant.check("profile" if call.profile else "route", call.profile or allowed)
        listed = Price.known(call.provider, call.model)
        priced = pricing is not None or call.provider in _TELLS_COST or price_on(route, self._gate.prices, listed)
        if self.grant.spend is not None and not priced:
            raise PriceUnknownError(route)
        self.record.asks(route=route, provider=call.provider, model=call.model)
        self.record.profile = call.profile or self.record.profile

    def may_know(self, card: ModelCard) -> bool:
        """Whether this caller may know of a model."""
        return card.tenant in ("", self.grant.tenant) and card.only in ("", self.owner)

    def may_ask(self, card: ModelCard) -> bool:
        """Whether this caller may know of a model, and ask it."""
        return self.may_know(card) and self.grant.allows(card.kind, card.name)

    def book(self, call: MeteredCall, usage: Usage, cost: float | None, *, estimated: bool, finish: str = "") -> None:
        """Charge what an answer has used, by the price of its route where ``cost`` is unknown. See `Meter`."""
        if self.is_over:
            return
        self.record.finish_reason = finish or self.record.finish_reason
        if cost is None:
            cost = cost_of(call.route, usage, self._gate.prices, Price.known(call.provider, call.model))
        self.record.book(usage, cost, estimated=estimated)

    def charge_work(self, operation: str, *, model: str, provider: str, cost: float | None) -> None:
        """Charge work that is not an answer of a model, as a picture is, and record who does it."""
        self.record.asks(operation=operation, model=model, provider=provider)
        self.record.cost += cost or 0.0

    async def afford(self) -> None:
        """See that there is money left. Raises `SpendLimitError`, `DatabaseError`."""
        self.money = await afford(self._gate.ledger, self.caller, self.grant)

    def enter(self, surface: str | None = None) -> None:
        """Begin to be answered.

        Raises:
            ScopeError: the key may not use this surface.
            OverloadError: there is too much going on.
            ConcurrencyLimitError, RateLimitError, TokenRateLimitError: for this key.
        """
        self.grant.check_surface(surface)
        most, held = self.grant.calls, self._gate.calls[self.caller] + self._gate.answers[self.caller]
        if most is not None and held >= most:
            raise ConcurrencyLimitError(
                "this key may have {allowed} requests under way at once",
                limit="calls",
                allowed=most,
                retry_after=RETRY_SECONDS,
            )
        if surface in ANSWERING:
            self._gate.wait(self.caller)
            self.answers = 1
        else:
            self._gate.enter(self.caller)
            self.calls = 1
        self._gate.quotas.enter(self.caller, self.grant)

    def quota_headers(self) -> dict[str, str]:
        """Return what is left of this key's requests and tokens, as the clients of this surface read it."""
        levels = self._gate.quotas.levels(self.caller, self.grant)
        return quota_headers(levels, utc_now(), anthropic=self.record.path.startswith(ANTHROPIC_PATHS))

    def widen(self, count: int) -> None:
        """Wait for so many answers more. Raises `OverloadError`, `ConcurrencyLimitError`; then no more is held."""
        most, held = self.grant.calls, self._gate.calls[self.caller] + self._gate.answers[self.caller]
        if most is not None and count and held + count > most:
            raise ConcurrencyLimitError(
                "this key may have {allowed} requests under way at once",
                limit="calls",
                allowed=most,
                retry_after=RETRY_SECONDS,
            )
        if count:
            self._gate.wait(self.caller, count)
            self.answers += count

    def carry(self, size: int) -> None:
        """Hold ``size`` bytes more. Raises `OverloadError`."""
        self._gate.carry(self.caller, size)
        self.size += size


_CURRENT: Final[ContextVar[Ticket]] = ContextVar("ticket")


def current_ticket() -> Ticket | None:
    """The ticket of the call that this task answers."""
    return _CURRENT.get(None)


EVERYBODY: Final = "everybody"
"""Who owns what is stored where no keys tell callers apart: the people at this machine."""
