"""Random numbers as the JavaScript originals draw them, so that the same chat or seed draws the same there and here.

`SeedRandom` and `string_hash`: the ARC4 generator of the npm library ``seedrandom`` (David Bau, MIT) and the hash cyrb53 (bryc,
public domain), with which SillyTavern draws its stable picks. `word_chance`: RisuAI's numbers, which depend only on a word and a
counter: the word is hashed four times in a row, the four results seed sfc32, the counter says how many outputs to skip. RisuAI
hashes UTF-16 units, TavernKit bytes of UTF-8; they agree on ASCII. `Dice`: reads ``3d6+2`` and throws it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

import msgspec

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.determinism import RandomStream
from innkeeper.text.javascript.values import units_of

_MASK: Final = 0xFFFFFFFF
_BYTE: Final = 0xFF
_WIDTH: Final = 256
_CHUNKS: Final = 6
_DIGITS: Final = 2**52
_OVERFLOW: Final = 2**53
_CACHED_CHARS: Final = 4096
"""The hashes of longer texts are not cached."""
_UNIT_STEPS: Final = 2
_SEED_STEPS: Final = 900
"""The steps charged for making a generator from its seed."""


def string_hash(text: str) -> int:
    """cyrb53 (seed 0) of the text's UTF-16 units: a whole number below 2**53. Raises `AllowanceError`."""
    if len(text) <= _CACHED_CHARS:
        return _short_hash(text)
    charge("chance", len(text) * _UNIT_STEPS)
    return _hash(text)


def _hash(text: str) -> int:
    a, b = 0xDEADBEEF, 0x41C6CE57
    for unit in units_of(text):
        a = ((a ^ unit) * 2654435761) & _MASK
        b = ((b ^ unit) * 1597334677) & _MASK
    a = ((a ^ (a >> 16)) * 2246822507) & _MASK ^ ((b ^ (b >> 13)) * 3266489909) & _MASK
    b = ((b ^ (b >> 16)) * 2246822507) & _MASK ^ ((a ^ (a >> 13)) * 3266489909) & _MASK
    return 4294967296 * (2097151 & b) + a


_short_hash: Final = lru_cache(maxsize=512)(_hash)


class SeedRandom:
    r"""``seedrandom(seed)``. A seed that is a number is followed by NUL there: pass ``f"{number}\0"``."""

    __slots__ = ("_i", "_j", "_state")

    def __init__(self, seed: str) -> None:
        charge("chance", _SEED_STEPS + len(seed) * _UNIT_STEPS)
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
    for index, unit in enumerate(units_of(seed)):
        slot = index & _BYTE
        smear ^= (key[slot] if slot < len(key) else 0) * 19
        value = (smear + unit) & _BYTE
        if slot < len(key):
            key[slot] = value
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


_WORDCHANCE_MASK: Final = 0xFFFFFFFF
_START: Final = 5515
_PERIOD: Final = 1000


def utf8_units(word: str) -> bytes:
    """The units that TavernKit hashes."""
    return word.encode("utf-8", "replace")


def word_chance(units: Iterable[int], counter: int = 0) -> float:
    """The number in [0, 1) of a word (its units) and a counter, which counts modulo 1000."""
    return word_chances(bytes(units) if isinstance(units, bytes) else tuple(units))[counter % _PERIOD]


def word_chances(units: bytes | tuple[int, ...]) -> tuple[float, ...]:
    """The numbers of a word for the counters 0 to 999."""
    return (_short_chances if len(units) <= _CACHED_CHARS else _chances)(units)


def first_chance(units: Iterable[int]) -> float:
    """The number of a word for the counter 0."""
    return next(_outputs(units))


def _chances(units: bytes | tuple[int, ...]) -> tuple[float, ...]:
    return tuple(islice(_outputs(units), _PERIOD))


def _outputs(units: Iterable[int]) -> Iterator[float]:
    a, b, c, d = _seeds(units)
    while True:
        t = (a + b + d) & _WORDCHANCE_MASK
        d = (d + 1) & _WORDCHANCE_MASK
        a = b ^ (b >> 9)
        b = (c + (c << 3)) & _WORDCHANCE_MASK
        c = (((c << 21) | (c >> 11)) + t) & _WORDCHANCE_MASK
        yield t / 4294967296


_short_chances: Final = lru_cache(maxsize=64)(_chances)


def _seeds(units: Iterable[int]) -> list[int]:
    state, seeds = _START, []
    for _ in range(4):
        for unit in units:
            state = (33 * state + unit) & _WORDCHANCE_MASK
        seeds.append(state)
    return seeds


_DICE: Final = re.compile(r"(?P<count>[1-9][0-9]*)?d(?P<sides>[1-9][0-9]*)(?P<plus>[+-][0-9]+)?", re.IGNORECASE)
_LONGEST: Final = 64


class Dice(msgspec.Struct, frozen=True):
    """``count`` dice of ``sides`` sides, and what is added to their sum."""

    count: int
    sides: int
    plus: int = 0


def read_dice(text: str) -> Dice | None:
    """``6``, ``d6``, ``3d6``, ``3d6+2``, ``3d6-2``; ``None`` for anything else, leading zeros and spaces included."""
    if len(text) > _LONGEST:
        return None
    match = _DICE.fullmatch(f"1d{text}" if text.isascii() and text.isdigit() else text)
    if match is None:
        return None
    return Dice(int(match["count"] or 1), int(match["sides"]), int(match["plus"] or 0))


def throw(dice: Dice, random: RandomStream) -> float:
    """One throw: a draw for each die, ``floor(draw * sides) + 1``. The sum is a double, as JavaScript's is."""
    total = sum(math.floor(random.random() * dice.sides) + 1 for _ in range(dice.count))
    return float(total + dice.plus)
