"""Health: what attempts have told of a deployment: its breaker, its rest, and whether it is trusted. Pure: time is an argument.

Nothing is probed. A breaker is closed until there were ``strikes`` failures in a row; then it is open for a time, after which one
request tries again: with success it closes, with a failure it stays open twice as long.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from innkeeper.inference.routing.failures import CONSEQUENCES, Failure
from innkeeper.inference.routing.policy import RoutePolicy

LONGEST_REST: Final = 600.0
"""Seconds that a provider may ask to be left alone at most."""

LONGEST_OPEN: Final = 30.0
"""Seconds to which the time of an open breaker doubles at most: a provider that is back is asked again that soon."""

_JITTER: Final = 0.2
"""The share of a time that chance adds, so that many do not come back at once."""


class Health(msgspec.Struct, frozen=True):
    """What is known of one deployment. Times are seconds of the router's clock.

    ``failures`` in a row; ``openings`` how often the breaker opened in a row; ``trying``: one request tries an open breaker.
    """

    failures: int = 0
    openings: int = 0
    open_until: float = 0.0
    rest_until: float = 0.0
    trying: bool = False
    quarantined: bool = False

    def closed_to(self, now: float) -> Literal["quarantined", "cooldown", "breaker_open"] | None:
        """Why no request may go there now; None where it may."""
        if self.quarantined:
            return "quarantined"
        if now < self.rest_until:
            return "cooldown"
        if now < self.open_until or (self.openings and self.trying):
            return "breaker_open"
        return None

    def seconds_closed(self, now: float) -> float:
        """How long nothing goes there yet, as far as time alone decides; 0 where it may, or where a person must."""
        return max(0.0, self.rest_until - now, self.open_until - now)

    def begun(self) -> Health:
        """With a request under way: of an open breaker, the one that tries it."""
        return msgspec.structs.replace(self, trying=True) if self.openings and not self.trying else self

    def succeeded(self) -> Health:
        """After an answer."""
        return self if self is WELL else Health(rest_until=self.rest_until, quarantined=self.quarantined)

    def left(self) -> Health:
        """After a request that told nothing of the deployment: it was wrong itself, or nobody waited for it any more."""
        return msgspec.structs.replace(self, trying=False) if self.trying else self

    def failed(
        self, failure: Failure, now: float, policy: RoutePolicy, asked: float | None = None, chance: float = 0.0
    ) -> Health:
        """After a failure. ``asked`` is how long the provider wants to be left alone, ``chance`` a number from 0 to 1."""
        follows = CONSEQUENCES[failure]
        health = self.left()
        wait = min(follows.rest if asked is None else asked, LONGEST_REST)
        if follows.rest or (asked is not None and follows.fallback):
            health = msgspec.structs.replace(health, rest_until=max(self.rest_until, now + wait))
        if failure is Failure.TAMPERED:
            return msgspec.structs.replace(health, quarantined=True)
        return struck(health, now, policy, chance) if follows.strikes else health


def struck(health: Health, now: float, policy: RoutePolicy, chance: float) -> Health:
    """One failure more in a row; of enough of them, the breaker is open."""
    failures = health.failures + 1
    if failures < policy.strikes and not health.openings:
        return msgspec.structs.replace(health, failures=failures)
    longest = max(policy.open_seconds, LONGEST_OPEN)
    seconds = min(policy.open_seconds * 2.0 ** min(health.openings, 16), longest) * (1 + _JITTER * chance)
    return msgspec.structs.replace(health, failures=failures, openings=health.openings + 1, open_until=now + seconds)


WELL: Final = Health()
"""Nothing is known against it."""
