"""Moments read from text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.javascript.date_parsing import read_moment, read_send_date

READ = [
    ("2026-01-15", "2026-01-15T00:00:00"),
    ("2026-01-15 12:00:01.5", "2026-01-15T12:00:01.500000"),
    ("20260115T1200", "2026-01-15T12:00:00"),
    ("2026-015", "2026-01-15T00:00:00"),
    ("2026-W03-4", "2026-01-15T00:00:00"),
    ("2026-01-15T12:00+02:00", "2026-01-15T10:00:00"),
    ("2026-01-20T24:00", "2026-01-21T00:00:00"),
    ("January 20, 2026", "2026-01-20T00:00:00"),
    ("20 Jan 2026 5:06 pm", "2026-01-20T17:06:00"),
    ("1/20/2026", "2026-01-20T00:00:00"),
    ("2026/1/20", "2026-01-20T00:00:00"),
    ("1/2/49", "2049-01-02T00:00:00"),
    ("5", "2001-05-01T00:00:00"),
    ("Feb 30, 2026", "2026-03-02T00:00:00"),
    ("Tue, 20 Jan 2026 10:00:00 +0200", "2026-01-20T08:00:00"),
    ("Jan 6 2026 (x) EST", "2026-01-06T05:00:00"),
    ("Jan 6 2026 12:00:00.25 GMT-03:30", "2026-01-06T15:30:00.250000"),
]


@pytest.mark.parametrize(("text", "moment"), READ, ids=lambda value: value)
def test_read_moment(text: str, moment: str) -> None:
    """ISO 8601 first, then the lenient forms that browsers read."""
    assert read_moment(text) == datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-13-01",
        "2026-02-30",
        "20.01.2026",
        "12:00",
        "5:00pm Jan 6",
        "6}}",
        "1e3",
        "Jan 6 2026 25:00",
        "9" * 500,
    ],
)
def test_what_is_no_moment(text: str) -> None:
    """Days and hours that do not exist, and words after a number, make a text no moment."""
    assert read_moment(text) is None


SAVED = [
    (1768003200000, "2026-01-10T00:00:00"),
    ("1768003200000", "2026-01-10T00:00:00"),
    ("2026-1-10@01h31m37s", "2026-01-10T01:31:37"),
    ("2026-1-10 @05h 03m 09s 7ms", "2026-01-10T05:03:09.007000"),
    ("January 10, 2026 12:30am", "2026-01-10T00:30:00"),
    ("january 10, 2026 5:00PM", "2026-01-10T17:00:00"),
    ("2026-01-10 12:00", "2026-01-10T12:00:00"),
]


@pytest.mark.parametrize(("value", "moment"), SAVED, ids=str)
def test_read_send_date(value: str | int, moment: str) -> None:
    """Every form a chat has been saved with."""
    assert read_send_date(value) == datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "value", ["", "bad", "January 10, 2026", "2026-01-10 @15h 30m 20s", -1, 10**30, "Foo 10, 2026 5:00pm"]
)
def test_unknown_send_dates(value: str | int) -> None:
    """Other texts name no moment."""
    assert read_send_date(value) is None


def test_zone_of_texts_without_one() -> None:
    """A text without a zone is in the zone it is read in."""
    zone = timezone(timedelta(hours=5))
    assert read_moment("2026-01-15 12:00", zone) == datetime(2026, 1, 15, 7, tzinfo=UTC)
    assert read_send_date("January 15, 2026 12:00pm", zone) == datetime(2026, 1, 15, 7, tzinfo=UTC)


@given(st.text(alphabet="0123456789-/:., TZ+()janFebpmAMgt}é", max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    """Reading never raises, and what it finds has a zone."""
    for found in (read_moment(text), read_send_date(text)):
        assert found is None or found.tzinfo is not None
