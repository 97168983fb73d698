"""Numbers from a seed text: the string hash cyrb53 and the ARC4 generator of the npm library ``seedrandom``.

Both are public: cyrb53 is by bryc (public domain), seedrandom by David Bau (MIT). SillyTavern draws its stable picks with
them, so the same chat picks the same there and here.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Final

__all__ = ["SeedRandom", "string_hash"]

_MASK: Final = 0xFFFFFFFF
_BYTE: Final = 0xFF
_WIDTH: Final = 256
_CHUNKS: Final = 6
_DIGITS: Final = 2**52
_OVERFLOW: Final = 2**53
_UTF16: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def _units(text: str) -> memoryview:
    return memoryview(text.encode(_UTF16, "surrogatepass")).cast("H")


@lru_cache(maxsize=512)
def string_hash(text: str) -> int:
    """cyrb53 (seed 0) of the text's UTF-16 units: a whole number below 2**53."""
    a, b = 0xDEADBEEF, 0x41C6CE57
    for unit in _units(text):
        a = ((a ^ unit) * 2654435761) & _MASK
        b = ((b ^ unit) * 1597334677) & _MASK
    a = ((a ^ (a >> 16)) * 2246822507) & _MASK ^ ((b ^ (b >> 13)) * 3266489909) & _MASK
    b = ((b ^ (b >> 16)) * 2246822507) & _MASK ^ ((a ^ (a >> 13)) * 3266489909) & _MASK
    return 4294967296 * (2097151 & b) + a


class SeedRandom:
    r"""``seedrandom(seed)``. A seed that is a number is followed by NUL there: pass ``f"{number}\0"``."""

    __slots__ = ("_i", "_j", "_state")

    def __init__(self, seed: str) -> None:
        self._state = _scheduled(_key(seed))
        self._i = self._j = 0
        self._bytes(_WIDTH)

    def random(self) -> float:
        """The next number in [0, 1), with 52 random bits or more."""
        number, scale, more = self._bytes(_CHUNKS), 2.0**48, 0
        while number < _DIGITS:
            number, scale = (number + more) * _WIDTH, scale * _WIDTH
            more = self._bytes(1)
        while number >= _OVERFLOW:
            number, scale, more = number // 2, scale / 2, more >> 1
        return (number + more) / scale

    def _bytes(self, count: int) -> int:
        state, i, j, number = self._state, self._i, self._j, 0
        for _ in range(count):
            i = (i + 1) & _BYTE
            j = (j + state[i]) & _BYTE
            state[i], state[j] = state[j], state[i]
            number = number * _WIDTH + state[(state[i] + state[j]) & _BYTE]
        self._i, self._j = i, j
        return number


def _key(seed: str) -> list[int]:
    key: list[int] = []
    smear = 0
    for index, unit in enumerate(_units(seed)):
        place = index & _BYTE
        smear ^= (key[place] if place < len(key) else 0) * 19
        value = (smear + unit) & _BYTE
        if place < len(key):
            key[place] = value
        else:
            key.append(value)
    return key or [0]


def _scheduled(key: list[int]) -> list[int]:
    state = list(range(_WIDTH))
    j = 0
    for i in range(_WIDTH):
        j = (j + state[i] + key[i % len(key)]) & _BYTE
        state[i], state[j] = state[j], state[i]
    return state
