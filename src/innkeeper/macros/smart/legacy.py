"""The helper functions behind SmartTavern's built-in macros: dice, texts, numbers, times (smarttavern.md §4.5 and §5).

Pure functions: the moment and the source of draws are arguments. `sandbox` offers them as ``legacy_…`` functions.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

__all__ = ["added", "moment_text", "num", "roll", "shifted_time", "stepped", "timediff", "utc_offset", "weekday_cn"]

MAX_NUMBER_CHARS: Final = 4_200
"""Longer texts are no numbers: reading a number takes longer than its length."""

MAX_PATTERN_CHARS: Final = 1_000
"""Longer patterns of a date are text."""

MAX_DICE: Final = 50
MAX_SIDES: Final = 1_000
MAX_OFFSET: Final = 1_000_000
"""Hours that ``time_UTC`` adds at most; more count as none."""

_WEEKDAYS: Final = "一二三四五六日"
_DICE: Final = re.compile(r"\s*([+-]?[\d_ ]*?)\s*d\s*([+-]?[\d_ ]*?)\s*", re.IGNORECASE)
_OFFSET: Final = re.compile(r"\s*([+-]?\s*\d{1,7})\s*")
_DIRECTIVE: Final = re.compile(r"%(?:([-_0^#]?)([a-zA-Z%]))")
_DIRECTIVES: Final = frozenset("aAwdbBmyYHIMSfzZjpUWcxXGuVDeFhnRTtC%")
_MOMENTS: Final = (
    (re.compile(r"\d{4}-\d{1,2}-\d{1,2}\s+\d{1,2}:\d{1,2}:\d{1,2}", re.ASCII), "%Y-%m-%d %H:%M:%S"),
    (re.compile(r"\d{4}-\d{1,2}-\d{1,2}", re.ASCII), "%Y-%m-%d"),
    (re.compile(r"\d{1,2}:\d{1,2}:\d{1,2}", re.ASCII), "%H:%M:%S"),
)
_MAX_MOMENT_CHARS: Final = 40


class Dice(Protocol):
    """What dice are drawn from."""

    def randint(self, a: int, b: int, /) -> int:
        """A whole number from ``a`` to ``b``, both included."""
        ...


def roll(params: str, random: Dice) -> str:
    """The sum of dice thrown, as text: ``NdM`` with N from 1 to 50 and M from 2 to 1000; nothing is ``1d6``, junk is 1."""
    if not params.strip():
        params = "1d6"
    found = _DICE.fullmatch(params[:MAX_PATTERN_CHARS])
    counts = None if found is None else (_whole(found[1], 1), _whole(found[2], None))
    if counts is None or None in counts:
        return "1"
    dice, sides = min(max(counts[0] or 0, 1), MAX_DICE), min(max(counts[1] or 0, 2), MAX_SIDES)
    return str(sum(random.randint(1, sides) for _ in range(dice)))


def _whole(text: str, default: int | None) -> int | None:
    compact = text.replace(" ", "")
    if not compact:
        return default
    try:
        return int(compact[:20])
    except ValueError:
        return None


def num(value: Any, default: Any = 0) -> float:
    """The value as a number; ``default`` for nothing, placeholders and whatever is no number. Raises for a bad default."""
    number = _number(value)
    return float(default) if number is None else number


def _number(value: Any) -> float | None:
    if type(value) not in {int, float, bool} and (type(value) is not str or len(value) > MAX_NUMBER_CHARS):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def added(old: Any, value: Any) -> str:
    """What ``addvar`` stores: the sum as text when both are numbers, else both texts joined."""
    a, b = _number(old), _number(value)
    return f"{'' if old is None else old}{value}" if a is None or b is None else str(a + b)


def stepped(old: Any, step: int) -> str:
    """What ``incvar`` and ``decvar`` store: one more or less, as text; what is no number counts as 0."""
    number = _number(old)
    return str((0.0 if number is None else number) + step)


def weekday_cn(now: datetime) -> str:
    """The day of the week in Chinese."""
    return "星期" + _WEEKDAYS[now.weekday()]


def moment_text(now: datetime, pattern: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A moment in the language of ``strftime``.

    Only directives without a width, so that none makes a text of a billion characters; others, and patterns that are too
    long, stay as they are.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        return pattern

    def written(found: re.Match[str]) -> str:
        flag, letter = found.groups()
        if letter == "s":
            return str(int((now if now.tzinfo else now.replace(tzinfo=UTC)).timestamp()))
        return now.strftime(f"%{flag}{letter}") if letter in _DIRECTIVES else found.group()

    return _DIRECTIVE.sub(written, pattern)


def utc_offset(text: str) -> int:
    """The hours of ``time_UTC+8``: what follows the name; 0 for anything that is no whole number."""
    found = _OFFSET.fullmatch(text[:_MAX_MOMENT_CHARS])
    hours = 0 if found is None else int(found[1].replace(" ", ""))
    return hours if abs(hours) <= MAX_OFFSET else 0


def shifted_time(now: datetime, hours: int) -> str:
    """The time of day, so many hours later. The original adds them to the local time, not to UTC."""
    try:
        return (now + timedelta(hours=hours)).strftime("%H:%M:%S")
    except OverflowError:
        return now.strftime("%H:%M:%S")


def timediff(a: Any, b: Any) -> str:
    """The time from ``a`` to ``b``, as ``2天5小时6分钟``; nothing when one of them is no date, time or both.

    Going back counts whole days down and the rest up, as Python's ``timedelta`` does: an hour back is ``-1天23小时0分钟``.
    """
    first, second = _moment(a), _moment(b)
    if first is None or second is None:
        return ""
    delta = second - first
    return f"{delta.days}天{delta.seconds // 3600}小时{delta.seconds // 60 % 60}分钟"


def _moment(value: Any) -> datetime | None:
    text = value.strip() if type(value) is str and len(value) <= _MAX_MOMENT_CHARS else ""
    for shape, pattern in _MOMENTS:
        if shape.fullmatch(text):
            try:
                return datetime.strptime(text, pattern).replace(tzinfo=UTC)
            except ValueError:
                return None
    return None
