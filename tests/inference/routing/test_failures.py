"""Failures: every error of a client and of planning has one kind, and every kind its consequences."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from innkeeper.inference.errors import HttpError, ProviderTimeoutError, TamperedError
from innkeeper.inference.reasons import Reason
from innkeeper.inference.routing.failures import _BY_REASON, CONSEQUENCES, Failure, failure_of, retry_after
from innkeeper.library.errors import TierBlockedError
from innkeeper.prompt.errors import LimitError, MaxTokensExceededError, UsageError


def http(status: int, **headers: str) -> HttpError:
    """An answer with a status."""
    return HttpError("no", status=status, headers=headers, sample="")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (http(401), Failure.AUTH),
        (http(404), Failure.NOT_FOUND),
        (http(400), Failure.INVALID_REQUEST),
        (http(429), Failure.RATE_LIMITED),
        (http(402), Failure.QUOTA),
        (http(503), Failure.UNAVAILABLE),
        (ProviderTimeoutError("late", phase="read"), Failure.TIMEOUT),
        (TamperedError("another hash"), Failure.TAMPERED),
        (TierBlockedError("block", "sfw"), Failure.SAFETY_BLOCK),
        (UsageError("what?"), Failure.INVALID_REQUEST),
        (LimitError("large", limit="L", allowed=1), Failure.INVALID_REQUEST),
        (ValueError("a defect"), Failure.UNKNOWN),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_kinds(error: Any, failure: Failure) -> None:
    """The kind of an error."""
    assert failure_of(error) is failure


def test_a_plan_that_does_not_fit_is_too_long() -> None:
    """A plan for a window that is too small may be made anew for a larger one."""
    assert issubclass(MaxTokensExceededError, Exception)
    assert CONSEQUENCES[Failure.CONTEXT_LENGTH].fallback


def test_complete() -> None:
    """Every reason has a kind, every kind its consequences."""
    assert {*_BY_REASON} == {*get_args(Reason)}
    assert {*CONSEQUENCES} == {*Failure}


def test_retry_after() -> None:
    """What a provider asks for is read from its headers."""
    assert retry_after(http(429, **{"retry-after": "7"})) == 7.0
    assert retry_after(ValueError()) is None
