"""Clock: one moment, read from the request."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Clock, FormatError, InnkeeperError, clock

CET = timezone(timedelta(hours=1))


@dataclass(frozen=True)
class Case:
    id: str
    moment: Any
    now: datetime


CASES = [
    Case("utc", "2026-01-15T12:34:56Z", datetime(2026, 1, 15, 12, 34, 56, tzinfo=UTC)),
    Case("zone", "2026-01-15T12:34:56+01:00", datetime(2026, 1, 15, 12, 34, 56, tzinfo=CET)),
    Case("naive-is-utc", "2026-01-15T12:34:56", datetime(2026, 1, 15, 12, 34, 56, tzinfo=UTC)),
    Case("a-day", "2026-01-15", datetime(2026, 1, 15, tzinfo=UTC)),
    Case("a-datetime", datetime(2026, 1, 15, tzinfo=CET), datetime(2026, 1, 15, tzinfo=CET)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_moments_are_read(case: Case) -> None:
    """ISO 8601 texts and datetimes; what has no zone is in UTC."""
    now = Clock.at(case.moment).now
    assert now == case.now
    assert now.utcoffset() == case.now.utcoffset()


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-13-01", 5, date(2026, 1, 1), "0001-01-01", "9999-12-31"])
def test_what_is_no_moment_is_a_format_error(moment: Any) -> None:
    """The error says how to write one; years that some zone cannot write are refused."""
    with pytest.raises(FormatError) as caught:
        Clock.at(moment)
    assert "2026-01-15T12:34:56Z" in (caught.value.hint or "")


@given(st.text(max_size=30))
def test_any_text_is_a_moment_or_a_typed_error(text: str) -> None:
    """No text raises anything else."""
    try:
        read = Clock.at(text)
    except InnkeeperError:
        return
    assert read.now.tzinfo is not None


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001 - bounds are naive
def test_every_moment_can_be_written_in_every_zone(moment: datetime) -> None:
    """The same instant in the zones furthest apart, and its milliseconds."""
    read = Clock.at(moment)
    for hours in (-12, 14):
        assert read.in_zone(timezone(timedelta(hours=hours))) == moment
    assert read.epoch_ms == (moment - clock.EPOCH) // timedelta(milliseconds=1)


def test_no_moment_asks_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ``None`` reads the wall clock, through the one place that may."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(clock, "utc_now", lambda: moment)
    assert Clock.at(None, "de-DE") == Clock(moment, "de-DE")
