"""Where a library takes the time and the identifiers of new rows from: the machine, or what a test puts in its place."""

from __future__ import annotations

from typing import Final, Protocol

from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.machine import fresh_id


class Outside(Protocol):
    """Where a store takes the time and identifiers of new rows from. Nothing is ordered by either: counters do that."""

    def now(self) -> Clock:
        """The present moment."""
        ...

    def fresh_id(self) -> str:
        """An identifier that no row has."""
        ...


class _Machine:
    """The machine's own clock and chance."""

    def now(self) -> Clock:
        return Clock.at(None)

    def fresh_id(self) -> str:
        return fresh_id()


MACHINE: Final[Outside] = _Machine()
"""Where stores look unless told otherwise."""
