"""Numbers that depend only on a word and a counter, so that the same message always draws the same.

The generator is RisuAI's by what it gives: a word is hashed four times in a row, the four results seed sfc32, the counter
says how many outputs to skip. RisuAI hashes UTF-16 units, TavernKit bytes of UTF-8; they agree on ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

__all__ = ["chance", "chances", "utf8_units"]

_MASK: Final = 0xFFFFFFFF
_START: Final = 5515
_PERIOD: Final = 1000


def utf8_units(word: str) -> bytes:
    """The units that TavernKit hashes."""
    return word.encode("utf-8", "replace")


def chance(units: Iterable[int], counter: int = 0) -> float:
    """The number in [0, 1) of a word (its units) and a counter, which counts modulo 1000."""
    return chances(bytes(units) if isinstance(units, bytes) else tuple(units))[counter % _PERIOD]


@lru_cache(maxsize=64)
def chances(units: bytes | tuple[int, ...]) -> tuple[float, ...]:
    """The numbers of a word for the counters 0 to 999."""
    a, b, c, d = _seeds(units)
    numbers = []
    for _ in range(_PERIOD):
        t = (a + b + d) & _MASK
        d = (d + 1) & _MASK
        a = b ^ (b >> 9)
        b = (c + (c << 3)) & _MASK
        c = (((c << 21) | (c >> 11)) + t) & _MASK
        numbers.append(t / 4294967296)
    return tuple(numbers)


def _seeds(units: Iterable[int]) -> list[int]:
    state, seeds = _START, []
    for _ in range(4):
        for unit in units:
            state = (33 * state + unit) & _MASK
        seeds.append(state)
    return seeds
