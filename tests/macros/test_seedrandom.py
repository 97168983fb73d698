"""The hash and the generator behind stable picks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.seedrandom import SeedRandom, string_hash

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
