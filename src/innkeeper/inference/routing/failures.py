"""Failure: why an attempt on a route came to nothing, and what follows from it: for the request, and for the route.

The kinds are kept apart, and say whether a model may have worked (`FREE`). A request that is wrong is wrong everywhere: it goes
to no other route, and punishes none. What a provider or a model refuses, another one is not asked instead. A route that is down
is left alone for a time, and the request goes elsewhere. The table is the one of the dynamic-prompting reference, 6.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from innkeeper.inference.errors import (
    AddressRefusedError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    TamperedError,
)
from innkeeper.inference.reasons import Reason, reason_of
from innkeeper.prompt.errors import InputError, MaxTokensExceededError, UsageError
from innkeeper.prompt.tier import TierBlockedError


class Failure(StrEnum):
    """A kind of failure."""

    AUTH = "auth"
    NOT_FOUND = "not_found"
    INVALID_REQUEST = "invalid_request"
    CONTEXT_LENGTH = "context_length"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    CONNECTION = "connection"
    """No connection was made: a name that nobody knows, an address where nobody listens, TLS that fails."""
    UNAVAILABLE = "unavailable"
    """It answered that it cannot: it is overloaded, or has an error of its own."""
    TIMEOUT = "timeout"
    """It was asked, and said nothing in time."""
    CUT_STREAM = "cut_stream"
    """It was asked, and the connection broke."""
    BAD_ANSWER = "bad_answer"
    """It answered, and not as the protocol says."""
    POLICY_REFUSAL = "policy_refusal"
    SAFETY_BLOCK = "safety_block"
    TAMPERED = "tampered"
    """A worker that did not say it had executed what it was sent."""
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Consequence(NamedTuple):
    """What follows. ``fallback``: another route may be tried. ``strikes``: it counts towards opening the route's breaker.

    ``rest``: how long the route is left alone at once, in seconds; what the provider asks for counts more.
    """

    fallback: bool = False
    strikes: bool = False
    rest: float = 0.0


CONSEQUENCES: Final[Mapping[Failure, Consequence]] = MappingProxyType(
    {
        Failure.AUTH: Consequence(rest=60.0),
        Failure.NOT_FOUND: Consequence(fallback=True, rest=300.0),
        Failure.INVALID_REQUEST: Consequence(),
        Failure.CONTEXT_LENGTH: Consequence(fallback=True),
        Failure.RATE_LIMITED: Consequence(fallback=True, rest=5.0),
        Failure.QUOTA: Consequence(fallback=True, rest=300.0),
        Failure.CONNECTION: Consequence(fallback=True, strikes=True),
        Failure.UNAVAILABLE: Consequence(fallback=True, strikes=True),
        Failure.TIMEOUT: Consequence(fallback=True, strikes=True),
        Failure.CUT_STREAM: Consequence(fallback=True, strikes=True),
        Failure.BAD_ANSWER: Consequence(fallback=True, strikes=True),
        Failure.POLICY_REFUSAL: Consequence(),
        Failure.SAFETY_BLOCK: Consequence(),
        Failure.TAMPERED: Consequence(fallback=True, strikes=True),
        Failure.CANCELLED: Consequence(),
        Failure.UNKNOWN: Consequence(),
    }
)
"""By kind. A key that is refused rests its route, so that the next request goes elsewhere, and ends this one."""

FREE: Final = frozenset(
    {
        Failure.AUTH,
        Failure.NOT_FOUND,
        Failure.INVALID_REQUEST,
        Failure.CONTEXT_LENGTH,
        Failure.RATE_LIMITED,
        Failure.QUOTA,
        Failure.CONNECTION,
        Failure.UNAVAILABLE,
        Failure.POLICY_REFUSAL,
        Failure.SAFETY_BLOCK,
    }
)
"""Failures of which it is known that no model has worked: nobody pays for them. Of all others the estimate counts."""

_BY_REASON: Final[Mapping[Reason, Failure]] = {
    "authentication": Failure.AUTH,
    "quota": Failure.QUOTA,
    "rate_limit": Failure.RATE_LIMITED,
    "overloaded": Failure.UNAVAILABLE,
    "context_length": Failure.CONTEXT_LENGTH,
    "content_policy": Failure.POLICY_REFUSAL,
    "bad_request": Failure.INVALID_REQUEST,
    "not_found": Failure.NOT_FOUND,
    "conflict": Failure.RATE_LIMITED,
    "server": Failure.UNAVAILABLE,
    "timeout": Failure.TIMEOUT,
    "connection": Failure.CONNECTION,
    "cut_stream": Failure.CUT_STREAM,
    "bad_answer": Failure.BAD_ANSWER,
    "too_large": Failure.INVALID_REQUEST,
    "cancelled": Failure.CANCELLED,
    "unknown": Failure.UNKNOWN,
}

_OURS: Final[tuple[tuple[type[BaseException], Failure], ...]] = (
    (TamperedError, Failure.TAMPERED),
    (AddressRefusedError, Failure.CONNECTION),
    (TierBlockedError, Failure.SAFETY_BLOCK),
    (MaxTokensExceededError, Failure.CONTEXT_LENGTH),
    (UsageError, Failure.INVALID_REQUEST),
    (InputError, Failure.INVALID_REQUEST),
)
"""Errors that are raised on this side: while an attempt is planned, or while its answer is looked at."""


def failure_of(error: BaseException) -> Failure:
    """The kind of an error that an attempt raised, while it was planned or carried out."""
    ours = next((failure for kind, failure in _OURS if isinstance(error, kind)), None)
    if ours is not None:
        return ours
    failure = _BY_REASON[reason_of(error)]
    if failure is Failure.TIMEOUT and isinstance(error, HttpError):
        return Failure.UNAVAILABLE  # it has answered, that it was too late
    if isinstance(error, ProviderTimeoutError) and error.phase == "open":
        return Failure.CONNECTION
    broke = isinstance(error, ProviderConnectionError) and error.opened
    return Failure.CUT_STREAM if broke else failure


def retry_after(error: BaseException) -> float | None:
    """Seconds that a provider asks to be left alone; None where it does not say."""
    return error.retry_after if isinstance(error, HttpError) else None
