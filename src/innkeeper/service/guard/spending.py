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
from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.lazy import require
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.errors import SpendLimitError
from innkeeper.service.guard.grants import Grant
from innkeeper.service.rows import AskedRows

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
    from innkeeper.library.db.log_tables import spendings
    from innkeeper.library.db.private import PrivateDatabase
    from innkeeper.library.log.spendings import Spendings

    return Spendings(PrivateDatabase(spendings))
