"""``datetime`` of the sandbox: moments come from the host, never from the machine; what is read is short."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Any, Final

from innkeeper.macros.smart.sandbox_errors import SandboxRuntimeError
from innkeeper.macros.smart.sandbox_values import Frame, boundary, kind_of, limit

__all__ = ["fromtimestamp", "make", "now", "strptime", "today", "utcnow"]

_READ: Final = frozenset("aAbBdfHIjmMpSUuVwWyYGz%")
_DIRECTIVE: Final = re.compile(r"%([\s\S]?)")
_YEARS: Final = frozenset("yYG")


def now(frame: Frame, /) -> datetime:
    """The moment of the host as its own zone writes it, without a zone."""
    return frame.host.now.replace(tzinfo=None)


def utcnow(frame: Frame, /) -> datetime:
    """The moment of the host as UTC writes it, without a zone."""
    moment = frame.host.now
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def today(frame: Frame, /) -> date:
    """The day of the host."""
    return frame.host.now.date()


def fromtimestamp(frame: Frame, timestamp: Any, /) -> date:
    """The day of so many seconds after 1970, in the zone of the host."""
    if type(timestamp) not in {int, float, bool}:
        raise SandboxRuntimeError(f"fromtimestamp needs a number of seconds, not a {kind_of(timestamp)}")
    return datetime.fromtimestamp(timestamp, frame.host.now.tzinfo or UTC).date()


def make(kind: Any) -> Any:
    """The function that makes moments of a kind from whole numbers."""

    def made(frame: Frame, /, *parts: Any, **named: Any) -> Any:
        if "tzinfo" in named or len(parts) > 7:  # noqa: PLR2004 - year to microsecond
            raise SandboxRuntimeError("there are no zones in the sandbox", hint="leave tzinfo out")
        for part in (*parts, *named.values()):
            if type(part) is not int:
                raise SandboxRuntimeError(f"{kind.__name__} is made of whole numbers, not of a {kind_of(part)}")
            boundary(frame, part)
        if kind is time and len(parts) > 4:  # noqa: PLR2004 - hour to microsecond
            raise SandboxRuntimeError("there are no zones in the sandbox", hint="leave tzinfo out")
        return kind(*parts, **named)

    return made


def strptime(frame: Frame, text: Any, pattern: Any, /) -> datetime:
    """The moment that a text tells, by a pattern of ``strptime``. A pattern without a year reads the year 1900."""
    for value in (text, pattern):
        if type(value) is not str:
            raise SandboxRuntimeError(f"strptime needs a text and a pattern, not a {kind_of(value)}")
        if len(value) > frame.limits.date_chars:
            raise limit("a date or its pattern", "date_chars", frame.limits.date_chars, len(value))
    letters = _DIRECTIVE.findall(pattern)
    for letter in letters:
        if letter not in _READ:
            raise SandboxRuntimeError(f"strptime does not read %{letter}", hint="use %Y %m %d %H %M %S")
    if not _YEARS.intersection(letters):  # Python warns of days without a year
        text, pattern = "1900 " + text, "%Y " + pattern
    frame.charge(len(text) * len(pattern))
    try:
        return datetime.strptime(text, pattern)  # noqa: DTZ007 - the sandbox has no zones
    except re.error:
        raise SandboxRuntimeError("strptime reads each part of a date once", hint="use each directive once") from None


KINDS: Final = {"datetime": datetime, "date": date, "time": time}
"""The kinds of moments that code can make."""
