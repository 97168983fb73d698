"""Ages below adulthood, and age words that speak of a family."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.limits import ADULT_AGE
from innkeeper.library.tiers.ages import ages_in, kin_in

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
    found = list(ages_in(text))
    assert found
    assert all(0 <= start < end <= len(text) for start, end in found)


@pytest.mark.parametrize("text", NOT_YOUNG)
def test_other_numbers_are_left_alone(text: str) -> None:
    """An adult's age, a measure of something else, or no number at all is not found."""
    assert list(ages_in(text)) == []


@given(st.integers(0, 150))
def test_the_border_is_adulthood(age: int) -> None:
    """Whether an age in years is found depends on nothing but its number."""
    assert bool(list(ages_in(f"a {age} year old"))) is (age < ADULT_AGE)
    assert bool(list(ages_in(f"aged {age}"))) is (age < ADULT_AGE)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("they raised two children", ["raised two children"]),
        ("a mother of three", []),
        ("a mother of three kids", ["mother of three kids"]),
        ("she looked after the children", ["looked after the children"]),
        ("a family with several children", ["family with several children"]),
        ("a toy for children and adults", ["for children and adults"]),
        ("at the school reunion", ["school reunion"]),
        ("had a child lover", []),
        ("the child smiled", []),
        ("", []),
    ],
)
def test_words_of_family(text: str, phrases: list[str]) -> None:
    """A few phrases tell of a family; an age word alone, or beside a word of love, does not."""
    assert [text[start:end] for start, end in kin_in(text)] == phrases


@given(st.text(st.sampled_from("1234567890 yearsoldmnthwkdgtubchi"), max_size=60))
def test_any_text_is_looked_through(text: str) -> None:
    """Whatever the text, each find is a part of it."""
    for start, end in (*ages_in(text), *kin_in(text)):
        assert 0 <= start < end <= len(text)
