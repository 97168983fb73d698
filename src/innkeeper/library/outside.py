"""Where a library takes the time and the identifiers of new rows from: the machine, or what a test puts in its place."""

from __future__ import annotations

from typing import Final, Protocol

from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.machine import random_bytes

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH: Final = 26
_CHANCE_BITS: Final = 80


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
        return ulid(Clock.at(None).epoch_ms, int.from_bytes(random_bytes(_CHANCE_BITS // 8)))


def ulid(epoch_ms: int, chance: int) -> str:
    """A ULID (26 letters and digits) of a time in milliseconds and 80 bits of chance."""
    number, digits = (max(epoch_ms, 0) << _CHANCE_BITS) | chance, ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits


MACHINE: Final[Outside] = _Machine()
"""Where stores look unless told otherwise."""
