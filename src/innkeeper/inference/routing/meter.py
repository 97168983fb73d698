"""Meter: who asks for a model: what they may ask, and what their answers use.

`RouteModels` looks for the meter of the running call each time a route is asked, so that no caller of it can forget to check or
to charge. Where no call is metered (on the command line, in workers) everything is allowed and nothing is counted.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Final, Protocol

import msgspec

from innkeeper.inference.response.events import CallDelta, ModelEvent, ReasoningDelta, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage


class Meter(Protocol):
    """The grant and the account of one call."""

    def admit(self, route: str, profile: str) -> None:
        """Check that the call may use a route, or the profile that stands before it. Raises an error where it may not."""
        ...

    def book(self, route: str, profile: str, usage: Usage, *, estimated: bool) -> None:
        """Charge what one answer has used. ``estimated``: the provider did not report it."""
        ...


METER: Final[ContextVar[Meter | None]] = ContextVar("meter", default=None)
"""The meter of the call that this task answers."""


async def metered(
    events: AsyncGenerator[ModelEvent], meter: Meter, route: str, profile: str, sent_bytes: int
) -> AsyncGenerator[ModelEvent]:
    """Pass the events of an answer on, and book its usage when it ends, also where it is closed in the middle.

    Without a report of the provider's the usage is estimated at four bytes a token.
    """
    usage, received, began = Usage(), 0, False
    try:
        async with aclosing(events):
            async for event in events:
                began = True
                if isinstance(event, UsageReport):
                    usage = _newest(usage, event.usage)
                elif isinstance(event, (TextDelta, ReasoningDelta)):
                    received += len(event.text.encode("utf-8", "replace"))
                elif isinstance(event, CallDelta):
                    received += len(event.arguments.encode("utf-8", "replace"))
                yield event
    finally:
        reported = usage != Usage()
        if began:  # an answer that failed before its first event has cost nothing that we could know of
            estimate = Usage(input_tokens=-(-sent_bytes // 4), output_tokens=-(-received // 4))
            meter.book(route, profile, usage if reported else estimate, estimated=not reported)


def _newest(before: Usage, after: Usage) -> Usage:
    """Replace each field that the later report has."""
    fields = {name: value for name, value in msgspec.structs.asdict(after).items() if value is not None}
    return msgspec.structs.replace(before, **fields)
