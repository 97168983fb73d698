"""Moments written as text, read as JavaScript reads them: moment.js's ISO 8601 first, then the lenient ``Date`` parser.

The lenient rules are those browsers share in practice: words before the first number are ignored, months by their first
three letters, month/day/year order unless the first number cannot be a month, two-digit years around 2000.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

# The basic and the extended form must not be mixed: with a first hyphen, ``(?(dash)-)`` demands the second one.
_ISO: Final = re.compile(
    r"\s*(?P<year>[+-]\d{6}|\d{4})(?:(?P<dash>-)?(?:W(?P<week>\d\d)(?:(?(dash)-)(?P<weekday>\d))?"
    r"|(?P<month>\d\d)(?:(?(dash)-)(?P<day>\d\d))|(?P<ordinal>\d{3})|(?P<only>\d\d))"
    r"(?:[T ](?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,](?P<part>\d+))?)?)?"
    r"(?P<zone>[+-]\d\d(?::?\d\d)?|\s*Z)?)?)?",
    re.ASCII,
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES: Final = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "cdt": -5, "cst": -6, "edt": -4, "est": -5, "mdt": -6, "mst": -7, "pdt": -7,
    "pst": -8,
}  # fmt: skip
_WORD_LENGTH: Final = 3
_PART: Final = re.compile(r"(?P<number>[0-9]+)|(?P<word>[^\x00-\x40]+)|(?P<bracket>\()|(?P<mark>.)", re.DOTALL)
"""Everything from ``A`` on in the code table counts as a letter: that is how browsers have it."""
_LONGEST: Final = 120
_LAST_MONTH: Final = 12
_LAST_DAY: Final = 31
_CENTURY_PIVOT: Final = 50
_CLOCK_PARTS: Final = 3
_DATE_PARTS: Final = 3
_LAST_YEAR: Final = 9999


def read_moment(text: str, zone: tzinfo = UTC) -> datetime | None:
    """Return the moment a text names, or ``None``. Texts without a zone are in ``zone``."""
    if len(text) > _LONGEST:
        return None
    match = _ISO.fullmatch(text)
    if match:
        return iso_moment(match, zone)
    return _Lenient(zone).read(text)


def iso_moment(match: re.Match[str], zone: tzinfo) -> datetime | None:
    """The moment of an ISO 8601 match; ``None`` when the calendar has no such day."""
    try:
        day = _iso_day(match)
        hour = int(match["hour"] or 0)
        offset = _iso_zone(match["zone"], zone)
        clock = timedelta(
            hours=hour,
            minutes=_below(match["minute"], 60),
            seconds=_below(match["second"], 60),
            milliseconds=int(float(f"0.{match['part'] or 0}") * 1000),
        )
        if clock > timedelta(hours=24):
            return None
        return day.replace(tzinfo=offset) + clock
    except (ValueError, OverflowError):
        return None


def _below(digits: str | None, limit: int) -> int:
    number = int(digits or 0)
    if number >= limit:
        msg = "out of range"
        raise ValueError(msg)
    return number


def _iso_day(match: re.Match[str]) -> datetime:
    year = int(match["year"])
    if match["week"]:
        return datetime.fromisocalendar(year, int(match["week"]), int(match["weekday"] or 1))
    if match["ordinal"]:
        day = datetime(year, 1, 1) + timedelta(days=int(match["ordinal"]) - 1)  # noqa: DTZ001 - the zone is set later
        if day.year != year:
            msg = "no such day"
            raise ValueError(msg)
        return day
    return datetime(year, int(match["month"] or match["only"] or 1), int(match["day"] or 1))  # noqa: DTZ001 - likewise


def _iso_zone(text: str | None, zone: tzinfo) -> tzinfo:
    if text is None:
        return zone
    text = text.strip()
    if text == "Z":
        return UTC
    digits = text[1:].replace(":", "")
    delta = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-delta if text[0] == "-" else delta)


class _Lenient:
    """One reading by the lenient rules: numbers, words and marks in turn."""

    __slots__ = ("_text", "clock", "day", "expects", "half", "milliseconds", "month", "offset", "seen", "sign", "zone")

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone
        self._text = ""
        self.day: list[int] = []
        self.clock: list[int] = []
        self.month: int | None = None
        self.half: int | None = None
        self.offset: int | None = None
        self.sign = 0
        self.milliseconds = 0
        self.expects = ""
        self.seen = False

    def read(self, text: str) -> datetime | None:
        self._text, position = text, 0
        while position < len(text):
            match = _PART.match(text, position)
            if match is None or not self._take(match):
                return None
            position = match.end() if match.lastgroup != "bracket" else _after_brackets(text, position)
        return self._moment()

    def _take(self, match: re.Match[str]) -> bool:
        value, after = match.group(), self._text[match.end() : match.end() + 1]
        if match.lastgroup == "number":
            self.seen = True
            return self._number(value, after)
        if match.lastgroup == "word":
            return self._word(value.lower(), after)
        if match.lastgroup == "mark":
            return self._mark(value, self._text[match.start() - 1 : match.start()])
        return True

    def _mark(self, mark: str, before: str) -> bool:
        if mark == "." and len(self.clock) == _CLOCK_PARTS and before.isdigit():
            self.expects = "part"
            return True
        if mark not in "+-" or not self.seen:
            # marks before the first number are noise; behind it only a stray bracket is an error
            return mark != ")" or not self.seen
        if self.offset is None and not self.clock:
            # no time yet: a sign is not a zone's, but the hyphen of 2024-5-6
            return mark == "-" and before.isalnum()
        self.sign, self.expects = -1 if mark == "-" else 1, "zone"
        return True

    def _number(self, digits: str, after: str) -> bool:
        value, expects, self.expects = int(digits), self.expects, ""
        if expects.startswith("zone"):
            return self._zone_number(value, len(digits), after, expects)
        if expects == "part":
            self.milliseconds = int(digits[:_CLOCK_PARTS].ljust(_CLOCK_PARTS, "0"))
            return True
        if after == ":" or expects == "clock":  # only what follows tells that 12 of 12:30 is an hour and no day
            return self._clock_number(value, after)
        self.day.append(value)
        return len(self.day) <= _DATE_PARTS

    def _zone_number(self, value: int, digits: int, after: str, expects: str) -> bool:
        if expects == "zone minutes":
            self.offset = (self.offset or 0) + self.sign * value
        elif digits <= 2:  # noqa: PLR2004 - hh, else hhmm
            self.offset = self.sign * value * 60
            self.expects = "zone minutes" if after == ":" else ""
        else:
            self.offset = self.sign * (value // 100 * 60 + value % 100)
        return True

    def _clock_number(self, value: int, after: str) -> bool:
        if len(self.clock) == _CLOCK_PARTS:  # 12:30:15:250
            self.milliseconds = value
            return True
        self.clock.append(value)
        self.expects = "clock" if after == ":" else ""
        return bool(self.expects) or not after or after.isspace() or after in "zZ+-."

    def _word(self, word: str, after: str) -> bool:
        if word in ("am", "pm"):
            self.half = 12 if word == "pm" else 0
            return bool(self.clock)
        month = word[:_WORD_LENGTH]
        if month in _MONTHS:
            self.month = _MONTHS.index(month) + 1
            return True
        if word in _ZONES and self.seen:
            self.offset = _ZONES[word] * 60
            return True
        return not self.seen and not after.isdigit()  # unknown words are noise only before the first number

    def _moment(self) -> datetime | None:
        day = self._calendar_day()
        clock = self._clock()
        if day is None or clock is None:
            return None
        try:
            zone = self.zone if self.offset is None else timezone(timedelta(minutes=self.offset))
            return day.replace(tzinfo=zone) + clock
        except (ValueError, OverflowError):
            return None

    def _calendar_day(self) -> datetime | None:
        if not self.day:
            return None
        first, second, third = (*self.day, 1, 1)[:_DATE_PARTS]
        # American order, unless the first number can only be a year; a named month takes no number for itself
        year_first = not 1 <= first <= _LAST_DAY
        if self.month is None:
            return _overflowing(first, second, third) if year_first else _overflowing(third, first, second)
        return _overflowing(first, self.month, second) if year_first else _overflowing(second, self.month, first)

    def _clock(self) -> timedelta | None:
        hour, minute, second = (*self.clock, 0, 0, 0)[:_CLOCK_PARTS]
        if self.half is not None:
            if hour > 12:  # noqa: PLR2004 - hours of a clock face
                return None
            hour = hour % 12 + self.half
        midnight = hour == 24 and not (minute or second or self.milliseconds)  # noqa: PLR2004 - hours of a day
        if not midnight and (hour > 23 or minute > 59 or second > 59):  # noqa: PLR2004 - likewise
            return None
        return timedelta(hours=hour, minutes=minute, seconds=second, milliseconds=self.milliseconds)


def _overflowing(year: int, month: int, day: int) -> datetime | None:
    """The day, where the 30th of February is the 2nd of March."""
    if 0 <= year < 100:  # noqa: PLR2004 - two digits
        year += 2000 if year < _CENTURY_PIVOT else 1900
    if not (1 <= month <= _LAST_MONTH and 1 <= day <= _LAST_DAY and year <= _LAST_YEAR):
        return None
    # counted from the first of the month, since ``datetime`` itself refuses the 30th of February
    return datetime(year, month, 1) + timedelta(days=day - 1)  # noqa: DTZ001 - the zone is set later


def _after_brackets(text: str, position: int) -> int:
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index + 1
    return len(text)


_SAVED: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?P<gap> )?@(?P<hour>\d{1,2})h(?(gap) )(?P<minute>\d{1,2})m"
    r"(?(gap) )(?P<second>\d{1,2})s(?(gap) |(?:(?=\d)|$))(?:(?P<part>\d{1,3})ms)?",
    re.ASCII,
)
_SPOKEN: Final = re.compile(
    r"(?P<month>[a-z]{3,9}) (?P<day>\d{1,2}), (?P<year>\d{4}) (?P<hour>\d{1,2}):(?P<minute>\d{2}) ?(?P<half>[ap]m)",
    re.ASCII | re.IGNORECASE,
)


def read_send_date(value: str | float, zone: tzinfo = UTC) -> datetime | None:
    """The moment of a chat message's date in a form SillyTavern has saved it in; ``None`` for anything else.

    Milliseconds, ISO 8601, ``2026-1-10@01h31m37s``, ``January 10, 2026 5:00pm``.
    """
    if not isinstance(value, str):
        return _of_ms(value) if value > 0 else None
    if value.isascii() and value.isdigit():
        return _of_ms(int(value))
    if len(value) > _LONGEST:
        return None
    iso = _ISO.fullmatch(value)
    if iso:
        return iso_moment(iso, zone)
    saved = _SAVED.fullmatch(value)
    if saved:
        return _saved(saved, zone)
    spoken = _SPOKEN.fullmatch(value)
    return _spoken(spoken, zone) if spoken else None


def _of_ms(value: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(value))
    except (ValueError, OverflowError):
        return None


def _saved(match: re.Match[str], zone: tzinfo) -> datetime | None:
    try:
        year, month, day, hour, minute, second = (
            int(match[name]) for name in ("year", "month", "day", "hour", "minute", "second")
        )
        return datetime(year, month, day, hour, minute, second, int(match["part"] or 0) * 1000, tzinfo=zone)
    except ValueError:
        return None


def _spoken(match: re.Match[str], zone: tzinfo) -> datetime | None:
    month = match["month"].lower()[:_WORD_LENGTH]
    hour = int(match["hour"])
    if month not in _MONTHS or not 1 <= hour <= _LAST_MONTH:
        return None
    hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    try:
        return datetime(
            int(match["year"]), _MONTHS.index(month) + 1, int(match["day"]), hour, int(match["minute"]), tzinfo=zone
        )
    except ValueError:
        return None
