"""Meter: who asks for a model: what they may ask, and what their answers use.

`RouteModels` and the prompt service look for the meter of the running call each time a model is asked, so that no caller of them
can forget to check or to charge. Where no call is metered (on the command line, in workers) everything is allowed and nothing is
counted.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol

from innkeeper.inference.response.events import (
    CallDelta,
    Finished,
    ModelEvent,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    UsageReport,
)
from innkeeper.inference.response.response import Usage, byte_count, estimated_usage
from innkeeper.inference.routing.failures import FREE, failure_of
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.tokens.media import body_tokens


class Pricing(NamedTuple):
    """How an attempt of a router is allowed and priced.

    ``name`` is what the caller asked for, which is checked in place of the route: ``auto``, or the deployment. ``cost`` gives
    the price of a usage, None where the catalogue has none. ``estimate`` is what the attempt would use at most.
    """

    name: str
    deployment: str
    cost: Callable[[Usage], float] | None
    estimate: Usage


class MeteredCall(NamedTuple):
    """One request to a route, as its meter sees it."""

    route: str
    provider: str
    model: str
    profile: str = ""
    sent: bytes = b""
    pricing: Pricing | None = None


class Meter(Protocol):
    """The grant and the account of one call."""

    def admit(self, call: MeteredCall) -> None:
        """Check that the route may be asked, or the profile that stands before it. Raises an error where it may not."""
        ...

    def book(self, call: MeteredCall, usage: Usage, cost: float | None, *, estimated: bool, finish: str = "") -> None:
        """Charge what one answer has used.

        Args:
            call: the request.
            usage: its tokens.
            cost: what they cost; None: by the service's prices.
            estimated: the provider did not report the usage.
            finish: why the model ended.
        """
        ...


METER: Final[ContextVar[Meter | None]] = ContextVar("meter", default=None)
"""The meter of the call that this task answers."""


def admitted(call: MeteredCall) -> Meter | None:
    """Return the meter of the running call, which may ask this route; None where no call is metered.

    Raises what `Meter.admit` raises.
    """
    meter = METER.get()
    if meter is not None:
        meter.admit(call)
    return meter


def metered(events: AsyncGenerator[ModelEvent], meter: Meter | None, call: MeteredCall) -> AsyncGenerator[ModelEvent]:
    """Return the events of an answer, whose usage the meter books when it ends. Without a meter they are as they came."""
    return events if meter is None else _booked(events, meter, call)


async def _booked(events: AsyncGenerator[ModelEvent], meter: Meter, call: MeteredCall) -> AsyncGenerator[ModelEvent]:
    """Pass the events of an answer on, and book its usage when it ends, also where it is closed in the middle.

    What the provider does not report is estimated: four bytes a token, and media by their rule. An attempt of a router that
    ends before its first event has used its estimate, unless it is known that no model has worked.
    """
    total, free = _UsageTotal(), False
    try:
        async with aclosing(events):
            async for event in events:
                total.add(event)
                yield event
    except Exception as error:
        free = failure_of(error) in FREE
        raise
    finally:
        usage, pricing = total.usage, call.pricing
        if not total.began:
            usage = Usage() if free or pricing is None else pricing.estimate
        elif not usage.tells_both:
            guess = estimated_usage(body_tokens(call.sent), total.received)
            usage = usage.whole(guess) or guess
        else:
            usage = usage.whole() or usage
        if usage != Usage():
            cost = _reported_cost(total.facts)
            if cost is None and pricing is not None and pricing.cost is not None:
                cost = pricing.cost(usage)
            meter.book(call, usage, cost, estimated=not total.usage.tells_both, finish=total.finish)


class _UsageTotal:
    """What the events of an answer tell of its usage so far. ``received`` counts bytes of what the model has written."""

    def __init__(self) -> None:
        self.usage, self.facts = Usage(), EMPTY
        self.received, self.finish, self.began = 0, "", False

    def add(self, event: ModelEvent) -> None:
        """Count one event."""
        self.began = True
        match event:
            case UsageReport():
                self.usage = self.usage.updated(event.usage)
            case TextDelta(text=text) | RefusalDelta(text=text) | ReasoningDelta(text=text) | CallDelta(arguments=text):
                self.received += byte_count(text)
            case Finished(reason=reason):
                self.finish = reason or ""
            case Started(facts=facts):
                self.facts = FrozenDict({**self.facts, **facts})


def book_embeddings(meter: Meter | None, call: MeteredCall, body: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    """Book what embeddings have used, as the reply reports it, or estimated by the size of the input."""
    if meter is None:
        return
    usage = reply.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    reported = isinstance(tokens, int) and tokens > 0
    count = tokens if reported else -(-len(str(body.get("input") or "").encode("utf-8", "replace")) // 4)
    meter.book(call, Usage(input_tokens=count, total_tokens=count), None, estimated=not reported)


def _reported_cost(facts: FrozenDict) -> float | None:
    """Return the cost that the provider reports beside the tokens, as OpenRouter does; None where it reports none."""
    usage = facts.get("usage")
    cost = usage.get("cost") if isinstance(usage, FrozenDict) else None
    if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost <= MAX_REPORTED_COST:
        return None
    return float(cost)


MAX_REPORTED_COST: Final = 10_000.0
"""The most that an answer is believed to have cost by its provider's word (no error: more counts as not told)."""
