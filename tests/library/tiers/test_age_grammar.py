"""Ages: every way to write one is read, with its years, and what is none is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.limits import ADULT_AGE
from innkeeper.library.tiers.age_grammar import Age, ages_in
from innkeeper.text.confusables import views_of


def young(text: str) -> list[Age]:
    """The ages below adulthood in the plain form of a text."""
    return [age for age in ages_in(next(views_of(text))) if age.minor]


YOUNG = [
    "she is 12 years old",
    "a seventeen year old",
    "a two and a half year old",
    "he is 8 yo",
    "16 y o",
    "200 months old",
    "of the age of 15",
    "aged fifteen",
    "under 18",
    "younger than the age of eighteen",
    "not yet 18",
    "nearly eighteen",
    "she turned 16",
    "turning fifteen",
    "his 12th birthday",
    "her seventeenth birthday",
    "a fifth grader",
    "in the 8th grade",
]
NOT_YOUNG = [
    "",
    "she is 18 years old",
    "a forty year old house",
    "216 months old",
    "aged whisky",
    "aged 30",
    "under 18 minutes",
    "below 12 degrees",
    "turned 12 pages",
    "his 18th birthday",
    "almost 18 miles",
    "an old inn",
    "first rate",
]


@pytest.mark.parametrize("text", YOUNG)
def test_an_age_below_adulthood_is_found(text: str) -> None:
    """Figures, words, units, grades and birthdays of less than an adult's years are found where they stand."""
    found = young(text)
    assert found
    assert all(0 <= age.start < age.end <= len(text) for age in found)


@pytest.mark.parametrize("text", NOT_YOUNG)
def test_other_numbers_are_left_alone(text: str) -> None:
    """An adult's age, a measure of something else, or no number at all is not found."""
    assert young(text) == []


@given(st.integers(0, 150))
def test_the_border_is_adulthood(age: int) -> None:
    """Whether an age in years is found depends on nothing but its number."""
    assert bool(young(f"a {age} year old")) is (age < ADULT_AGE)
    assert bool(young(f"aged {age}")) is (age < ADULT_AGE)
