"""A route that is asked checks and books for the running call, whoever asks."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest

from innkeeper.inference.errors import (
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    ReplyError,
)
from innkeeper.inference.response.events import Finished, ModelEvent, Started, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.meter import MeteredCall, Pricing, metered
from innkeeper.inference.routing.price import Price
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, ProviderError, UsageError
from innkeeper.tokens.media import body_tokens


class Account:
    """A meter that keeps what is booked."""

    def __init__(self) -> None:
        self.booked: list[Any] = []

    def admit(self, call: MeteredCall) -> None:
        """Allow everything."""

    def book(self, call: MeteredCall, usage: Usage, cost: float | None, *, estimated: bool, finish: str = "") -> None:
        """Keep it."""
        self.booked.append((usage, cost, estimated, finish))


def booked(*events: ModelEvent | Exception, take: int = 9, pricing: Pricing | None = None) -> list[Any]:
    """What an answer books of which some events are taken."""
    account = Account()

    async def answer() -> AsyncGenerator[ModelEvent]:
        for event in events:
            if isinstance(event, Exception):
                raise event
            yield event

    async def run() -> None:
        answering = metered(answer(), account, MeteredCall("dear", "inn", "huge", "wenna", b"x" * 41, pricing))
        with suppress(InnkeeperError):
            for _ in range(take):
                if await anext(answering, None) is None:
                    break
        await answering.aclose()

    asyncio.run(run())
    return account.booked


def test_reports_are_booked_once() -> None:
    """The later report replaces the earlier one field by field."""
    first, last = Usage(input_tokens=9), Usage(output_tokens=3)
    events = UsageReport(usage=first), TextDelta(text="Aye."), UsageReport(usage=last)
    assert booked(*events) == [(Usage(input_tokens=9, output_tokens=3), None, False, "")]


def test_without_a_report_usage_is_estimated() -> None:
    """Also of an answer that is closed in the middle."""
    events = Started(), TextDelta(text="Aye, she is."), TextDelta(text="More.")
    assert booked(*events, take=2) == [(Usage(input_tokens=11, output_tokens=3), None, True, "")]


def test_an_estimate_counts_media_by_their_rule() -> None:
    """A picture of half a megabyte costs what its size says, in whatever protocol it is written."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (512).to_bytes(4, "big") * 2
    data = b64encode(head + bytes(500_000)).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    for part in ({"url": f"data:image/png;base64,{data}"}, {"source": source}, {"inlineData": {"data": data}}):
        tokens = body_tokens(json.dumps({"model": "m", "messages": [part]}).encode())
        assert 255 <= tokens < 400
    assert body_tokens(b'"' + b64encode(bytes(3_000)) + b'"') == 1_001


@pytest.mark.parametrize(("told", "cost"), [(0.5, 0.5), (1e308, None), (-1, None), (float("nan"), None), (True, None)])
def test_a_cost_that_cannot_be_is_not_told(told: Any, cost: float | None) -> None:
    """A provider's slip does not spend a key's money."""
    events = (
        Started(facts=FrozenDict(usage=FrozenDict(cost=told))),
        UsageReport(usage=Usage(input_tokens=1, output_tokens=1)),
    )
    assert booked(*events)[0][1] == cost


def test_what_was_never_asked_for_costs_nothing() -> None:
    """Nothing is sent before the first event is wanted."""
    assert booked(TextDelta(text="Aye."), take=0) == []
    assert booked() == []


@pytest.mark.parametrize(
    ("told", "usage", "estimated"),
    [
        (Usage(total_tokens=9), Usage(input_tokens=11, output_tokens=1, total_tokens=12), True),
        (Usage(input_tokens=5), Usage(input_tokens=5, output_tokens=1), True),
        (Usage(output_tokens=4, total_tokens=9), Usage(input_tokens=5, output_tokens=4, total_tokens=9), False),
    ],
    ids=["a total alone", "the prompt alone", "the answer and the total"],
)
def test_what_is_told_in_part_is_not_free(told: Usage, usage: Usage, estimated: bool) -> None:
    """What lacks follows from the total, else it is estimated, and marked: a price never counts it as nothing."""
    (line,) = booked(TextDelta(text="Aye."), UsageReport(usage=told))
    assert (line[0].input_tokens, line[0].output_tokens, line[2]) == (
        usage.input_tokens,
        usage.output_tokens,
        estimated,
    )


ATTEMPT = Pricing("auto", "there/big", Price(input=1e6, output=2e6).of_usage, Usage(input_tokens=5, output_tokens=7))


def test_an_attempt_of_a_router_has_its_own_price() -> None:
    """The provider's figure where it reports one, else the catalogue's; one that fails unheard has used its estimate."""
    report, end = UsageReport(usage=Usage(input_tokens=1, output_tokens=1)), Finished(reason="stop")
    assert booked(report, end, pricing=ATTEMPT) == [(report.usage, 3.0, False, "stop")]
    first = Started(facts=FrozenDict(usage=FrozenDict(cost=0.5)))
    assert booked(first, report, pricing=ATTEMPT) == [(report.usage, 0.5, False, "")]
    assert booked(ProviderError("it broke"), pricing=ATTEMPT) == [(ATTEMPT.estimate, 19.0, True, "")]
    assert booked(UsageError("not so"), pricing=ATTEMPT) == []


@pytest.mark.parametrize(
    "error",
    [
        ProviderConnectionError("no such name", opened=False),
        ProviderTimeoutError("no connection", phase="open"),
        HttpError("down", status=500, headers={}, sample=""),
        HttpError("overloaded", status=503, headers={}, sample=""),
        HttpError("the gateway gives up", status=504, headers={}, sample=""),
        ReplyError("overloaded", code="overloaded_error"),
    ],
    ids=str,
)
def test_what_a_provider_did_not_do_is_not_charged(error: InnkeeperError) -> None:
    """Neither where nothing was sent, nor where it answered that it failed."""
    assert booked(error, pricing=ATTEMPT) == []


@pytest.mark.parametrize(
    "error",
    [
        ProviderConnectionError("broke"),
        ProviderTimeoutError("silent", phase="read"),
        DecodeError("no protocol"),
    ],
    ids=str,
)
def test_what_nobody_knows_is_charged_as_an_estimate(error: InnkeeperError) -> None:
    """The request went out, and whether the model worked is not known."""
    assert booked(error, pricing=ATTEMPT) == [(ATTEMPT.estimate, 19.0, True, "")]
