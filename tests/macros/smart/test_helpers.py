"""The helpers behind the smart macros: dice, numbers, times."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.smart import helpers
from tests.macros.smart.sandbox_host import MOMENT


@pytest.mark.parametrize(
    ("params", "result"),
    [
        ("1d6", "4"),
        ("d20", "15"),
        ("0d6", "4"),
        ("-3d6", "4"),
        ("1d1", "2"),
        ("1d99999", "464"),
        ("2 d 6", "9"),
        ("2D6", "9"),
        ("", "1"),
        ("2 0d6", "1"),
        ("20", "1"),
        ("2d6+3", "1"),
        ("2d", "1"),
        ("xdy", "1"),
        ("+d6", "1"),
        ("1d_", "1"),
    ],
)
def test_roll(params: str, result: str) -> None:
    """Counts and sides are clamped; junk is 1."""
    assert helpers.roll(params, random.Random(11)) == result  # noqa: S311 - not for secrets


def test_many_dice() -> None:
    """No more than fifty dice are thrown."""
    assert 50 <= int(helpers.roll("999999d2", random.Random(1))) <= 100  # noqa: S311 - not for secrets


@given(st.text(max_size=30))
def test_roll_takes_anything(params: str) -> None:
    """Any text is a throw."""
    assert int(helpers.roll(params, random.Random(1))) >= 1  # noqa: S311 - not for secrets


@pytest.mark.parametrize(
    ("value", "default", "number"),
    [
        ("3.5", 0, 3.5),
        (" 1_000 ", 0, 1000.0),
        (True, 0, 0.0),
        (7, 0, 7.0),
        (None, 5, 5.0),
        ("[UndefinedVar:q]", 9, 9.0),
        ("", "2", 2.0),
        ([], 1, 1.0),
        (10**400, 3, 3.0),
        ("9" * 5000, 4, 4.0),
        ("inf", 0, float("inf")),
    ],
)
def test_num(value: object, default: object, number: float) -> None:
    """Numbers and texts of numbers; else the default."""
    assert helpers.num(value, default) == number


def test_num_wants_a_default_that_is_one() -> None:
    """A default that is no number is a mistake."""
    with pytest.raises(ValueError, match="could not convert"):
        helpers.num("x", "y")


@pytest.mark.parametrize(
    ("old", "value", "text"),
    [
        (1, "5", "6.0"),
        ("a", "b", "ab"),
        (None, "5", "5"),
        ("[UndefinedVar:x]", "5", "[UndefinedVar:x]5"),
        ("1", "-2.5", "-1.5"),
        (" a ", " b ", "ab"),
        (True, 1, "True1"),
    ],
)
def test_added(old: object, value: object, text: str) -> None:
    """Numbers are added, texts joined."""
    assert helpers.added(old, value) == text


@pytest.mark.parametrize(
    ("old", "step", "text"), [(5, -1, "4.0"), ("1", 1, "2.0"), ("junk", 1, "1.0"), (None, -1, "-1.0")]
)
def test_stepped(old: object, step: int, text: str) -> None:
    """What is no number counts as 0."""
    assert helpers.stepped(old, step) == text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%Y-%m-%d %H:%M:%S", "2024-05-17 13:45:30"),
        ("%A %j%% %-d", "Friday 138% 17"),
        ("%s", "1715953530"),
        ("%10000000d", "%10000000d"),
        ("%q %", "%q %"),
        ("%Oy%k|%z%Z|%5Y|%r", "2413||02024|01:45:30 PM"),
        ("时间%H点", "时间13点"),
        ("%Y" * 501, "%Y" * 501),
    ],
)
def test_moment_text(pattern: str, text: str) -> None:
    """Directives of ``strftime`` without widths; the rest stays."""
    assert helpers.moment_text(MOMENT, pattern) == text


def test_moment_text_without_zone() -> None:
    """A moment without a zone counts as UTC."""
    assert helpers.moment_text(MOMENT.replace(tzinfo=None), "%s") == "1715953530"


@pytest.mark.parametrize(
    ("text", "hours"),
    [("+8", 8), ("-3", -3), ("", 0), (":8", 0), ("8", 8), ("+ 2", 0), (" +9999999 ", 9999999), ("x", 0)],
)
def test_utc_offset(text: str, hours: int) -> None:
    """Whole hours; anything else is none."""
    assert helpers.utc_offset(text) == hours


@pytest.mark.parametrize(
    ("hours", "text"), [(30, "19:45:30"), (-3, "10:45:30"), (0, "13:45:30"), (999_999_999, ""), (10**30, "")]
)
def test_shifted_time(hours: int, text: str) -> None:
    """Hours go round the clock; what leaves the calendar is nothing."""
    assert helpers.shifted_time(MOMENT, hours) == text


def test_weekday() -> None:
    """Monday to Sunday, in Chinese."""
    days = [helpers.weekday_cn(datetime(2024, 1, day, tzinfo=UTC)) for day in range(1, 8)]
    assert days == ["星期" + day for day in "一二三四五六日"]


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ("2024-01-01 00:00:00", "2024-01-03 05:06:00", "2天5小时6分钟"),
        ("2024-01-03", "2024-01-01", "-2天0小时0分钟"),
        ("10:00:00", "09:00:00", "-1天23小时0分钟"),
        ("x", "y", ""),
        ("2024-13-01", "2024-01-01", ""),
        (5, "2024-01-01", ""),
        ("2024-01-01", "2024-01-01  0:01:00", "0天0小时1分钟"),
        ("2024-01-01", " 2024-01-01 00:01:00", ""),
        ("2" * 100, "2024-01-01", ""),
    ],
)
def test_timediff(a: object, b: object, text: str) -> None:
    """Days, hours and minutes between two moments of three shapes."""
    assert helpers.timediff(a, b) == text
