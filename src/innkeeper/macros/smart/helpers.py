"""The helper functions behind SmartTavern's built-in macros: dice, texts, numbers, times (smarttavern.md §4.5 and §5).

Pure functions: the moment and the source of draws are arguments. `sandbox` offers them as ``legacy_…`` functions.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

MAX_NUMBER_CHARS: Final = 4_200
"""Characters of a number (no error: a longer one is text). Reading a number takes longer than its length."""

MAX_PATTERN_CHARS: Final = 1_000
"""Characters of a pattern of a date (no error: a longer one is text)."""

MAX_DICE: Final = 50
"""Dice of one throw (no error: as SmartTavern has it)."""
MAX_SIDES: Final = 1_000
"""Sides of a die (no error: as SmartTavern has it)."""
FORMAT_STEPS: Final = 12
"""Steps of the allowance that a character of a moment's pattern counts."""

DICE_STEPS: Final = 400
"""Steps that a throw counts, of as many dice as there may be."""

_WEEKDAYS: Final = "一二三四五六日"
_DIRECTIVE: Final = re.compile(r"%([-_0^#]?\d{0,2})[EO]?([a-zA-Z%])")
_DIRECTIVES: Final = frozenset("aAwdbBmyYHIMSfzZjpPUWcxXgGuVDeFhnrRTtCkl%")
_MOMENTS: Final = (
    (re.compile(r"\d{4}-\d{1,2}-\d{1,2}\s+\d{1,2}:\d{1,2}:\d{1,2}", re.ASCII), "%Y-%m-%d %H:%M:%S"),
    (re.compile(r"\d{4}-\d{1,2}-\d{1,2}", re.ASCII), "%Y-%m-%d"),
    (re.compile(r"\d{1,2}:\d{1,2}:\d{1,2}", re.ASCII), "%H:%M:%S"),
)
_MAX_MOMENT_CHARS: Final = 40


class Draws(Protocol):
    """The source of random dice."""

    def randint(self, a: int, b: int, /) -> int:
        """A whole number from ``a`` to ``b``, both included."""
        ...


def roll(params: str, random: Draws) -> str:
    """The sum of dice thrown, as text: ``NdM`` with N from 1 to 50 and M from 2 to 1000; no N is 1, junk gives 1."""
    count, mark, sides = params[:MAX_PATTERN_CHARS].strip().lower().partition("d")
    return thrown(count.strip() or "1", sides, random) if mark else "1"


def thrown(count: str, sides: str, random: Draws) -> str:
    """The sum of so many dice with so many sides, as `roll` has it."""
    dice, faces = _whole(count), _whole(sides)
    if dice is None or faces is None:
        return "1"
    highest = min(max(faces, 2), MAX_SIDES)
    return str(sum(random.randint(1, highest) for _ in range(min(max(dice, 1), MAX_DICE))))


def _whole(text: str) -> int | None:
    try:
        return int(text[:MAX_NUMBER_CHARS])
    except ValueError:
        return None


def num(value: Any, default: Any = 0) -> float:
    """The value as a number; ``default`` for anything else, booleans and placeholders included. Raises for a bad default."""
    number = number_of(value)
    return float(default) if number is None else number


def number_of(value: Any) -> float | None:
    """The value as a number, or ``None`` for anything else: placeholders and booleans, for example."""
    if type(value) not in {int, float} and (type(value) is not str or len(value) > MAX_NUMBER_CHARS):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def added(old: Any, value: Any) -> str:
    """The result of ``addvar``: the sum as text when both are numbers, else both texts joined, without the blanks around them."""
    texts = ["" if each is None else str(each).strip() for each in (old, value)]
    a, b = map(number_of, texts)
    return "".join(texts) if a is None or b is None else str(a + b)


def stepped(old: Any, step: int) -> str:
    """The result of ``incvar`` and ``decvar``: one more or less, as text; anything but a number counts as 0."""
    number = number_of(old)
    return str((0.0 if number is None else number) + step)


def weekday_cn(now: datetime) -> str:
    """The day of the week in Chinese."""
    return "星期" + _WEEKDAYS[now.weekday()]


def moment_text(now: datetime, pattern: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A moment in the language of ``strftime``.

    Only directives of a width below 100, so that none makes a text of a billion characters; others, and patterns that are
    too long, stay as they are. As in the original the moment is a local time of no zone: ``%z`` and ``%Z`` write nothing.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        return pattern

    local = now.replace(tzinfo=None)

    def written(match: re.Match[str]) -> str:
        flag, letter = match.groups()
        if letter == "s":
            return str(int((now if now.tzinfo else now.replace(tzinfo=UTC)).timestamp()))
        return local.strftime(f"%{flag}{letter}") if letter in _DIRECTIVES else match.group()

    return _DIRECTIVE.sub(written, pattern)


def utc_offset(text: str) -> int:
    """The hours of ``time_UTC+8`` by the text after the name; 0 for anything but a whole number."""
    return _whole(text) or 0


def shifted_time(now: datetime, hours: int, pattern: str = "%H:%M:%S") -> str:
    """The time so many hours later; nothing beyond the year 9999. The original adds them to the local time, not to UTC."""
    try:
        return moment_text(now + timedelta(hours=hours), pattern)
    except OverflowError:
        return ""


def timediff(a: Any, b: Any) -> str:
    """The time from ``a`` to ``b``, as ``2天5小时6分钟``; nothing if one of the texts is no exact date, time or both.

    Going back counts whole days down and the rest up, as Python's ``timedelta`` does: an hour back is ``-1天23小时0分钟``.
    """
    first, second = _moment(a), _moment(b)
    if first is None or second is None:
        return ""
    delta = second - first
    return f"{delta.days}天{delta.seconds // 3600}小时{delta.seconds // 60 % 60}分钟"


def _moment(value: Any) -> datetime | None:
    text = value if type(value) is str and len(value) <= _MAX_MOMENT_CHARS else ""
    for shape, pattern in _MOMENTS:
        if shape.fullmatch(text):
            try:
                return datetime.strptime(text, pattern).replace(tzinfo=UTC)
            except ValueError:
                return None
    return None
