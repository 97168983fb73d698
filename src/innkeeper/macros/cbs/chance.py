"""Fractions that a text determines: what ``pick``, ``rollp``, ``hash`` and lorebook decorators of RisuAI draw."""

from __future__ import annotations

import math
import sys
from array import array
from typing import Final

_UTF16: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
_START: Final = 5515
_ROUNDS: Final = 1000
_WORD: Final = 0xFFFFFFFF
_HASH_DIGITS: Final = 7


def fraction_of(draw: int, word: str) -> float:
    """Return the ``draw``-th fraction (from 0, below 1) of ``word``; draws repeat after 1,000."""
    a, b, c, d = _seeds(word)
    mixed = 0
    for _ in range(draw % _ROUNDS + 1):
        mixed = (a + b + d) & _WORD
        d = (d + 1) & _WORD
        a = b ^ (b >> 9)
        b = (c + (c << 3)) & _WORD
        c = (((c << 21) | (c >> 11)) + mixed) & _WORD
    return mixed / (_WORD + 1)


def hash_text(word: str) -> str:
    """Return the seven digits of ``{{hash::word}}``."""
    return str(math.floor(fraction_of(0, word) * 10**_HASH_DIGITS + 1.5)).zfill(_HASH_DIGITS)


def _seeds(word: str) -> list[int]:
    units = array("H", word.encode(_UTF16, "surrogatepass"))
    running = _START
    seeds = []
    for _ in range(4):
        for unit in units:
            running += _signed(running << 5) + unit
        seeds.append(running & _WORD)
    return seeds


def _signed(value: int) -> int:
    return ((value + 0x80000000) & _WORD) - 0x80000000
