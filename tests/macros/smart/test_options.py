"""Chance: draws in range, equal for equal seeds, and Python's own where it is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.smart import MacroOptions
from innkeeper.macros.smart.options import seeded
from scripts.parity.outside import python_chance


@given(st.integers(), st.integers(min_value=-100, max_value=100), st.integers(min_value=0, max_value=100))
def test_draws_are_in_range(seed: int, first: int, width: int) -> None:
    """Both ends can be drawn, nothing beyond them."""
    chance = seeded(seed)
    assert all(first <= chance.randint(first, first + width) <= first + width for _ in range(20))
    assert 0 <= chance.random() < 1


def test_every_number_is_drawn() -> None:
    """A die shows all its sides, about as often."""
    chance = seeded(1)
    drawn = [chance.randint(1, 6) for _ in range(6_000)]
    assert all(800 < drawn.count(side) < 1_200 for side in range(1, 7))


def test_nothing_to_draw_from_raises() -> None:
    """As Python's generator does."""
    with pytest.raises(ValueError, match="from 2 to 1"):
        seeded(0).randint(2, 1)
    with pytest.raises(IndexError, match="nothing to choose"):
        seeded(0).choice([])


def test_equal_seeds_draw_equally() -> None:
    """These numbers are the same in every process and on every machine; a run's options begin anew."""
    chance, items = seeded(7), list("abcdef")
    chance.shuffle(items)
    assert sorted(items) == list("abcdef")
    assert ("".join(items), chance.choice("xyz"), chance.randint(1, 1000)) == ("bdfaec", "z", 738)
    options = MacroOptions(seed=7)
    assert options.chance().random() == options.chance().random() == seeded(7).random()


def test_python_draws_as_python_does() -> None:
    """``random.seed(7)``, as the golden cases were recorded."""
    chance = python_chance(7)
    assert [chance.choice("abc"), chance.randint(1, 6)] == ["b", 2]
    assert MacroOptions(random=chance).chance() is chance
