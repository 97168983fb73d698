"""Ages: every way to write one is read, with its years, and what is none is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.ages.age import PERHAPS, Age
from innkeeper.gate.ages.grammar import ages_in, read_ages
from innkeeper.gate.limits import ADULT_AGE
from innkeeper.gate.words.vocabulary import vocabulary_of
from innkeeper.text.views import views_of


def young(text: str) -> list[Age]:
    """The ages below adulthood in the plain form of a text."""
    return [age for age in ages_in(next(views_of(text))) if age.minor]


def perhaps(text: str) -> list[float]:
    """The numbers in a text that are read as perhaps an age."""
    view = next(views_of(text))
    words = vocabulary_of(view)
    return [age.low for age in read_ages(view, words, words.hits(view), text) if age.kind == PERHAPS]


def ages_of(text: str) -> list[float]:
    """The years of the ages below adulthood in a text, those without doubt."""
    view = next(views_of(text))
    words = vocabulary_of(view)
    ages = read_ages(view, words, words.hits(view), text)
    return [age.low for age in ages if age.minor and age.kind != PERHAPS]


YOUNG = [
    "she is 12 years old",
    "a seventeen year old",
    "a two and a half year old",
    "he is 8 yo",
    "16 y o",
    "200 months old",
    "of the age of 15",
    "aged fifteen",
    "aged 14. class class",
    "aged 14; class class",
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


YEARS = [
    ("she is sixteen years old", 16, 16),
    ("a twenty-five-year-old", 25, 25),
    ("between 13 and 15 years old", 13, 15),
    ("18-25 years old", 18, 25),
    ("not yet 18 years old", 0, 17),
    ("in the 8th grade", 13, 14),
    ("a year 9 pupil", 13, 14),
    ("born in 2012", 0, 17),
    ("she is one-five", 15, 15),
    ("she is about 15", 15, 15),
    ("he could not have been more than sixteen", 16, 16),
    ("appears to be 13", 13, 13),
    ("twice eight years old", 16, 16),
    ("the square of four", 16, 16),
    ("at fifteen", 15, 15),
    ("she turns eighteen next month", 0, 17),
    ("yet to see her eighteenth birthday", 0, 17),
    ("class of 2029", 17, 22),
    ("a fifteenyearold", 15, 15),
    ("15ish", 15, 15),
    ("fünfzehn Jahre alt", 15, 15),
    ("eine Sechzehnjährige", 16, 16),
    ("ihr fünfzehnter Geburtstag", 15, 15),
    ("elle a seize ans", 16, 16),
    ("una chica de quince años", 15, 15),
    ("ela tem dezesseis anos", 16, 16),
    ("una ragazza di diciassette anni", 17, 17),
    ("ей пятнадцать лет", 15, 15),
    ("шестнадцатилетняя", 16, 16),
    ("十五岁", 15, 15),
    ("未满十八岁", 0, 17),
    ("十五歳", 15, 15),
    ("열다섯 살", 15, 15),
    ("스물다섯 살", 25, 25),
]


@pytest.mark.parametrize(("text", "low", "high"), YEARS)
def test_an_age_has_its_years(text: str, low: int, high: int) -> None:
    """In words and figures, of one year or of a range, in each language."""
    assert (low, high) in {(age.low, age.high) for age in ages_in(next(views_of(text)))}


@pytest.mark.parametrize(
    "text",
    [
        "hace quince años",
        "il y a quinze ans",
        "seit fünfzehn Jahren",
        "quinze ans de mariage",
        "a 12-year-old whisky",
        "the dog is 12 years old",
        "one hundred and five years old",
        "she is 15 minutes late",
        "an elf years old",
        "class of 2019",
        "about 15 minutes",
    ],
)
def test_spans_of_time_and_ages_of_things_are_none(text: str) -> None:
    """What lasted so long, and what has years and is no person."""
    assert young(text) == []


@pytest.mark.parametrize(
    ("text", "subject"), [("her daughter, 7 years old", "kin"), ("she is 15", "she is"), ("aged 15", "aged")]
)
def test_whom_an_age_is_about(text: str, subject: str) -> None:
    """A child of somebody's, or the words before it."""
    assert {age.subject for age in young(text)} == {subject}


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("My neighbour is somewhere around thirteen.", [13]),
        ("Ada is fourteen.", [14]),
        ("Mia is fifteen.", [15]),
        ("The elf is twelve.", [12]),
        ("Mia had been 14 for a week.", [14]),
        ("Mia: 16", [16]),
        ("Nora, fifteen, loves the sea.", [15]),
        ("How old is she? Fifteen.", [15]),
        ("She says nineteen; it is sixteen.", [16]),
        ("Her ID says sixteen.", [16]),
        ("He is fifteen again.", [15]),
        ("They aged her down to fourteen.", [14]),
        ("Ella, quizás catorce.", [14]),
        ("Das Mädchen, kaum vierzehn.", [14]),
        ("Mia ist fünfzehn.", [15]),
        ("Мие пятнадцать.", [15]),
        ("她多大?十四。", [14]),
        ("She is half of thirty.", [15]),
        ("The bridge is fifteen.", []),
        ("The score is 15.", []),
        ("It is sixteen degrees.", []),
        ("Elena is number fifteen in the world.", []),
        ("Mia is fifteen minutes late.", []),
        ("Chapter 15: the letter.", []),
        ("Guests: 14.", []),
    ],
)
def test_an_open_subject_has_the_age_that_is_said_of_it(text: str, years: list[float]) -> None:
    """Any noun phrase or name has it; what a number counts, a thing, or a label takes it away."""
    assert sorted(set(ages_of(text))) == years


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("Around fourteen.", [14]),
        ("The girl next door, fifteen, waves.", [15]),
    ],
)
def test_a_number_without_a_cue_may_be_an_age(text: str, years: list[float]) -> None:
    """Where a person or a name stands before it, or nothing but small words, and it counts nothing."""
    assert perhaps(text) == years


