"""Record: what is known of one call when it has ended: for logs, metrics, spans and quotas. It holds no text of a prompt.

The guard begins it and says how it ended; the surface that answers fills in what only it knows::

    record = request.scope["innkeeper.ticket"].record
    record.answered(response)

What it has asked and used is written down by its `Ticket` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.machine import utc_now

SOCKET: Final = "WEBSOCKET"
"""The method of a call that is a WebSocket, or one message of it."""

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
