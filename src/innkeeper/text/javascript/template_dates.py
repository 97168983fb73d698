"""Moments as templates write them: from what they are given to a UTC date, and from a date to text. English names.

Nothing here asks the machine: "now" is the `Clock` of the build.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from innkeeper.prompt.determinism import EPOCH, Clock
from innkeeper.prompt.run.variables import number_of

MAX_FORMAT: Final = 300
"""Characters of a format (no error: a longer one gives an empty text, TavernKit's rule)."""

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_SECONDS_BELOW: Final = 10**11
_HALF_DAY: Final = 12


def moment_of(value: Any, clock: Clock, now_ms: Any = None) -> datetime:
    """A UTC moment from epoch milliseconds, or seconds where below 10¹¹ in size, as a number or numeric text.

    Nothing, blank text and 0 mean ``now_ms`` if that is a number, else the clock; so does what cannot be read.
    """
    number = number_of(value)
    if number is None or number == 0:
        blank = number == 0 or value is None or not str(value).strip()
        number = number_of(now_ms) if blank else None
    try:
        if not number:
            return clock.now.astimezone(UTC)
        return EPOCH + timedelta(milliseconds=number * 1000 if abs(number) < _SECONDS_BELOW else number)
    except (OverflowError, ValueError):
        return clock.now.astimezone(UTC)


def epoch_seconds(moment: datetime) -> int:
    """Seconds since 1970, halves rounded up as JavaScript does."""
    return math.floor((moment - EPOCH).total_seconds() + 0.5)


def _hour12(moment: datetime) -> int:
    return moment.hour % _HALF_DAY or _HALF_DAY


def _half(moment: datetime) -> str:
    return "AM" if moment.hour < _HALF_DAY else "PM"


_TOKENS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "YYYY": lambda at: f"{at.year:04d}",
    "YY": lambda at: f"{at.year % 100:02d}",
    "MMMM": lambda at: MONTHS[at.month - 1],
    "MMM": lambda at: MONTHS[at.month - 1][:3],
    "MM": lambda at: f"{at.month:02d}",
    "M": lambda at: str(at.month),
    "DDDD": lambda at: f"{at.timetuple().tm_yday:03d}",
    "DD": lambda at: f"{at.day:02d}",
    "D": lambda at: str(at.day),
    "dddd": lambda at: WEEKDAYS[at.weekday()],
    "ddd": lambda at: WEEKDAYS[at.weekday()][:3],
    "HH": lambda at: f"{at.hour:02d}",
    "H": lambda at: str(at.hour),
    "hh": lambda at: f"{_hour12(at):02d}",
    "h": lambda at: str(_hour12(at)),
    "mm": lambda at: f"{at.minute:02d}",
    "m": lambda at: str(at.minute),
    "ss": lambda at: f"{at.second:02d}",
    "s": lambda at: str(at.second),
    "X": lambda at: str(epoch_seconds(at)),
    "x": lambda at: str(math.floor((at - EPOCH) / timedelta(milliseconds=1))),
    "A": _half,
}

_TOKEN: Final = re.compile(r"\[(?P<literal>[^\[\]]*)\]|" + "|".join(sorted(_TOKENS, key=len, reverse=True)))


def format_moment(moment: datetime, pattern: str) -> str:
    """Format a moment by a pattern of `_TOKENS`, in one pass: replacements are not scanned again. ``[text]`` is literal.

    A leading ``:`` is dropped; an empty pattern, or one of more than 300 characters, gives an empty text.

    >>> format_moment(datetime(2024, 4, 5, 6, 7, tzinfo=UTC), "MMMM D, YYYY [at] h:mm A")
    'April 5, 2024 at 6:07 AM'
    """
    if len(pattern) > MAX_FORMAT:
        return ""
    return _TOKEN.sub(lambda match: _token_text(match, moment), pattern.removeprefix(":"))


def _token_text(match: re.Match[str], moment: datetime) -> str:
    literal: str | None = match["literal"]
    return _TOKENS[match.group()](moment) if literal is None else literal


_DIRECTIVES: Final[Mapping[str, Callable[[datetime], str]]] = {
    "Y": _TOKENS["YYYY"],
    "y": _TOKENS["YY"],
    "C": lambda at: f"{at.year // 100:02d}",
    "B": _TOKENS["MMMM"],
    "b": _TOKENS["MMM"],
    "h": _TOKENS["MMM"],
    "m": _TOKENS["MM"],
    "d": _TOKENS["DD"],
    "e": lambda at: f"{at.day:2d}",
    "j": _TOKENS["DDDD"],
    "A": _TOKENS["dddd"],
    "a": _TOKENS["ddd"],
    "u": lambda at: str(at.isoweekday()),
    "w": lambda at: str(at.isoweekday() % 7),
    "H": _TOKENS["HH"],
    "k": lambda at: f"{at.hour:2d}",
    "I": _TOKENS["hh"],
    "l": lambda at: f"{_hour12(at):2d}",
    "M": _TOKENS["mm"],
    "S": _TOKENS["ss"],
    "L": lambda at: f"{at.microsecond // 1000:03d}",
    "N": lambda at: f"{at.microsecond * 1000:09d}",
    "p": _half,
    "P": lambda at: _half(at).lower(),
    "s": _TOKENS["X"],
    "Z": lambda at: at.tzname() or "",
    "z": lambda at: at.strftime("%z"),
    "V": lambda at: f"{at.isocalendar().week:02d}",
    "G": lambda at: f"{at.isocalendar().year:04d}",
    "n": lambda _at: "\n",
    "t": lambda _at: "\t",
    "%": lambda _at: "%",
    "D": lambda at: strftime(at, "%m/%d/%y"),
    "F": lambda at: strftime(at, "%Y-%m-%d"),
    "R": lambda at: strftime(at, "%H:%M"),
    "T": lambda at: strftime(at, "%H:%M:%S"),
    "X": lambda at: strftime(at, "%H:%M:%S"),
    "x": lambda at: strftime(at, "%m/%d/%y"),
    "r": lambda at: strftime(at, "%I:%M:%S %p"),
    "c": lambda at: strftime(at, "%a %b %e %H:%M:%S %Y"),
}

_DIRECTIVE: Final = re.compile(r"%(?P<flag>[-^_0]?)(?P<letter>[A-Za-z%])")


def strftime(moment: datetime, pattern: str) -> str:
    """The moment in a pattern of Ruby's and C's directives, as Liquid's ``date`` takes them; unknown ones stay as written.

    The flags ``-`` (no padding), ``^`` (capitals), ``_`` (spaces) and ``0`` (zeros) are known. The machine's locale is not
    asked.

    >>> strftime(datetime(2024, 4, 5, tzinfo=UTC), "%a, %-d %b %Y")
    'Fri, 5 Apr 2024'
    """
    return _DIRECTIVE.sub(lambda match: _directive_text(match, moment), pattern)


def _directive_text(match: re.Match[str], moment: datetime) -> str:
    directive = _DIRECTIVES.get(match["letter"])
    if directive is None:
        return match.group()
    text = directive(moment)
    match match["flag"]:
        case "-":
            return text.lstrip("0 ") or "0"
        case "^":
            return text.upper()
        case "_" if text.isdigit():
            return (text.lstrip("0") or "0").rjust(len(text))
        case "0":
            return text.replace(" ", "0") if text.strip().isdigit() else text
    return text
