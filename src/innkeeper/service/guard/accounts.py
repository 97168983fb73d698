"""Accounts: what keys have used of what their grants allow: requests and tokens of a minute, money of a day, and its prices.

A request costs one at its beginning. Tokens are known when it has ended: they are taken then, also below nothing, and the next
request waits until there is something again. So a key may exceed its quota by what it has under way, and no more.

``--price openai/*=1.25,10`` is 1.25 for a million tokens read and 10 for a million written, in whatever currency the keys'
``spend=`` is meant in. The first pattern that fits counts; a route that none fits costs its model's list price in US dollars. A
key with ``spend=`` may not ask one whose price nobody knows. The ledger of money is in memory or in the library's database.

What is spent is forgiven steadily, so that a day's money comes back within a day. What a request cost is known when it has ended
and is written then; the next request waits until there is something again. Several services with one database have one ledger.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from math import ceil, floor, isfinite
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.price import Price
from innkeeper.lazy import require
from innkeeper.prompt.errors import ConfigError, InnkeeperError
from innkeeper.service.errors import RateLimitError, SpendLimitError, TokenRateLimitError
from innkeeper.service.guard.grants import Grant
from innkeeper.service.rows import AskedRows

if TYPE_CHECKING:
    from innkeeper.library.log.spendings import Spendings


class RoutePrice(NamedTuple):
    """What a million tokens cost on routes whose names a pattern fits."""

    pattern: str
    input: float
    output: float


def read_prices(texts: Iterable[str]) -> tuple[RoutePrice, ...]:
    """Prices as they are written: ``PATTERN=INPUT,OUTPUT``. Raises `ConfigError`."""
    return tuple([_read(text) for text in texts])


def _read(text: str) -> RoutePrice:
    pattern, _, numbers = text.rpartition("=")
    try:
        read, written = (float(number) for number in numbers.split(","))
    except ValueError:
        read = written = -1.0
    if not pattern or not (isfinite(read) and isfinite(written)) or min(read, written) < 0:
        raise ConfigError(
            f"{text!r:.80} is no price", hint="write it like NAME=1.25,10: for a million tokens in and out"
        )
    return RoutePrice(pattern, read, written)


def price_on(route: str, prices: Iterable[RoutePrice], listed: Price | None = None) -> Price | None:
    """The price of a route: of the first pattern that fits, else the one that is ``listed``; None where nobody knows it."""
    return next((Price(one.input, one.output) for one in prices if fnmatchcase(route, one.pattern)), listed)


def cost_of(route: str, usage: Usage, prices: Iterable[RoutePrice], listed: Price | None = None) -> float:
    """What an answer on a route cost, as far as its tokens are known; nothing where its price is not."""
    return (price_on(route, prices, listed) or Price()).of_usage(usage)


class QuotaLevel(NamedTuple):
    """What is left of a quota: of ``requests`` or ``tokens`` a minute, all of it again in so many ``seconds``."""

    name: str
    limit: float
    left: int
    seconds: int


def quota_headers(levels: Iterable[QuotaLevel], now: datetime, *, anthropic: bool) -> dict[str, str]:
    """Return quotas as headers, in the spelling of OpenAI or of Anthropic, by which their clients pace themselves."""
    headers: dict[str, str] = {}
    for level in levels:
        if anthropic:
            full = (now + timedelta(seconds=level.seconds)).isoformat(timespec="seconds").replace("+00:00", "Z")
            values = {"limit": f"{level.limit:g}", "remaining": str(level.left), "reset": full}
            headers |= {f"anthropic-ratelimit-{level.name}-{part}": value for part, value in values.items()}
        else:
            values = {"limit": f"{level.limit:g}", "remaining": str(level.left), "reset": f"{level.seconds}s"}
            headers |= {f"x-ratelimit-{part}-{level.name}": value for part, value in values.items()}
    return headers


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
                "this key may use {allowed} tokens a minute, and has used them",
                limit="tokens",
                allowed=tokens.amount,
                retry_after=seconds,
            )
        if rate is not None:
            if seconds := rate.wait(min(1, rate.amount), now):
                sentence = "this key may send {allowed} requests a minute, and has sent them"
                raise RateLimitError(sentence, limit="rate", allowed=rate.amount, retry_after=seconds)
            rate.left -= 1

    def levels(self, caller: str, grant: Grant) -> list[QuotaLevel]:
        """Return what is left of a caller's requests and tokens; nothing where they are not bounded."""
        now, levels = self._clock(), []
        for name, amount, word in (("rate", grant.rate, "requests"), ("tokens", grant.tokens, "tokens")):
            bucket = self._bucket(caller, name, amount, MINUTE, now)
            if bucket is not None:
                seconds = bucket.wait(bucket.amount, now)
                levels.append(QuotaLevel(word, bucket.amount, max(0, floor(bucket.left + _LEAST)), seconds))
        return levels

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


