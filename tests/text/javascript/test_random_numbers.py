"""The hash and the generator behind stable picks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.determinism import Mulberry32
from innkeeper.text.javascript.random_numbers import (
    Dice,
    SeedRandom,
    read_dice,
    string_hash,
    throw,
    utf8_units,
    word_chance,
    word_chances,
)

GOLDEN = [
    ("hello", 0.5463663768140734),
    ("123\0", 0.047035554534303387),
    ("123", 0.9201230811991686),
    ("", 0.23144008215179881),
    ("é日😀", 0.4054880201157747),
    ("4503599627370497\0", 0.8388089537156739),
]


@pytest.mark.parametrize(("seed", "number"), GOLDEN, ids=lambda value: repr(value)[:12])
def test_first_numbers(seed: str, number: float) -> None:
    """The first number of a seed is that of the library, to the last bit; a number's seed has NUL behind it."""
    assert SeedRandom(seed).random() == number


@given(st.text(max_size=400))
def test_numbers_lie_in_range(seed: str) -> None:
    """Any text is a seed, its numbers lie in [0, 1) and are the same each time."""
    first, second = SeedRandom(seed), SeedRandom(seed)
    for _ in range(5):
        assert 0 <= (number := first.random()) < 1
        assert number == second.random()


def test_string_hash() -> None:
    """The hash counts UTF-16 units and takes halves of pairs as they are."""
    assert string_hash("Mira - 2026-01-15") == 8041827680758661
    assert string_hash("\ud800") != string_hash("\ufffd")
    assert string_hash("") < 2**53


@given(st.text(max_size=50), st.integers())
def test_chance_is_a_number_below_one(word: str, counter: int) -> None:
    """Any word and counter give a number in [0, 1), the same each time, with a period of 1000 counters."""
    number = word_chance(utf8_units(word), counter)
    assert 0 <= number < 1
    assert number == word_chance(utf8_units(word), counter + 1000)


def test_units_decide() -> None:
    """ASCII words draw the same from bytes and from UTF-16 units; others do not."""
    assert word_chance(b"seed", 3) == word_chance([ord(letter) for letter in "seed"], 3)
    assert word_chances(utf8_units("é")) != word_chances((ord("é"),))


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
