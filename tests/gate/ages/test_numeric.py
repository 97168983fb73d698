"""Signs: ages that only how they are written tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.ages.numeric import read_numeric_ages


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("Anna (15)", 15),
        ("Anna, 15, waits.", 15),
        ("f15", 15),
        ("U16 players", 16),
        ("女，15", 15),
        ("she is 14½.", 14),
        ("1S years old", 15),
        ("10+5 years old", 15),
        ("3 times 5 years old", 15),
        ("ten plus five", 15),
        ("She is 0x0F.", 15),
        ("1111 in binary", 15),
    ],
)
def test_ages_that_only_signs_tell(text: str, years: int) -> None:
    """Places are those of the text as it was given."""
    (age,) = read_numeric_ages(text)
    assert (age.low, age.high) == (years, years)
    assert 0 <= age.start < age.end <= len(text)


@pytest.mark.parametrize("text", ["size 14, 15 euros", "in 1915, 16 ships", "chapter (iv)", "M25 motorway", ""])
def test_signs_of_other_numbers(text: str) -> None:
    """Sizes, years of a century and roads are no ages."""
    assert [age for age in read_numeric_ages(text) if age.minor] == []


@given(st.text(st.sampled_from("15 yearsoldf(),.½+-岁살lS女"), max_size=40))
def test_any_signs_are_read(text: str) -> None:
    """Whatever the text: places within it."""
    assert all(0 <= age.start < age.end <= len(text) for age in read_numeric_ages(text))
