"""A route that is asked checks and books for the running call, whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from innkeeper.inference.response.events import ModelEvent, Started, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.meter import metered


class Account:
    """A meter that keeps what is booked."""

    def __init__(self) -> None:
        self.booked: list[tuple[str, str, Usage, bool]] = []

    def admit(self, route: str, profile: str) -> None:
        """Allow everything."""

    def book(self, route: str, profile: str, usage: Usage, *, estimated: bool) -> None:
        """Keep it."""
        self.booked.append((route, profile, usage, estimated))


def booked(*events: ModelEvent, take: int = 9) -> list[tuple[str, str, Usage, bool]]:
    """What an answer books of which some events are taken."""
    account = Account()

    async def answer() -> AsyncGenerator[ModelEvent]:
        for event in events:
            yield event

    async def run() -> None:
        answering = metered(answer(), account, "dear", "wenna", 41)
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
    assert booked(*events) == [("dear", "wenna", Usage(input_tokens=9, output_tokens=3), False)]


def test_without_a_report_usage_is_estimated() -> None:
    """Also of an answer that is closed in the middle."""
    events = Started(), TextDelta(text="Aye, she is."), TextDelta(text="More.")
    assert booked(*events, take=2) == [("dear", "wenna", Usage(input_tokens=11, output_tokens=3), True)]


def test_what_was_never_asked_for_costs_nothing() -> None:
    """Nothing is sent before the first event is wanted."""
    assert booked(TextDelta(text="Aye."), take=0) == []
    assert booked() == []
