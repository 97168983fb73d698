"""Dice: reads ``3d6+2`` and throws it."""

from __future__ import annotations

import math
import re
from typing import Final

import msgspec

from innkeeper.prompt.randomness import Stream

__all__ = ["Dice", "read_dice", "throw"]

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
    found = _DICE.fullmatch(f"1d{text}" if text.isascii() and text.isdigit() else text)
    if found is None:
        return None
    return Dice(int(found["count"] or 1), int(found["sides"]), int(found["plus"] or 0))


def throw(dice: Dice, random: Stream) -> float:
    """One throw: a draw for each die, ``floor(draw * sides) + 1``. The sum is a double, as JavaScript's is."""
    total = sum(math.floor(random.random() * dice.sides) + 1 for _ in range(dice.count))
    return float(total + dice.plus)
