"""Randomness: named streams of numbers from one seed. Chance enters a build only through this value."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Mulberry32", "Randomness", "Stream"]

_MASK = 0xFFFFFFFF


class Stream(Protocol):
    """A source of uniform numbers in [0, 1), in draw order."""

    def random(self) -> float:
        """The next number."""
        ...


class Mulberry32:
    """The public mulberry32 generator: 32 bits of state, equal on every platform."""

    __slots__ = ("_state", "draws")

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK
        self.draws = 0

    def random(self) -> float:
        """The next number in [0, 1), a multiple of 2**-32."""
        self.draws += 1
        self._state = (self._state + 0x6D2B79F5) & _MASK
        a = self._state
        t = ((a ^ (a >> 15)) * (a | 1)) & _MASK
        t = (t + (((t ^ (t >> 7)) * (t | 61)) & _MASK) & _MASK) ^ t
        return ((t ^ (t >> 14)) & _MASK) / 4294967296


def _named(seed: int, name: str) -> Stream:
    digest = hashlib.blake2b(f"{seed}\0{name}".encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return Mulberry32(int.from_bytes(digest, "big"))


class Randomness:
    """Streams by name, each with its own state, so that a draw in one place never shifts another's.

    ``make(seed, name)`` builds a stream; the default hashes both into a `Mulberry32`. Pass another to reproduce a
    foreign generator (one shared stream, for instance). One instance serves one build.
    """

    __slots__ = ("_make", "_streams", "seed")

    def __init__(self, seed: int = 0, make: Callable[[int, str], Stream] = _named) -> None:
        self.seed = seed
        self._make = make
        self._streams: dict[str, Stream] = {}

    @classmethod
    def shared(cls, seed: int) -> Randomness:
        """All names draw from one `Mulberry32` seeded with ``seed``, in call order."""
        stream = Mulberry32(seed)
        return cls(seed, lambda _seed, _name: stream)

    def stream(self, name: str) -> Stream:
        """The stream called ``name``; the same object for the same name."""
        if name not in self._streams:
            self._streams[name] = self._make(self.seed, name)
        return self._streams[name]
