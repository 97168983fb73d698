"""Errors and limits of the service: how much a caller may send, and what is answered beyond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import FormatError, LimitError, UsageError, Where

__all__ = [
    "BODY_SECONDS",
    "HEADER_SECONDS",
    "MAX_BODIES",
    "MAX_BODY",
    "MAX_CALLS",
    "MAX_CONNECTIONS",
    "MAX_DEPTH",
    "MAX_HEADERS",
    "MAX_KEY_FILE",
    "MAX_MACROS",
    "MAX_MACRO_NAME",
    "MAX_SOCKETS",
    "MAX_SOCKET_MESSAGE",
    "RETRY_SECONDS",
    "STOP_SECONDS",
    "TIME_BUDGET",
    "WORKERS",
    "BodyLimitError",
    "KeyMissingError",
    "NameFormatError",
    "OriginRefusedError",
    "OverloadError",
    "Problem",
    "RequestError",
    "SlowBodyError",
    "TimeBudgetError",
]


class Problem(msgspec.Struct, frozen=True):
    """One place of a request that does not fit: a path such as ``history[3]``, what is wrong and how to mend it."""

    path: str
    message: str
    hint: str


class RequestError(UsageError):
    """A request whose shape does not fit the operation's schema. ``problems`` are all places, up to a limit."""

    def __init__(self, problems: Sequence[Problem], **kwargs: Any) -> None:
        first = problems[0]
        kwargs.setdefault("where", Where(path=first.path or None))
        super().__init__(first.message, hint=first.hint, problems=[msgspec.to_builtins(p) for p in problems], **kwargs)
        self.problems = tuple(problems)


class NameFormatError(UsageError, ValueError):
    """An operation's path is written with slashes; dots and backslashes are refused."""

    HINT = "write it like smarttavern/in_chat_constructor/construct"


class KeyMissingError(UsageError):
    """The service has a key, and the call did not bring it."""

    http_status = 401
    HINT = "send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"


class OriginRefusedError(UsageError):
    """A web page of another origin, or a host name that is not the service's, called a service without a key."""

    http_status = 403
    HINT = "start the service with --cors-origin for this origin, or with a key"


class BodyLimitError(LimitError):
    """A request body is larger than allowed; reading stopped there."""


class OverloadError(LimitError):
    """More at once than the service takes; nothing was done."""

    http_status = 503
    HINT = "try again after the seconds in Retry-After"


class TimeBudgetError(LimitError):
    """A call took longer than it may; it was stopped."""

    http_status = 504
    HINT = "ask for less at once, or start the service with a larger --time-budget"


class SlowBodyError(FormatError):
    """A request's body did not arrive in time, or ended before its announced length."""

    http_status = 408


MIB: Final = 1024 * 1024

MAX_BODY: Final = 32 * MIB
"""Bytes of one request's body (`BodyLimitError`)."""

MAX_BODIES: Final = 256 * MIB
"""Bytes of all bodies that are being read or worked on (`OverloadError`)."""

MAX_DEPTH: Final = 64
"""Objects and lists inside one another in a body (`LimitError`)."""

MAX_HEADERS: Final = 64 * 1024
"""Bytes of a request's line and headers (no error: the connection is closed)."""

MAX_CALLS: Final = 128
"""Calls that are being answered at once (`OverloadError`)."""

MAX_CONNECTIONS: Final = 512
"""Open connections (no error: the next one is refused with 503)."""

MAX_SOCKETS: Final = 32
"""Open WebSockets (no error: the next one is closed)."""

MAX_SOCKET_MESSAGE: Final = 8 * MIB
"""Bytes of one WebSocket message (no error: the socket is closed)."""

WORKERS: Final = 4
"""Calls that are computed at once; the others wait for their turn within their time budget."""

TIME_BUDGET: Final = 30.0
"""Seconds that one call may take, waiting included."""

HEADER_SECONDS: Final = 10.0
"""Seconds until a request's headers must be there."""

BODY_SECONDS: Final = 30.0
"""Seconds until a request's body must be there, and until an answer must have been taken."""

STOP_SECONDS: Final = 30
"""Seconds that calls under way get when the service is told to stop."""

RETRY_SECONDS: Final = 1
"""When a caller that was sent away may come back, in seconds."""

MAX_MACROS: Final = 256
"""Custom macros that an application keeps (`LimitError`)."""

MAX_MACRO_NAME: Final = 64
"""Characters of a custom macro's name (`RequestError`)."""

MAX_KEY_FILE: Final = 64 * 1024
"""Bytes of a key file (`ConfigError`)."""
