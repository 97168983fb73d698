"""Failure: why an attempt on a route came to nothing, and what follows from it: for the request, and for the route.

The kinds are kept apart. A request that is wrong is wrong everywhere: it goes to no other route, and punishes none. What a
provider or a model refuses, another one is not asked instead. A route that is down is left alone for a time, and the request goes
elsewhere. The table is the one of the dynamic-prompting reference, 6.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from innkeeper.inference.errors import AddressRefusedError, HttpError, TamperedError
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
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
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
        Failure.TIMEOUT: Consequence(fallback=True, strikes=True),
        Failure.UNAVAILABLE: Consequence(fallback=True, strikes=True),
        Failure.POLICY_REFUSAL: Consequence(),
        Failure.SAFETY_BLOCK: Consequence(),
        Failure.TAMPERED: Consequence(fallback=True, strikes=True),
        Failure.CANCELLED: Consequence(),
        Failure.UNKNOWN: Consequence(),
    }
)
"""By kind. A key that is refused rests its route, so that the next request goes elsewhere, and ends this one."""

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
    "connection": Failure.UNAVAILABLE,
    "cut_stream": Failure.UNAVAILABLE,
    "bad_answer": Failure.UNAVAILABLE,
    "too_large": Failure.INVALID_REQUEST,
    "cancelled": Failure.CANCELLED,
    "unknown": Failure.UNKNOWN,
}

_OURS: Final[tuple[tuple[type[BaseException], Failure], ...]] = (
    (TamperedError, Failure.TAMPERED),
    (AddressRefusedError, Failure.UNAVAILABLE),
    (TierBlockedError, Failure.SAFETY_BLOCK),
    (MaxTokensExceededError, Failure.CONTEXT_LENGTH),
    (UsageError, Failure.INVALID_REQUEST),
    (InputError, Failure.INVALID_REQUEST),
)
"""Errors that are raised on this side: while an attempt is planned, or while its answer is looked at."""


def failure_of(error: BaseException) -> Failure:
    """The kind of an error that an attempt raised, while it was planned or carried out."""
    ours = next((failure for kind, failure in _OURS if isinstance(error, kind)), None)
    return _BY_REASON[reason_of(error)] if ours is None else ours


def retry_after(error: BaseException) -> float | None:
    """Seconds that a provider asks to be left alone; None where it does not say."""
    return error.retry_after if isinstance(error, HttpError) else None
