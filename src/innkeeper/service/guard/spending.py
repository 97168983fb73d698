"""Spending: what keys have spent of the money that they may spend in a day: one ledger, in memory or in the library's database.

What is spent is forgiven steadily, so that a day's money comes back within a day. What a request cost is known when it has ended
and is written then; the next request waits until there is something again. Several services with one database have one ledger.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.once import once
from innkeeper.service.errors import SpendLimitError
from innkeeper.service.guard.grants import Grant

if TYPE_CHECKING:
    from innkeeper.library.log.spendings import Spendings


LOG: Final = logging.getLogger("innkeeper.service")

DAY: Final = 86_400.0
"""The time, in seconds, in which money comes back."""

_LEAST: Final = 1e-9


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


class Ledger(Protocol):
    """What accounts have spent and has not been forgiven."""

    async def spent(self, account: Account) -> float:
        """How much it is now. Raises `DatabaseError`."""
        ...

    def charge(self, account: Account, cost: float) -> None:
        """Write down what a request has cost."""
        ...

    async def close(self) -> None:
        """Write what is not written yet."""
        ...


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
        raise SpendLimitError("the money of this key", limit="spend", allowed=account.amount, retry_after=wait)
    return -over


class MemoryLedger:
    """Accounts since this service has begun."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._spent: dict[tuple[str, str], tuple[float, float]] = {}

    async def spent(self, account: Account) -> float:
        """What is left of it."""
        return self._now(account)

    def charge(self, account: Account, cost: float) -> None:
        """Add to it."""
        self._spent[account.tenant, account.owner] = self._now(account) + cost, self._clock()

    async def close(self) -> None:
        """Nothing is to be written."""

    def _now(self, account: Account) -> float:
        spent, at = self._spent.get((account.tenant, account.owner), (0.0, 0.0))
        return max(0.0, spent - (self._clock() - at) * account.amount / DAY)


class DatabaseLedger:
    """Accounts in the library's database, which is waited for in threads. One instance belongs to one event loop.

    What cannot be written counts here all the same, and is written with what comes next.

    Args:
        opened: opens the database, when it is first wanted.
    """

    def __init__(self, opened: Callable[[], Spendings]) -> None:
        self._rows = once(opened)
        self._opened = False
        self._unwritten: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._tasks: set[asyncio.Task[None]] = set()
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def spent(self, account: Account) -> float:
        """What the database has, and what is not there yet; never while it is on its way there, which would count it twice."""
        owner = account.tenant, account.owner
        async with self._locks[owner]:
            return await asyncio.to_thread(self._read, account) + self._unwritten[owner]

    def charge(self, account: Account, cost: float) -> None:
        """Have it written."""
        self._unwritten[account.tenant, account.owner] += cost
        task = asyncio.ensure_future(self._write(account))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait until all is written, and close the database."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._opened:
            await asyncio.to_thread(lambda: self._rows().close())

    async def _write(self, account: Account) -> None:
        owner = account.tenant, account.owner
        async with self._locks[owner]:
            cost = self._unwritten[owner]
            if not cost:
                return
            try:
                await asyncio.to_thread(self._add, account, cost)
            except InnkeeperError as error:
                LOG.warning("what was spent is not written: %s", error.message)
            else:
                self._unwritten[owner] -= cost

    def _read(self, account: Account) -> float:
        rows, self._opened = self._rows(), True
        return rows.spent(account.tenant, account.owner, account.amount / DAY)

    def _add(self, account: Account, cost: float) -> None:
        rows, self._opened = self._rows(), True
        rows.add(account.tenant, account.owner, cost, account.amount / DAY)
