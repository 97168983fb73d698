"""Moments in and out."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Clock
from innkeeper.text.javascript.template_dates import MONTHS, WEEKDAYS, epoch_seconds, format_moment, moment_of, strftime

CLOCK = Clock.at("2026-01-15T12:34:56.500Z")
AT = datetime(2024, 4, 5, 6, 7, 8, 90_000, tzinfo=UTC)
EVENING = datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("YYYY YY", "2024 24"),
        ("MMMM MMM MM M", "April Apr 04 4"),
        ("DDDD DD D dddd ddd", "096 05 5 Friday Fri"),
        ("HH H hh h mm m ss s", "06 6 06 6 07 7 08 8"),
        ("X x A", "1712297228 1712297228090 AM"),
        (":HH:mm", "06:07"),
        ("[Month] MMMM [] [YYYY]", "Month April  YYYY"),
        ("[never closed", "[never closed".replace("s", "8").replace("D", "5").replace("d", "d")),
        ("", ""),
        ("Y" * 301, ""),
    ],
)
def test_format(pattern: str, text: str) -> None:
    """Every token is known alone and doubled; brackets are literal; too long a pattern gives nothing."""
    assert format_moment(AT, pattern) == text


@pytest.mark.parametrize("month", range(1, 13))
def test_defect_b20_month_names_stay_whole(month: int) -> None:
    """What a token gave is not read again: April and August keep their letters (B20)."""
    at = datetime(2024, month, 1, 12, tzinfo=UTC)
    assert format_moment(at, "MMMM A") == f"{MONTHS[month - 1]} PM"


def test_evening() -> None:
    """Twelve-hour time around midnight and noon."""
    assert format_moment(EVENING, "h:mm A") == "11:59 PM"
    assert format_moment(datetime(2024, 1, 1, tzinfo=UTC), "hh A") == "12 AM"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%Y-%m-%d %H:%M:%S", "2024-04-05 06:07:08"),
        ("%A %a %B %b %e %-d %j", "Friday Fri April Apr  5 5 096"),
        ("%I %l %-I %p %P %k", "06  6 6 AM am  6"),
        ("%y %C %G-%V %u %w", "24 20 2024-14 5 5"),
        ("%F %T %R %D %r", "2024-04-05 06:07:08 06:07 04/05/24 06:07:08 AM"),
        ("%c|%x|%X", "Fri Apr  5 06:07:08 2024|04/05/24|06:07:08"),
        ("%s %L %N %Z %z", "1712297228 090 090000000 UTC +0000"),
        ("%^b %_m %0e %%%n%t.", "APR  4 05 %\n\t."),
        ("%Q %", "%Q %"),
    ],
)
def test_strftime(pattern: str, text: str) -> None:
    """C's and Ruby's directives in English; unknown ones stay."""
    assert strftime(AT, pattern) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_700_000_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (-86_400, datetime(1969, 12, 31, tzinfo=UTC)),
        (None, CLOCK.now),
        (0, CLOCK.now),
        (" ", CLOCK.now),
        ("yesterday", CLOCK.now),
        (1e300, CLOCK.now),
    ],
)
def test_moment_of(value: object, expected: datetime) -> None:
    """Milliseconds, seconds, or now."""
    assert moment_of(value, CLOCK) == expected


def test_now_ms_comes_before_the_clock() -> None:
    """The application's ``now_ms`` is now where there is one, but junk means the clock."""
    assert epoch_seconds(moment_of(0, CLOCK, 5_000_000_000_000)) == 5_000_000_000
    assert moment_of("junk", CLOCK, 5_000_000_000_000) == CLOCK.now


def test_other_zones() -> None:
    """A clock in another zone gives the same moment."""
    clock = Clock(CLOCK.now.astimezone(timezone(timedelta(hours=9))))
    assert moment_of(None, clock).isoformat() == "2026-01-15T12:34:56.500000+00:00"


@given(st.datetimes(timezones=st.just(UTC)), st.text(max_size=40))
def test_any_pattern(moment: datetime, pattern: str) -> None:
    """Any moment in any pattern is text."""
    assert isinstance(format_moment(moment, pattern), str)
    assert isinstance(strftime(moment, "%" + pattern), str)


@given(st.datetimes(timezones=st.just(UTC)))
def test_weekdays(moment: datetime) -> None:
    """Both ways of writing agree."""
    assert format_moment(moment, "dddd") == strftime(moment, "%A") == WEEKDAYS[moment.weekday()]
