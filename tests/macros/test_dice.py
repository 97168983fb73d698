"""Dice: what is one, and what a throw draws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.dice import Dice, read_dice, throw
from innkeeper.prompt.randomness import Mulberry32


@pytest.mark.parametrize(
    ("text", "dice"),
    [
        ("6", Dice(1, 6)),
        ("d20", Dice(1, 20)),
        ("3D6", Dice(3, 6)),
        ("2d4+3", Dice(2, 4, 3)),
        ("1d10-2", Dice(1, 10, -2)),
    ],
)
def test_read_dice(text: str, dice: Dice) -> None:
    """Sides alone, count and sides, and a number added."""
    assert read_dice(text) == dice


@pytest.mark.parametrize(
    "text", ["", "0", "d", "d0", "0d6", "01d6", "1d6x", " 1d6", "1d6 + 2", "d%", "-3", "1.5", "٣d٦", "9" * 99]
)
def test_no_dice(text: str) -> None:
    """Zeros in front, blank space and anything after the formula make it none."""
    assert read_dice(text) is None


@given(st.integers(1, 50), st.integers(1, 1000), st.integers(-9, 9), st.integers(0, 2**32 - 1))
def test_throws_lie_between_their_ends(count: int, sides: int, plus: int, seed: int) -> None:
    """A throw draws once for each die and lies between all ones and all highest."""
    stream = Mulberry32(seed)
    total = throw(Dice(count, sides, plus), stream)
    assert count + plus <= total <= count * sides + plus
    assert stream.draws == count
