"""Moments as text in moment.js's format language (English), and durations in words.

Behaviour is that of moment 2 with its ``en`` locale; the language is described at momentjs.com/docs/#/displaying/format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
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


def _offset(moment: datetime, separator: str) -> str:
    minutes = int((moment.utcoffset() or timedelta()).total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{separator}{abs(minutes) % 60:02d}"


def _meridiem(moment: datetime) -> str:
    return "AM" if moment.hour < _NOON else "PM"


def _epoch_ms(moment: datetime) -> int:
    return math.floor(moment.timestamp() * 1000 + 0.5)


_UNITS: Final[dict[str, Callable[[datetime], int]]] = {
    "M": lambda m: m.month,
    "Q": _quarter,
    "D": lambda m: m.day,
    "DDD": lambda m: m.timetuple().tm_yday,
    "d": _weekday,
    "e": _weekday,
    "E": datetime.isoweekday,
    "w": lambda m: _locale_week(m)[1],
    "W": lambda m: m.isocalendar().week,
    "y": lambda m: m.year,
    "H": lambda m: m.hour,
    "h": lambda m: m.hour % _NOON or _NOON,
    "k": lambda m: m.hour or 24,
    "m": lambda m: m.minute,
    "s": lambda m: m.second,
}
"""The numbers of a moment by their tokens: with an ``o`` behind an ordinal, twice with two digits."""


def _number(unit: Callable[[datetime], int], digits: int = 1) -> Callable[[datetime], str]:
    return lambda moment: f"{unit(moment):0{digits}d}"


def _nth(unit: Callable[[datetime], int]) -> Callable[[datetime], str]:
    return lambda moment: _ordinal(unit(moment))


def _clock(moment: datetime, form: str) -> str:
    """Hours with minutes, and seconds, as one number: ``hmm``, ``Hmmss``."""
    return "".join(_WRITERS[part](moment) for part in re.findall("[Hh]|mm|ss", form))


def _fraction(moment: datetime, digits: int) -> str:
    return f"{moment.microsecond // 1000:03d}000000"[:digits]


_WRITERS: Final[dict[str, Callable[[datetime], str]]] = {
    **{token: _number(unit) for token, unit in _UNITS.items()},
    **{f"{token}o": _nth(unit) for token, unit in _UNITS.items()},
    **{token * 2: _number(unit, 2) for token, unit in _UNITS.items()},
    "MMM": lambda m: MONTHS[m.month - 1][:3],
    "MMMM": lambda m: MONTHS[m.month - 1],
    "DDDD": _number(_UNITS["DDD"], 3),
    "dd": lambda m: WEEKDAYS[m.weekday()][:2],
    "ddd": lambda m: WEEKDAYS[m.weekday()][:3],
    "dddd": lambda m: WEEKDAYS[m.weekday()],
    "Y": lambda m: f"{m.year}" if m.year <= _LAST_PLAIN_YEAR else f"+{m.year}",
    "YY": lambda m: f"{m.year % 100:02d}",
    "YYYY": lambda m: f"{m.year:04d}",
    "YYYYY": lambda m: f"{m.year:05d}",
    "YYYYYY": lambda m: f"+{m.year:06d}",
    "yyy": _number(_UNITS["y"], 3),
    "yyyy": _number(_UNITS["y"], 4),
    **dict.fromkeys(("N", "NN", "NNN", "NNNNN"), lambda _m: "AD"),
    "NNNN": lambda _m: "Anno Domini",
    "gg": lambda m: f"{_locale_week(m)[0] % 100:02d}",
    "gggg": lambda m: f"{_locale_week(m)[0]:04d}",
    "ggggg": lambda m: f"{_locale_week(m)[0]:05d}",
    "GG": lambda m: f"{m.isocalendar().year % 100:02d}",
    "GGGG": lambda m: f"{m.isocalendar().year:04d}",
    "GGGGG": lambda m: f"{m.isocalendar().year:05d}",
    "A": _meridiem,
    "a": lambda m: _meridiem(m).lower(),
    **{form: partial(_clock, form=form) for form in ("hmm", "hmmss", "Hmm", "Hmmss")},
    **{"S" * digits: partial(_fraction, digits=digits) for digits in range(1, 10)},
    "X": lambda m: f"{_epoch_ms(m) // 1000}",
    "x": lambda m: f"{_epoch_ms(m)}",
    **dict.fromkeys(("z", "zz"), lambda _m: ""),
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
