"""Moments as text in moment.js's format language (English), and durations in words.

Behaviour is that of moment 2 with its ``en`` locale; the language is described at momentjs.com/docs/#/displaying/format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from innkeeper.text.javascript.template_dates import MONTHS, WEEKDAYS

DEFAULT_FORMAT: Final = "YYYY-MM-DDTHH:mm:ssZ"
"""The meaning of an empty format."""

MAX_FORMAT_CHARS: Final = 4096
"""Characters of a format (no error: a longer one is returned as it is)."""

_LONG: Final = {
    "LT": "h:mm A",
    "LTS": "h:mm:ss A",
    "L": "MM/DD/YYYY",
    "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "l": "M/D/YYYY",
    "ll": "MMM D, YYYY",
    "lll": "MMM D, YYYY h:mm A",
    "llll": "ddd, MMM D, YYYY h:mm A",
}
_LONG_TOKEN: Final = re.compile(r"(\[[^\[]*\])|(\\)?(LTS|LT|LL?L?L?|l{1,4})")
# Newlines outside of brackets match nothing and are dropped; `w|` is a token that stands for itself: both are moment's.
_TOKEN: Final = re.compile(
    r"(\[[^\[]*\])|(\\)?([Hh]mm(?:ss)?|Mo|MM?M?M?|Do|DDDo|DD?D?D?|ddd?d?|do?|w[o|w]?|W[o|W]?|Qo?|N{1,5}|YYYYYY|YYYYY"
    r"|YYYY|YY|y{2,4}|yo?|gg(?:ggg?)?|GG(?:GGG?)?|e|E|a|A|hh?|HH?|kk?|mm?|ss?|S{1,9}|x|X|zz?|ZZ?|LTS|LT|LL?L?L?"
    r"|l{1,4}|[^\n\r\u2028\u2029])"
)
_LAST_PLAIN_YEAR: Final = 9999
_NOON: Final = 12


def format_momentjs(moment: datetime, form: str) -> str:
    """``moment`` (aware) in a moment.js format; blank formats mean `DEFAULT_FORMAT`."""
    if len(form) > MAX_FORMAT_CHARS:
        return form
    form = _LONG_TOKEN.sub(lambda match: _LONG.get(match.group(), match.group()), form or DEFAULT_FORMAT)
    return "".join(_piece(moment, token) for token in _TOKEN.finditer(form))


def _piece(moment: datetime, match: re.Match[str]) -> str:
    part = match.group()
    write = _WRITERS.get(part)
    if write is not None:
        return write(moment)
    bracketed = part.startswith("[") and len(part) > 1
    return part[1:-1] if bracketed else part.replace("\\", "")


def _ordinal(number: int) -> str:
    tail = number % 10
    teen = number % 100 // 10 == 1
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(tail, 'th')}"


def _day_of_year(moment: datetime) -> int:
    return moment.timetuple().tm_yday


def _quarter(moment: datetime) -> int:
    return (moment.month + 2) // 3


def _weekday(moment: datetime) -> int:
    return moment.isoweekday() % 7


def _locale_week(moment: datetime) -> tuple[int, int]:
    """Year and week that begin on Sunday; week 1 holds the first of January."""
    sunday = moment.date() - timedelta(days=_weekday(moment))
    saturday_year = (sunday + timedelta(days=6)).year
    first = datetime(saturday_year, 1, 1, tzinfo=moment.tzinfo)
    return saturday_year, ((sunday - first.date()).days + _weekday(first)) // 7 + 1


def _hour12(moment: datetime) -> int:
    return moment.hour % _NOON or _NOON


def _hour24(moment: datetime) -> int:
    return moment.hour or 24


def _offset(moment: datetime, separator: str) -> str:
    minutes = int((moment.utcoffset() or timedelta()).total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{separator}{abs(minutes) % 60:02d}"


def _year(moment: datetime) -> str:
    return f"{moment.year}" if moment.year <= _LAST_PLAIN_YEAR else f"+{moment.year}"


def _meridiem(moment: datetime) -> str:
    return "AM" if moment.hour < _NOON else "PM"


def _fraction(digits: int) -> Callable[[datetime], str]:
    return lambda moment: f"{moment.microsecond // 1000:03d}000000"[:digits]


def _epoch_ms(moment: datetime) -> int:
    return math.floor(moment.timestamp() * 1000 + 0.5)


_WRITERS: Final[dict[str, Callable[[datetime], str]]] = {
    "M": lambda m: f"{m.month}",
    "Mo": lambda m: _ordinal(m.month),
    "MM": lambda m: f"{m.month:02d}",
    "MMM": lambda m: MONTHS[m.month - 1][:3],
    "MMMM": lambda m: MONTHS[m.month - 1],
    "Q": lambda m: f"{_quarter(m)}",
    "Qo": lambda m: _ordinal(_quarter(m)),
    "D": lambda m: f"{m.day}",
    "Do": lambda m: _ordinal(m.day),
    "DD": lambda m: f"{m.day:02d}",
    "DDD": lambda m: f"{_day_of_year(m)}",
    "DDDo": lambda m: _ordinal(_day_of_year(m)),
    "DDDD": lambda m: f"{_day_of_year(m):03d}",
    "d": lambda m: f"{_weekday(m)}",
    "do": lambda m: _ordinal(_weekday(m)),
    "dd": lambda m: WEEKDAYS[m.weekday()][:2],
    "ddd": lambda m: WEEKDAYS[m.weekday()][:3],
    "dddd": lambda m: WEEKDAYS[m.weekday()],
    "e": lambda m: f"{_weekday(m)}",
    "E": lambda m: f"{m.isoweekday()}",
    "w": lambda m: f"{_locale_week(m)[1]}",
    "wo": lambda m: _ordinal(_locale_week(m)[1]),
    "ww": lambda m: f"{_locale_week(m)[1]:02d}",
    "W": lambda m: f"{m.isocalendar().week}",
    "Wo": lambda m: _ordinal(m.isocalendar().week),
    "WW": lambda m: f"{m.isocalendar().week:02d}",
    "Y": _year,
    "YY": lambda m: f"{m.year % 100:02d}",
    "YYYY": lambda m: f"{m.year:04d}",
    "YYYYY": lambda m: f"{m.year:05d}",
    "YYYYYY": lambda m: f"+{m.year:06d}",
    "y": lambda m: f"{m.year}",
    "yo": lambda m: _ordinal(m.year),
    "yy": lambda m: f"{m.year:02d}",
    "yyy": lambda m: f"{m.year:03d}",
    "yyyy": lambda m: f"{m.year:04d}",
    "N": lambda _m: "AD",
    "NN": lambda _m: "AD",
    "NNN": lambda _m: "AD",
    "NNNN": lambda _m: "Anno Domini",
    "NNNNN": lambda _m: "AD",
    "gg": lambda m: f"{_locale_week(m)[0] % 100:02d}",
    "gggg": lambda m: f"{_locale_week(m)[0]:04d}",
    "ggggg": lambda m: f"{_locale_week(m)[0]:05d}",
    "GG": lambda m: f"{m.isocalendar().year % 100:02d}",
    "GGGG": lambda m: f"{m.isocalendar().year:04d}",
    "GGGGG": lambda m: f"{m.isocalendar().year:05d}",
    "A": _meridiem,
    "a": lambda m: _meridiem(m).lower(),
    "H": lambda m: f"{m.hour}",
    "HH": lambda m: f"{m.hour:02d}",
    "h": lambda m: f"{_hour12(m)}",
    "hh": lambda m: f"{_hour12(m):02d}",
    "k": lambda m: f"{_hour24(m)}",
    "kk": lambda m: f"{_hour24(m):02d}",
    "hmm": lambda m: f"{_hour12(m)}{m.minute:02d}",
    "hmmss": lambda m: f"{_hour12(m)}{m.minute:02d}{m.second:02d}",
    "Hmm": lambda m: f"{m.hour}{m.minute:02d}",
    "Hmmss": lambda m: f"{m.hour}{m.minute:02d}{m.second:02d}",
    "m": lambda m: f"{m.minute}",
    "mm": lambda m: f"{m.minute:02d}",
    "s": lambda m: f"{m.second}",
    "ss": lambda m: f"{m.second:02d}",
    **{"S" * digits: _fraction(digits) for digits in range(1, 10)},
    "X": lambda m: f"{_epoch_ms(m) // 1000}",
    "x": lambda m: f"{_epoch_ms(m)}",
    "z": lambda _m: "",
    "zz": lambda _m: "",
    "Z": lambda m: _offset(m, ":"),
    "ZZ": lambda m: _offset(m, ""),
}

_DAYS_PER_MONTH: Final = 146_097 / 4800
_SECONDS: Final = 44
_MINUTES: Final = 45
_HOURS: Final = 22
_DAYS: Final = 26
_MONTHS: Final = 11


def in_words(duration: timedelta, *, suffix: bool = False) -> str:
    """A duration as moment.js says it: ``3 hours``, with ``suffix`` ``in 3 hours`` or (zero too) ``3 hours ago``."""
    words = _words(abs(duration.total_seconds()))
    if not suffix:
        return words
    return f"in {words}" if duration > timedelta() else f"{words} ago"


def _words(seconds: float) -> str:
    minutes, hours, days = _round(seconds / 60), _round(seconds / 3600), _round(seconds / 86_400)
    months = _round(seconds / 86_400 / _DAYS_PER_MONTH)
    years = _round(seconds / 86_400 / _DAYS_PER_MONTH / 12)
    if _round(seconds) <= _SECONDS:
        return "a few seconds"
    for count, below, one, many in (
        (minutes, _MINUTES, "a minute", "minutes"),
        (hours, _HOURS, "an hour", "hours"),
        (days, _DAYS, "a day", "days"),
        (months, _MONTHS, "a month", "months"),
    ):
        if count <= 1:
            return one
        if count < below:
            return f"{count} {many}"
    return "a year" if years <= 1 else f"{years} years"


def _round(number: float) -> int:
    return math.floor(number + 0.5)
