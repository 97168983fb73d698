"""Formats and durations of moment.js."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.javascript.momentjs import MAX_FORMAT_CHARS, format_momentjs, in_words

NOW = datetime(2024, 12, 30, 0, 5, 9, 123_000, tzinfo=UTC)
FORMATS = [
    ("YYYY-MM-DD", "2024-12-30"),
    ("Y YY YYYYY YYYYYY", "2024 24 02024 +002024"),
    ("M Mo MMM MMMM", "12 12th Dec December"),
    ("D Do DDD DDDD", "30 30th 365 365"),
    ("d do dd ddd dddd e E", "1 1st Mo Mon Monday 1 1"),
    ("H HH h hh k kk", "0 00 12 12 24 24"),
    ("a A m mm s ss", "am AM 5 05 9 09"),
    ("S SS SSS SSSS", "1 12 123 1230"),
    ("w ww W WW", "1 01 1 01"),
    ("gggg GGGG", "2025 2025"),
    ("Q Qo", "4 4th"),
    ("X x", "1735517109 1735517109123"),
    ("Z ZZ z", "+00:00 +0000 "),
    ("LT|LTS", "12:05 AM|12:05:09 AM"),
    ("L l", "12/30/2024 12/30/2024"),
    ("LL ll", "December 30, 2024 Dec 30, 2024"),
    ("[today] D", "today 30"),
    ("\\Y[Y", "Y[2024"),
    ("hmm Hmmss", "1205 00509"),
    ("", "2024-12-30T00:05:09+00:00"),
    ("YYYY\nMM", "202412"),
    ("\\\\", ""),
    ("N NNNN", "AD Anno Domini"),
]


@pytest.mark.parametrize(("form", "text"), FORMATS, ids=repr)
def test_format_moment(form: str, text: str) -> None:
    """Each token prints as moment.js prints it."""
    assert format_momentjs(NOW, form) == text


def test_zones() -> None:
    """The offset is that of the moment's zone."""
    zone = timezone(-timedelta(hours=3, minutes=30))
    assert format_momentjs(NOW.astimezone(zone), "YYYY-MM-DD HH:mm Z ZZ") == "2024-12-29 20:35 -03:30 -0330"


@given(st.text(max_size=200))
def test_any_text_is_a_format(form: str) -> None:
    """No format raises; one in brackets stands for itself."""
    assert isinstance(format_momentjs(NOW, form), str)
    if "[" not in form and "]" not in form:
        assert format_momentjs(NOW, f"[{form}]") == form


def test_long_formats_are_left_alone() -> None:
    """A format beyond the limit is returned as it is."""
    assert format_momentjs(NOW, "Y" * (MAX_FORMAT_CHARS + 1)) == "Y" * (MAX_FORMAT_CHARS + 1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "a few seconds ago"),
        (44, "in a few seconds"),
        (45, "in a minute"),
        (90, "in 2 minutes"),
        (2700, "in an hour"),
        (5400, "in 2 hours"),
        (79_200, "in a day"),
        (129_600, "in 2 days"),
        (26 * 86_400, "in a month"),
        (46 * 86_400, "in 2 months"),
        (320 * 86_400, "in a year"),
        (547 * 86_400, "in a year"),
        (548 * 86_400, "in 2 years"),
        (-9000, "3 hours ago"),
    ],
)
def test_in_words(seconds: int, words: str) -> None:
    """Durations change their unit where moment.js changes it."""
    assert in_words(timedelta(seconds=seconds), suffix=True) == words


@given(st.timedeltas(min_value=timedelta(days=-40_000), max_value=timedelta(days=40_000)))
def test_words_of_opposite_durations_agree(duration: timedelta) -> None:
    """A duration and its opposite differ in the suffix only."""
    assert in_words(duration) == in_words(-duration)
