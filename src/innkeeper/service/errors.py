"""Errors and limits of the service: how much a caller may send, and what is answered beyond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import FormatError, LimitError, UnavailableError, UnsupportedError, UsageError, Where


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


class HeaderLimitError(LimitError):
    """A request's headers are larger than allowed."""

    http_status = 431


class EncodingError(UnsupportedError):
    """A body that is compressed or otherwise encoded; the service reads plain ones, whose size is what arrives."""

    http_status = 415
    HINT = "send the body as it is, without Content-Encoding"


class GuessLimitError(LimitError):
    """Too many wrong keys came from this address; until it has waited, no key from it is looked at."""

    http_status = 429
    HINT = "wait the seconds in Retry-After, then send the right key"


class OverloadError(LimitError):
    """More at once than the service takes; nothing was done."""

    http_status = 503
    HINT = "try again after the seconds in Retry-After"


class ScopeError(UsageError):
    """The key may not use this surface, route, profile or operation. ``scope`` says which of them."""

    http_status = 403
    HINT = "use another key, or have the key file allow it"


class RateLimitError(LimitError):
    """The key has sent as many requests as it may in a minute; nothing was done."""

    http_status = 429
    HINT = "try again after the seconds in Retry-After"


class TokenRateLimitError(LimitError):
    """The key's requests have used as many tokens as they may in a minute; nothing was done."""

    http_status = 429
    HINT = "try again after the seconds in Retry-After"


class SpendLimitError(LimitError):
    """The key's requests have cost as much as they may in a day; nothing was done."""

    http_status = 429
    HINT = "try again after the seconds in Retry-After, or have the key file allow more"


class PriceUnknownError(UsageError):
    """The key's money is bounded, and nobody knows what this route costs; nothing was asked."""

    http_status = 403
    HINT = "have the service know its price (--price ROUTE=IN,OUT; 0,0 for a server of one's own), or use another route"

    def __init__(self, route: str) -> None:
        super().__init__(
            f"what the route {route!r} costs is not known, and this key may spend so much a day", hint=self.HINT
        )


class ConcurrencyLimitError(LimitError):
    """The key has as many requests under way as it may; nothing was done."""

    http_status = 429
    HINT = "try again after the seconds in Retry-After, or wait for an answer first"


class TimeBudgetError(LimitError):
    """A call took longer than it may; it was stopped."""

    http_status = 504
    HINT = "ask for less at once, or start the service with a larger --time-budget"


class WorkerLostError(UnavailableError):
    """The process that computed a call ended in the middle of it. What the call was to change may have been changed."""

    HINT = "try again; if it happens each time, ask for less at once"


class StoppingError(UnavailableError):
    """The service was told to stop, and a call was not done in the time that calls under way get."""

    HINT = "try again after the seconds in Retry-After"


class SlowBodyError(FormatError):
    """A request's body did not arrive in time, or ended before its announced length."""

    http_status = 408


def memory_error(allowed: int) -> LimitError:
    """What a call is told that needs more memory than it may have."""
    return LimitError("the memory of one call", limit="MAX_WORKER_MEMORY", allowed=allowed, hint="ask for less at once")


MIB: Final = 1024 * 1024

MAX_BODY: Final = 32 * MIB
"""Bytes of one request's body (`BodyLimitError`)."""

MAX_UPLOAD: Final = 64 * MIB
"""Bytes of a file that is dropped into the inspector (`BodyLimitError`)."""

MAX_BODIES: Final = 256 * MIB
"""Bytes of all bodies that are read or worked on, and of replies on their way (`OverloadError`)."""

MAX_DEPTH: Final = 64
"""Objects and lists inside one another in a body (`LimitError`)."""

MAX_HEADERS: Final = 64 * 1024
"""Bytes of a request's line and headers (`HeaderLimitError`)."""

MAX_CALLS: Final = 128
"""Calls that are being computed at once (`OverloadError`)."""

MAX_ANSWERS: Final = 1_024
"""Calls that are waiting for a model, streams among them (`OverloadError`)."""

MAX_WAITING: Final = 256
"""Calls that wait for a process to compute them (`OverloadError`)."""

MAX_LAG: Final = 0.5
"""Seconds that the server may be behind, on average, before it turns calls away (`OverloadError`)."""

MAX_CONNECTIONS: Final = 1_280
"""Open connections (no error: the one that owes bytes of a request for the longest is closed)."""

MAX_SOCKETS: Final = 32
"""Open WebSockets (no error: the next one is closed)."""

MAX_SOCKET_MESSAGE: Final = 8 * MIB
"""Bytes of one WebSocket message (no error: the socket is closed)."""

SHARE: Final = 7 / 8
"""How much of calls, bytes, sockets and workers one caller may hold, so that there is always some for the next."""

MAX_WORKERS: Final = 6
"""Processes that compute calls, at most; only as many as are needed (no error: calls wait)."""

MAX_CPU_BUDGET: Final = 2.0
"""Seconds that one call may keep a processor busy (`TimeBudgetError`)."""

MAX_WORKER_MEMORY: Final = 256 * MIB
"""Bytes that one call may take beside what its process has from the start (`LimitError`)."""

WORKER_GROWTH: Final = 64 * MIB
"""How much larger a worker may have got before it is replaced, in bytes."""

WORKER_CALLS: Final = 10_000
"""Calls after which a worker is replaced."""

WORKER_SECONDS: Final = 3600.0
"""Seconds after which a worker is replaced, between two calls."""

START_SECONDS: Final = 20.0
"""Seconds in which a worker that is started from nothing must be there (`WorkerLostError`)."""

SPARE_SECONDS: Final = 30.0
"""Seconds after which a worker that nobody needs is sent home. One stays."""

GROW_SECONDS: Final = 0.02
"""Seconds that a call waits for a worker, where there is one for each processor already, before one more is started."""

MAX_REPLY: Final = 32 * MIB
"""Bytes of one reply's body (`LimitError`)."""

MAX_GUESSES: Final = 10
"""Wrong keys in a row from one address, after which it must wait (`GuessLimitError`)."""

GUESS_SECONDS: Final = 6.0
"""Seconds after which an address may guess once more."""

MAX_ADDRESSES: Final = 4_096
"""Addresses whose wrong keys are remembered (no error: the oldest is forgotten)."""

TIME_BUDGET: Final = 30.0
"""Seconds that one call may take, waiting included."""

HEADER_SECONDS: Final = 10.0
"""Seconds until a request's headers must be there."""

REST_SECONDS: Final = 75.0
"""Seconds that a connection may rest between two requests: longer than clients keep one, so that none asks while it is closed."""

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
