"""Macros of the chat and of time: the last messages, their numbers and alternatives, moments and how long ago they were.

Now is the build's clock, in its zone; words and formats are English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, timedelta

from innkeeper.macros.engine.environment import ChatLine, MacroEnvironment
from innkeeper.macros.engine.errors import MacroArgumentError
from innkeeper.macros.engine.macro import Call, Macro
from innkeeper.text.javascript.date_parsing import read_moment, read_send_date
from innkeeper.text.javascript.momentjs import format_momentjs, in_words
from innkeeper.text.javascript.values import strip


def _finished(line: ChatLine) -> bool:
    """Whether the message is not an alternative that is only just being written."""
    return line.swipes is None or line.swipe_id is None or line.swipe_id < line.swipes


def _last(chat: Sequence[ChatLine], matches: Callable[[ChatLine], bool]) -> int:
    return next((i for i in range(len(chat) - 1, -1, -1) if _finished(chat[i]) and matches(chat[i])), -1)


def last_text(env: MacroEnvironment, who: str = "") -> str:
    """The last message, or the last one of the ``user`` or the ``char`` that is not hidden."""
    chat = env.chat()
    if who:
        index = _last(chat, lambda line: not line.is_system and line.is_user is (who == "user"))
    else:
        index = _last(chat, lambda _line: True)
    return "" if index < 0 else chat[index].text


def last_id(env: MacroEnvironment) -> str:
    """The number of the last message, from 0."""
    index = _last(env.chat(), lambda _line: True)
    return "" if index < 0 else f"{index}"


def chat_range(env: MacroEnvironment) -> str:
    """The numbers of all messages: ``0-12``."""
    chat = env.chat()
    return f"0-{len(chat) - 1}" if chat else ""


def swipe_count(env: MacroEnvironment) -> str:
    """The number of alternatives of the newest message."""
    chat = env.chat()
    return f"{chat[-1].swipes}" if chat and chat[-1].swipes is not None else ""


def shown_number(env: MacroEnvironment) -> str:
    """Which alternative of the newest message is shown, from 1."""
    chat = env.chat()
    return "" if not chat or chat[-1].swipe_id is None else f"{chat[-1].swipe_id + 1}"


def number(value: int | None) -> str:
    """A message's number, or an empty text."""
    return "" if value is None else f"{value}"


def _of(read: Callable[[MacroEnvironment], str]) -> Callable[[Call], str]:
    return lambda call: read(call.env)


CHAT_MACROS = (
    Macro("lastMessage", _of(last_text)),
    Macro("lastMessageId", _of(last_id)),
    Macro("lastUserMessage", _of(lambda env: last_text(env, "user"))),
    Macro("lastCharMessage", _of(lambda env: last_text(env, "char"))),
    Macro("firstIncludedMessageId", _of(lambda env: number(env.first_included_id))),
    Macro("firstDisplayedMessageId", _of(lambda env: number(env.first_displayed_id))),
    Macro("lastSwipeId", _of(swipe_count)),
    Macro("currentSwipeId", _of(shown_number)),
    Macro("allChatRange", _of(chat_range)),
)
"""``lastMessage`` and the others about the chat."""


INVALID = "Invalid date"
"""The text for a moment that cannot be read."""

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
    match = _ZONE.fullmatch(call.arguments[0]) if call.arguments else None
    return formatted(call.env, "LT") if match is None else time_in_zone(call.env, int(match["offset"]))


def time_difference(env: MacroEnvironment, left: str, right: str) -> str:
    """The time between ``left`` and ``right``, in words."""
    zone = env.clock.now.tzinfo or UTC
    a, b = read_moment(strip(left), zone), read_moment(strip(right), zone)
    return INVALID if a is None or b is None else in_words(a - b, suffix=True)


def idle(env: MacroEnvironment) -> str:
    """The time since the user last wrote, the newest message aside."""
    line = _last_spoken(env.chat())
    if line is None or not line.send_date:
        return _JUST_NOW
    moment = read_send_date(line.send_date, env.clock.now.tzinfo or UTC)
    return INVALID if moment is None else in_words(env.clock.now - moment)


def _last_spoken(chat: Sequence[ChatLine]) -> ChatLine | None:
    newest = True
    for line in reversed(chat):
        if line.is_system:
            continue
        if line.is_user and not newest:
            return line
        newest = False
    return None


TIME_MACROS = (
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
