"""Macros of time. Now is the build's clock, in its zone; words and formats are English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, timedelta, tzinfo

from innkeeper.macros.environment import ChatLine, MacroEnvironment
from innkeeper.macros.errors import MacroArgumentError
from innkeeper.macros.evaluate import Call, Macro
from innkeeper.text.javascript.date_parsing import read_moment, read_send_date
from innkeeper.text.javascript.momentjs import format_momentjs, in_words
from innkeeper.text.javascript.values import strip

__all__ = ["INVALID", "MACROS", "formatted", "idle", "time_difference", "time_in_zone"]

INVALID = "Invalid date"
"""What stands for a moment that cannot be read."""

_ZONE = re.compile(r"UTC(?P<offset>[+-][0-9]{1,8})")
_HOURS_BELOW = 16
_JUST_NOW = "just now"


def formatted(env: MacroEnvironment, form: str) -> str:
    """Now, in a moment.js format. Raises `MacroArgumentError` for one of nothing but line ends, as moment.js does."""
    if form and not form.strip("\n\r\u2028\u2029"):
        raise MacroArgumentError("a format needs more than line ends", macro="datetimeformat")
    return format_momentjs(env.clock.now, form)


def time_in_zone(env: MacroEnvironment, offset: int) -> str:
    """The time of day at an offset from UTC: hours below 16, minutes from there on."""
    minutes = offset * 60 if abs(offset) < _HOURS_BELOW else offset
    moment = env.clock.now.astimezone(UTC).replace(tzinfo=None) + timedelta(minutes=minutes)
    return format_momentjs(moment.replace(tzinfo=UTC), "LT")


def _time(call: Call) -> str:
    found = _ZONE.fullmatch(call.arguments[0]) if call.arguments else None
    return formatted(call.env, "LT") if found is None else time_in_zone(call.env, int(found["offset"]))


def time_difference(env: MacroEnvironment, left: str, right: str) -> str:
    """How far ``left`` lies from ``right``, in words."""
    zone = env.clock.now.tzinfo or UTC
    a, b = read_moment(strip(left), zone), read_moment(strip(right), zone)
    return INVALID if a is None or b is None else in_words(a - b, suffix=True)


def idle(env: MacroEnvironment) -> str:
    """How long ago the user last wrote, the newest message aside."""
    line = _last_said(env.chat())
    if line is None or not line.send_date:
        return _JUST_NOW
    moment = read_send_date(line.send_date, _zone(env))
    return INVALID if moment is None else in_words(env.clock.now - moment)


def _zone(env: MacroEnvironment) -> tzinfo:
    return env.clock.now.tzinfo or UTC


def _last_said(chat: Sequence[ChatLine]) -> ChatLine | None:
    newest = True
    for line in reversed(chat):
        if line.is_system:
            continue
        if line.is_user and not newest:
            return line
        newest = False
    return None


MACROS = (
    Macro("time", _time, most=1),
    Macro("date", lambda call: formatted(call.env, "LL")),
    Macro("weekday", lambda call: formatted(call.env, "dddd")),
    Macro("isotime", lambda call: formatted(call.env, "HH:mm")),
    Macro("isodate", lambda call: formatted(call.env, "YYYY-MM-DD")),
    Macro("datetimeformat", lambda call: formatted(call.env, call.arguments[0]), 1, 1),
    Macro("idleDuration", lambda call: idle(call.env), aliases=("idle_duration",)),
    Macro("timeDiff", lambda call: time_difference(call.env, *call.arguments), 2, 2),
)
"""``time``, ``date``, ``weekday``, ``isotime``, ``isodate``, ``datetimeformat``, ``idleDuration``, ``timeDiff``."""
