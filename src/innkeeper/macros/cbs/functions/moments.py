"""Functions of time: clocks, dates and how long ago messages were written. Their names are English."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from innkeeper.macros.cbs.functions.lists import list_text
from innkeeper.macros.cbs.run import CbsCall, Function, Result, ThrownError, by_alias
from innkeeper.macros.cbs.scope import time_of
from innkeeper.prompt.determinism import EPOCH
from innkeeper.text.javascript.template_dates import MAX_FORMAT, MONTHS, WEEKDAYS
from innkeeper.text.javascript.values import number_text, to_number

_NO_MESSAGE: Final = "[Cannot get time]"
_NO_TIME: Final = "[Cannot get time, message was sent in older version]"
_NO_PREVIOUS_TIME: Final = "[Cannot get time, previous message was sent in older version]"
_COUNTED: Final = "00:00:00"
_NOON: Final = 12

_TOKENS: Final[tuple[tuple[str, Callable[[datetime, float], str]], ...]] = (
    ("YYYY", lambda at, _: str(at.year)),
    ("YY", lambda at, _: str(at.year)[2:]),
    ("MMMM", lambda at, _: MONTHS[at.month - 1]),
    ("MMM", lambda at, _: MONTHS[at.month - 1][:3]),
    ("MM", lambda at, _: f"{at.month:02}"),
    ("DDDD", lambda at, _: str(at.timetuple().tm_yday)),
    ("DD", lambda at, _: f"{at.day:02}"),
    ("dddd", lambda at, _: WEEKDAYS[at.weekday()]),
    ("ddd", lambda at, _: WEEKDAYS[at.weekday()][:3]),
    ("HH", lambda at, _: f"{at.hour:02}"),
    ("hh", lambda at, _: f"{at.hour % _NOON or _NOON:02}"),
    ("mm", lambda at, _: f"{at.minute:02}"),
    ("ss", lambda at, _: f"{at.second:02}"),
    ("X", lambda _, ms: str(math.floor(ms / 1000))),
    ("x", lambda _, ms: str(math.floor(ms))),
    ("A", lambda at, _: "PM" if at.hour >= _NOON else "AM"),
)
"""The tokens of a format in the order in which RisuAI replaces them: letters of an earlier one are read by those behind it."""


def _at(call: CbsCall, milliseconds: float) -> datetime:
    """A moment in the scope's zone. Raises `ThrownError` for one beyond the years 1 to 9999."""
    try:
        return (EPOCH + timedelta(milliseconds=milliseconds)).astimezone(call.scope.zone)
    except (OverflowError, ValueError) as error:
        raise ThrownError from error


def _formatted(call: CbsCall) -> str:
    pattern = call.args[0].removeprefix(":")
    if len(pattern) > MAX_FORMAT:
        return ""
    ms = to_number(call.shown(1)) / 1000
    ms = float(call.scope.clock.epoch_ms) if not ms or math.isnan(ms) else math.trunc(ms) if math.isfinite(ms) else ms
    moment = _at(call, ms)
    for token, write in _TOKENS:
        if token in pattern:
            pattern = pattern.replace(token, write(moment, ms))
    return pattern


def _time(at: datetime) -> str:
    return f"{at.hour}:{at.minute}:{at.second}"


def _date(at: datetime) -> str:
    return f"{at.year}-{at.month}-{at.day}"


def _now(write: Callable[[datetime], str]) -> Function:
    """A function that writes the present moment, or formats a moment."""
    return lambda call: _formatted(call) if call.args else write(_at(call, call.scope.clock.epoch_ms))


def _message_moment(call: CbsCall, write: Callable[[datetime], str]) -> Result:
    """The moment of the message that the text is of."""
    if call.scope.counting:
        return _COUNTED
    if call.scope.chat_index == -1:
        return _NO_MESSAGE
    message = call.scope.message(call.scope.chat_index)
    if message is None:
        raise ThrownError
    return write(_at(call, time)) if (time := time_of(message)) else _NO_TIME


def _clock_time(at: datetime) -> str:
    return f"{at.hour % _NOON or _NOON}:{at.minute:02}:{at.second:02} {'PM' if at.hour >= _NOON else 'AM'}"


def _duration(milliseconds: float) -> str:
    seconds = math.floor(milliseconds / 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def idleduration(call: CbsCall) -> Result:
    """The time since the last message."""
    if call.scope.counting or not call.scope.messages:
        return _COUNTED
    time = time_of(call.scope.messages[-1])
    return _duration(call.scope.clock.epoch_ms - time) if time else _NO_TIME


def messageidleduration(call: CbsCall) -> Result:
    """The time between the last two messages of the user, up to this one."""
    if call.scope.counting:
        return _COUNTED
    if call.scope.chat_index == -1:
        return _NO_MESSAGE
    until = reversed(call.scope.messages[: call.scope.chat_index + 1])
    call.run.spend(call.scope.chat_index)
    last, before, *_ = [*(message for message in until if message.get("role") == "user"), None, None]
    if last is None or before is None:
        return f"[No {'' if last is None else 'previous '}user message found]"
    if not time_of(last):
        return _NO_TIME
    return _duration(time_of(last) - time_of(before)) if time_of(before) else _NO_PREVIOUS_TIME


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "time": _now(_time),
        "date datetimeformat": _now(_date),
        "isotime": lambda call: _time(call.scope.clock.in_zone(UTC)),
        "isodate": lambda call: _date(call.scope.clock.in_zone(UTC)),
        "unixtime": lambda call: str(math.floor(call.scope.clock.epoch_ms / 1000 + 0.5)),
        "messagetime": lambda call: _message_moment(call, _clock_time),
        "messagedate": lambda call: _message_moment(call, lambda at: f"{at.month}/{at.day}/{at.year}"),
        "idleduration": idleduration,
        "messageidleduration": messageidleduration,
        "messageunixtimearray": lambda call: list_text(
            call, [number_text(time_of(message)) for message in call.scope.messages]
        ),
    }
)
