"""PlanStore: the turns whose plans can be shown afterwards.

A plan is a function of its turn, so only the turn is kept, for a while, and built again. Only its caller can read it.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import UnknownNameError

MAX_PLANS: Final = 64 * 1024 * 1024
"""Bytes of all turns whose plans can be looked at (no error: the oldest are forgotten)."""


class PlanNotFoundError(UnknownNameError):
    """There is no plan of this number for this caller, or not any more."""

    def __init__(self, number: str) -> None:
        super().__init__(
            "plan", number, hint="plans are kept for a while, for who asked, and not beyond a restart of the service"
        )


class StoredTurn(NamedTuple):
    """A turn as bytes for a worker, and the digest of its profile."""

    task: bytes
    digest: str


class PlanStore:
    """Turns by caller and number, bounded in bytes: those that nobody asks for are forgotten first."""

    def __init__(self, size: int = MAX_PLANS) -> None:
        self._turns: BoundedCache[tuple[str, str], StoredTurn] = BoundedCache(items=1_000_000, size=size)

    def put(self, caller: str, turn: StoredTurn) -> str:
        """Keep a turn; return its number, which is a hash of it."""
        number = hashlib.sha256(b"\n".join((caller.encode(), turn.digest.encode(), turn.task))).hexdigest()[:32]
        self._turns.put((caller, number), turn, len(turn.task))
        return number

    def get(self, caller: str, number: str) -> StoredTurn:
        """Return a turn of this caller. Raises `PlanNotFoundError`."""
        turn = self._turns.get((caller, number))
        if turn is None:
            raise PlanNotFoundError(number)
        return turn
