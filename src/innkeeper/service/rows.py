"""AskedRows: rows that an event loop asks for, in threads where that may take a while; opened when they are first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from innkeeper.prompt.typed.once import once

if TYPE_CHECKING:
    from innkeeper.library.db.engine import Database


class Rows(Protocol):
    """Rows of one database."""

    db: Database


S = TypeVar("S", bound=Rows)
T = TypeVar("T")


class AskedRows(Generic[S]):
    """Rows that ``opened`` opens. A database in memory is asked at once, any other in a thread."""

    def __init__(self, opened: Callable[[], S]) -> None:
        self._opened = once(opened)
        self._rows: S | None = None

    async def ask(self, work: Callable[[S], T]) -> T:
        """What ``work`` gives for the rows. Raises `DatabaseError`."""
        if self._rows is None:
            self._rows = await asyncio.to_thread(self._opened)
        return work(self._rows) if self._rows.db.in_memory else await asyncio.to_thread(work, self._rows)

    async def close(self) -> None:
        """Close the database, if it was opened."""
        if self._rows is not None:
            await self.ask(lambda rows: rows.db.close())