@pytest.mark.parametrize(
    "text",
    [
        "She bought around thirteen lamps.",
        "The bill is fourteen.",
        "Chapter 14.",
        "She is in room 15.",
        "She waited about 15 minutes.",
        "She is somewhere around thirty.",
        "12. Roses.",
        "They met her. It cost around fifteen.",
    ],
)
def test_a_number_of_something_else_is_none(text: str) -> None:
    """What is counted, named by its number or said of no person is no age."""
    assert perhaps(text) == []


@pytest.mark.parametrize("text", ["She is fifteen years old. Bottle in hand.", "She's 15. Minutes later"])
def test_what_follows_a_stop_says_nothing_of_a_number(text: str) -> None:
    """A word for a thing or a measure counts only in the sentence of the number."""
    view = next(views_of(text))
    words = vocabulary_of(view)
    assert list(read_ages(view, words, words.hits(view), text))


@pytest.mark.parametrize(("text", "is_age"), [('{"age":15,"x":1}', True), ("she is on at 15:30", False)])
def test_a_colon_is_a_clock_only_between_figures(text: str, is_age: bool) -> None:
    """Behind a word it leads to a value."""
    view = next(views_of(text))
    words = vocabulary_of(view)
    assert bool(list(read_ages(view, words, words.hits(view), text))) is is_age


@pytest.mark.parametrize("text", ["三十岁生日", "三十歳の誕生日", "A sultry port, ten years old."])
def test_a_part_of_a_number_and_the_age_of_a_thing_are_none(text: str) -> None:
    """The end of a larger number is no number of its own; a thing right before a comma has the years behind it."""
    view = next(views_of(text))
    words = vocabulary_of(view)
    assert not [age for age in read_ages(view, words, words.hits(view), text) if age.minor]
