"""PlanStore: the turns whose plans can be shown afterwards.

A plan is a function of its turn, so only the turn is kept, for a while, and built again. Only its caller can read it. Where
states are in the database, turns are, too, beside the stored responses: a restarted service shows their plans.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import UnknownNameError

if TYPE_CHECKING:
    from innkeeper.library.log.stored_responses import StoredResponses

MAX_PLANS: Final = 64 * 1024 * 1024
"""Bytes of all turns whose plans can be looked at (no error: the oldest are forgotten)."""


class PlanNotFoundError(UnknownNameError):
    """There is no plan of this number for this caller, or not any more."""

    def __init__(self, number: str) -> None:
        super().__init__(
            "plan", number, hint="plans are kept for a while, for who asked; beyond a restart with --states database"
        )


class StoredTurn(NamedTuple):
    """A turn as bytes for a worker, and the digest of its profile."""

    task: bytes
    digest: str


class PlanStore:
    """Turns by caller and number, bounded in bytes: those that nobody asks for are forgotten first.

    ``rows`` keep them for as long as responses.
    """

    def __init__(self, size: int = MAX_PLANS, rows: StoredResponses | None = None) -> None:
        self._rows = rows
        self._turns: BoundedCache[tuple[str, str], StoredTurn] = BoundedCache(items=1_000_000, size=size)

    async def put(self, caller: str, turn: StoredTurn) -> str:
        """Keep a turn; return its number, which is a hash of it. Raises `DatabaseError`."""
        number = hashlib.sha256(b"\n".join((caller.encode(), turn.digest.encode(), turn.task))).hexdigest()[:32]
        self._turns.put((caller, number), turn, len(turn.task))
        if self._rows is not None:
            content = f"{turn.digest} {b64encode(zlib.compress(turn.task)).decode()}"
            await asyncio.to_thread(self._rows.put, _owner(caller), number, content)
        return number

    async def get(self, caller: str, number: str) -> StoredTurn:
        """Return a turn of this caller. Raises `PlanNotFoundError`, `DatabaseError`."""
        turn = self._turns.get((caller, number))
        if turn is None and self._rows is not None:
            content = await asyncio.to_thread(self._rows.get, _owner(caller), number)
            if content is not None:
                digest, _, task = content.partition(" ")
                return StoredTurn(zlib.decompress(b64decode(task)), digest)
        if turn is None:
            raise PlanNotFoundError(number)
        return turn


def _owner(caller: str) -> str:
    """Under whom the rows of a caller's turns are: no response is found there."""
    return f"plans of {caller}"
