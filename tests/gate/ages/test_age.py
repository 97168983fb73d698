"""Ages: what a number means in each kind of form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.ages.age import BORN_SINCE, KINDS, Age, has_figures, years_of
from innkeeper.gate.limits import ADULT_AGE


@pytest.mark.parametrize(
    ("kind", "number", "years"),
    [
        ("years", 15, (15, 15)),
        ("months", 18, (1.5, 1.5)),
        ("under", 18, (0, 17)),
        ("over", 18, (18, 200)),
        ("over", 199, (199, 200)),
        ("over", 201, None),
        ("half", 30, (15, 15)),
        ("square", 4, (16, 16)),
        ("root", 256, (16, 16)),
        ("born", BORN_SINCE + 3, (0, 17)),
        ("born", 1980, (18, 200)),
        ("school+5", 9, (14, 15)),
        ("teen", 12, None),
        ("tag", 4, None),
        ("bare", 200, None),
        ("school+5", 14, None),
    ],
)
def test_what_a_number_means(kind: str, number: int, years: tuple[float, float] | None) -> None:
    """Its years, or nothing where it is no age in such a form."""
    meaning = years_of(kind, number)
    assert (meaning and meaning[:2]) == years


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 9_999))
def test_years_are_in_order(kind: str, number: int) -> None:
    """The lowest is not above the highest, and what is certain to be an adult is not a minor too."""
    meaning = years_of(kind, number)
    if meaning is not None:
        low, high, certainty = meaning
        age = Age(0, 1, low, high, certainty, kind)
        assert low <= high
        assert 0 < certainty < 1
        assert age.adult is not age.minor
        assert age.adult is (low >= ADULT_AGE)


@pytest.mark.parametrize(("text", "expected"), [("", False), ("fifteen", False), ("x5", True), ("\u0665", False)])
def test_has_figures(text: str, expected: bool) -> None:
    """Western ones alone: others have been folded before."""
    assert has_figures(text) is expected
