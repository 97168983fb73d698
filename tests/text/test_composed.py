"""Composed text: what Unicode says, also of letters with thousands of marks, and soon."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.composed import composed, with_marks_in_order

MARKS = st.sampled_from("\u0301\u0323\u0344\u0345\u0315\u05b0\u0e38\u3099\U0001d165")
PIECES = st.one_of(
    st.text(max_size=5), st.sampled_from(["e", "가", "ᄀ", "か"]), st.text(MARKS, min_size=60, max_size=200)
)


@given(st.lists(PIECES, max_size=5).map("".join))
def test_it_is_normal_form_c(text: str) -> None:
    """The same as Python's, whatever the text."""
    assert composed(text) == unicodedata.normalize("NFC", text)
    assert unicodedata.normalize("NFD", with_marks_in_order(text)) == unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("start", range(64))
def test_runs_are_met_wherever_they_begin(start: int) -> None:
    """A long run is put in order at each offset."""
    text = "x" * start + "e" + "\u0301\u0323" * 40
    assert with_marks_in_order(text) == "x" * start + "e" + "\u0323" * 40 + "\u0301" * 40


def test_short_runs_stay() -> None:
    """What Python orders quickly is left to it."""
    assert with_marks_in_order("e\u0301\u0323") == "e\u0301\u0323"