LOG: Final = logging.getLogger("innkeeper.service")

DAY: Final = 86_400.0
"""The time, in seconds, in which money comes back."""


class Account(NamedTuple):
    """Whose money it is: that of one key, or of a tenant, whose keys share it. ``amount`` is for a day."""

    tenant: str
    owner: str
    amount: float


def account_of(caller: str, grant: Grant) -> Account | None:
    """The account of a caller; None: it may spend what it likes."""
    if grant.spend is None:
        return None
    return Account(grant.tenant, "" if grant.tenant else caller, grant.spend)


async def afford(ledger: Ledger, caller: str, grant: Grant) -> float | None:
    """Let a request pass whose caller has money left; how much that is, None where nothing bounds it.

    Raises `SpendLimitError`, and `DatabaseError` where nobody can tell.
    """
    account = account_of(caller, grant)
    if account is None:
        return None
    over = await ledger.spent(account) - account.amount + _LEAST
    if over >= 0:
        wait = max(1, ceil(over * DAY / account.amount - _LEAST))
        sentence = "this key may spend {allowed} a day, and has spent it"
        raise SpendLimitError(sentence, limit="spend", allowed=account.amount, retry_after=wait)
    return -over


class Ledger:
    """What accounts have spent and has not been forgiven: in a database, which is waited for in threads, or in memory.

    One instance belongs to one event loop. What cannot be written counts here all the same, and is written with what comes next.

    Args:
        opened: opens the database, when it is first wanted.
    """

    def __init__(self, opened: Callable[[], Spendings]) -> None:
        self._rows = AskedRows(opened)
        self._unwritten: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._tasks: set[asyncio.Task[None]] = set()
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def spent(self, account: Account) -> float:
        """What the database has, and what is not there yet; never while it is on its way there, which would count it twice."""
        owner = account.tenant, account.owner
        async with self._locks[owner]:
            rate = account.amount / DAY
            return await self._rows.ask(lambda rows: rows.spent(*owner, rate)) + self._unwritten[owner]

    def charge(self, account: Account, cost: float) -> None:
        """Have it written; outside an event loop with what comes next."""
        self._unwritten[account.tenant, account.owner] += cost
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        task = loop.create_task(self._write(account))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait until all is written, and close the database."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._rows.close()

    async def _write(self, account: Account) -> None:
        owner = account.tenant, account.owner
        async with self._locks[owner]:
            cost = self._unwritten[owner]
            if not cost:
                return
            try:
                await self._rows.ask(lambda rows: rows.add(*owner, cost, account.amount / DAY))
            except InnkeeperError as error:
                LOG.warning("what was spent is not written: %s", error.message)
            else:
                self._unwritten[owner] -= cost


def spendings_in_memory() -> Spendings:
    """What is spent since this service has begun. Nothing of it is forgotten: there is a row a key or tenant."""
    require("sqlalchemy")
    from innkeeper.library.db.private import PrivateDatabase
    from innkeeper.library.db.tables.logs import spendings
    from innkeeper.library.log.spendings import Spendings

    return Spendings(PrivateDatabase(spendings))
