"""Randomness: named streams that do not disturb each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Mulberry32, Randomness
from tests.prompt.doubles import ANY_TEXT

# The first numbers of the public generator for seed 42.
PUBLISHED = [0.6011037519201636, 0.44829055899754167, 0.8524657934904099, 0.6697340414393693, 0.17481389874592423]


def test_mulberry32_gives_the_published_numbers() -> None:
    """The same numbers as the public generator in JavaScript."""
    stream = Mulberry32(42)
    assert [stream.random() for _ in PUBLISHED] == PUBLISHED
    assert stream.draws == len(PUBLISHED)


@given(st.integers())
def test_numbers_are_in_the_unit_interval(seed: int) -> None:
    """Every seed gives numbers in [0, 1) that are multiples of 2**-32."""
    stream = Mulberry32(seed)
    numbers = [stream.random() for _ in range(20)]
    assert all(0 <= number < 1 and (number * 2**32).is_integer() for number in numbers)


@given(st.integers(), ANY_TEXT, ANY_TEXT)
def test_a_draw_in_one_stream_never_shifts_another(seed: int, name: str, other: str) -> None:
    """A stream's numbers depend on seed and name only; any name is a name."""
    alone = Randomness(seed).stream(name).random()
    chance = Randomness(seed)
    if other != name:
        chance.stream(other).random()
    assert chance.stream(name).random() == alone


def test_a_stream_goes_on_where_it_was() -> None:
    """The same name is the same stream; seeds and names tell streams apart."""
    chance = Randomness(7)
    assert chance.stream("a") is chance.stream("a")
    assert chance.stream("a").random() != Randomness(7).stream("b").random()
    assert Randomness(7).stream("a").random() != Randomness(8).stream("a").random()


def test_a_shared_generator_serves_all_names_in_call_order() -> None:
    """To reproduce systems with one generator, all names draw from it."""
    chance = Randomness.shared(42)
    assert [chance.stream(name).random() for name in "abcab"] == PUBLISHED


def test_a_generator_of_ones_own_is_asked_once_a_name() -> None:
    """The maker is given seed and name."""
    asked = []
    chance = Randomness(3, lambda seed, name: asked.append((seed, name)) or Mulberry32(seed))  # type: ignore[func-returns-value]
    for name in "aba":
        chance.stream(name)
    assert asked == [(3, "a"), (3, "b")]


@pytest.mark.parametrize("seed", [0, -1, 2**32, 2**200])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    """Negative and huge seeds work and are reproducible."""
    assert Randomness(seed).stream("x").random() == Randomness(seed).stream("x").random()
