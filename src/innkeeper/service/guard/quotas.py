"""Quotas: how much a key has used of what its grant allows, in buckets that fill again as time goes by.

A request costs one at its beginning. Tokens are known when it has ended: they are taken then, also below nothing, and the next
request waits until there is something again. So a key may exceed its quota by what it has under way, and no more. Money is
`innkeeper.service.guard.spending`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import Final

from innkeeper.service.errors import RateLimitError, TokenRateLimitError
from innkeeper.service.guard.grants import Grant

MINUTE: Final = 60.0
"""The time, in seconds, in which requests and tokens are counted."""

_LEAST: Final = 1e-9


class QuotaBucket:
    """An amount that fills again within so many seconds. ``left`` may be below nothing."""

    def __init__(self, amount: float, seconds: float, now: float) -> None:
        self.amount = amount
        self.left = amount
        self._per_second = amount / seconds
        self._at = now

    def wait(self, least: float, now: float) -> int:
        """Seconds until so much is left; 0: it is there."""
        self.left = min(self.amount, self.left + (now - self._at) * self._per_second)
        self._at = now
        return max(0, ceil((least - self.left) / self._per_second - _LEAST))


class Quotas:
    """The buckets of all callers of one application. A caller without a bound has none."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str], QuotaBucket] = {}

    def enter(self, caller: str, grant: Grant) -> None:
        """Take one request. Raises `RateLimitError`, `TokenRateLimitError`; then nothing is taken."""
        now = self._clock()
        tokens = self._bucket(caller, "tokens", grant.tokens, MINUTE, now)
        rate = self._bucket(caller, "rate", grant.rate, MINUTE, now)
        if tokens is not None and (seconds := tokens.wait(min(1, tokens.amount), now)):
            raise TokenRateLimitError(
                "the tokens of this key", limit="tokens", allowed=tokens.amount, retry_after=seconds
            )
        if rate is not None:
            if seconds := rate.wait(min(1, rate.amount), now):
                raise RateLimitError("the requests of this key", limit="rate", allowed=rate.amount, retry_after=seconds)
            rate.left -= 1

    def charge(self, caller: str, grant: Grant, tokens: int) -> None:
        """Take what a request has used."""
        now = self._clock()
        bucket = self._bucket(caller, "tokens", grant.tokens, MINUTE, now)
        if tokens and bucket is not None:
            bucket.wait(0, now)
            bucket.left -= tokens

    def _bucket(self, caller: str, name: str, amount: float | None, seconds: float, now: float) -> QuotaBucket | None:
        if amount is None:
            return None
        if (caller, name) not in self._buckets:
            self._buckets[caller, name] = QuotaBucket(amount, seconds, now)
        return self._buckets[caller, name]
