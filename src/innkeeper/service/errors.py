"""The errors of the service, in the tree of `innkeeper.prompt.errors`.

A setting that the service does not start with is a `ConfigError`, a library of an extra that is not installed an
`UnavailableError`.

::

    UsageError
    ├── RequestError                what was asked does not fit the operation; `problems` lists each place
    ├── NameFormatError             a path with dots or backslashes where slashes belong
    ├── KeyMissingError             a call without a key, or with a wrong one (401)
    └── OriginRefusedError          a web page of another origin, or another host name (403)
    LimitError
    ├── BodyLimitError              a body larger than allowed (413)
    ├── OverloadError               too much at once (503, with Retry-After)
    └── TimeBudgetError             a call that takes longer than allowed (504)
    FormatError
    └── SlowBodyError               a body that does not arrive (408)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from innkeeper.prompt.errors import FormatError, LimitError, UsageError, Where

__all__ = [
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
