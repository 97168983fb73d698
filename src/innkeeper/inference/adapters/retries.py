"""Retries: a request is sent again where that is safe: before the first byte of an answer, and where the provider asks for it.

Safe are statuses that say *not now* (408, 409, 429, 5xx, 529) and connections that never came about. A request whose answer
has begun is never repeated, nor one that may have been worked on: somebody pays for it. How long is waited doubles from time to
time, by a chance, so that many callers do not come back at once; ``Retry-After`` counts more.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from time import monotonic
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.inference.errors import HttpError, ProviderConnectionError, ProviderTimeoutError
from innkeeper.inference.reasons import reason_of
from innkeeper.prompt.errors import ProviderError
from innkeeper.prompt.machine import fresh_seed

_T = TypeVar("_T")


def _chance() -> float:
    return fresh_seed() / 2**32


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often, how long, and after which waits. ``attempts`` counts the first; ``seconds`` is from the first to the last.

    The wait before attempt *n* is ``chance()``, a number from 0 to 1, of ``first_wait`` doubled each time, at most
    ``longest_wait``; where the provider says ``Retry-After``, it is that and ``chance()`` of ``first_wait`` more. A wait that
    would end after ``seconds`` is not begun: the error is raised at once.
    """

    attempts: int = 3
    seconds: float = 60.0
    first_wait: float = 0.5
    longest_wait: float = 20.0
    chance: Callable[[], float] = _chance
    clock: Callable[[], float] = monotonic

    def wait(self, error: ProviderError, attempt: int, began: float) -> float | None:
        """Seconds before the attempt after this one, counted from 1; None where there is none."""
        if attempt >= self.attempts or not is_safe(error):
            return None
        asked = error.retry_after if isinstance(error, HttpError) else None
        if asked is None:
            seconds = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1)) * self.chance()
        else:
            seconds = asked + self.first_wait * self.chance()
        return seconds if self.clock() - began + seconds <= self.seconds else None


NO_RETRIES: Final = Retries(attempts=1)
"""Each request is sent once."""

_NOT_NOW: Final = frozenset({408, 409, 429, *range(500, 600)}) - {501, 505}


def is_safe(error: ProviderError) -> bool:
    """Whether the request of this error may be sent again, as far as the error tells."""
    if isinstance(error, HttpError):
        told = error.headers.get("x-should-retry")
        return error.status in _NOT_NOW and reason_of(error) not in _LASTING and told != "false"
    if isinstance(error, ProviderTimeoutError):
        return error.phase == "open"
    return isinstance(error, ProviderConnectionError) and not error.opened


_LASTING: Final = frozenset({"quota", "context_length", "content_policy", "authentication"})
"""What waiting does not mend, whatever status it came with."""


async def retried(call: Callable[[], AsyncIterator[_T]], retries: Retries, wait: Any = None) -> AsyncGenerator[_T]:
    """What ``call`` gives, called again where it fails before the first of it. ``wait`` gets seconds, and is awaited.

    Raises the error of the last attempt; its detail ``attempts`` says how many there were.
    """
    from asyncio import sleep  # here, so that a blocking client does not load it

    wait = wait or sleep
    began, attempt = retries.clock(), 1
    while True:
        begun = False
        try:
            async with aclosing(call()) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    begun = True
                    yield piece
            return  # noqa: TRY300 - an else would stand behind the wait
        except ProviderError as error:
            seconds = None if begun else retries.wait(error, attempt, began)
            if seconds is None:
                error.details |= {"attempts": attempt} if attempt > 1 else {}
                raise
        await wait(seconds)
        attempt += 1
