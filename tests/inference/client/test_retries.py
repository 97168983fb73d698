"""Retries: again only where that is safe, after waits that spread, and never past a budget."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.client.clients import NO_RETRIES, Retries, is_safe, retried
from innkeeper.inference.client.portal import cancelled_by, portal
from innkeeper.inference.errors import (
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    ReplyError,
    RequestCancelledError,
    StreamCutError,
)
from innkeeper.prompt import ProviderError, utc_now


def status(code: int, **headers: str) -> HttpError:
    """A status, and its headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpError("no", status=code, headers=named, sample="")


def unopened() -> ProviderConnectionError:
    """A connection that never came about."""
    error = ProviderConnectionError("refused")
    error.opened = False
    return error


@dataclass
class Provider:
    """Fails as often as it has errors, after the events of ``before``; then says ``ok``."""

    errors: list[ProviderError]
    before: tuple[str, ...] = ()
    calls: int = 0
    waits: list[float] = field(default_factory=list)

    def call(self) -> Iterator[str]:
        """One attempt."""
        self.calls += 1
        yield from self.before
        if self.errors:
            raise self.errors.pop(0)
        yield "ok"

    async def call_async(self) -> AsyncIterator[str]:
        """One attempt, for event loops."""
        for piece in self.call():
            yield piece

    async def wait(self, seconds: float) -> None:
        """Note a wait in place of waiting."""
        self.waits.append(seconds)


def run(provider: Provider, retries: Retries, *, in_loop: bool) -> list[str]:
    """What a caller gets."""
    if not in_loop:
        return list(portal().iterate(retried(provider.call_async, retries, provider.wait)))

    async def gather() -> list[str]:
        return [piece async for piece in retried(provider.call_async, retries, provider.wait)]

    return asyncio.run(gather())


loops = pytest.mark.parametrize("in_loop", [False, True], ids=["sync", "async"])
SAFE = [*(status(code) for code in (408, 409, 429, 500, 502, 503, 504, 529)), unopened()]
UNSAFE: list[ProviderError] = [
    *(status(code) for code in (302, 400, 401, 403, 404, 413, 422, 501)),
    status(500, x_should_retry="false"),
    HttpError("no", status=429, headers={}, sample="", body={"error": {"code": "insufficient_quota"}}),
    ProviderConnectionError("broke"),
    ProviderTimeoutError("late", phase="read"),
    ProviderTimeoutError("late", phase="total"),
    StreamCutError("cut"),
    DecodeError("html"),
    ReplyError("full", code="overloaded"),
]


@pytest.mark.parametrize(
    "error", [*SAFE, ProviderTimeoutError("late", phase="open")], ids=lambda error: f"{error.status}"
)
def test_safe(error: ProviderError) -> None:
    """What says *not now*, and what never reached the provider, may be sent again."""
    assert is_safe(error)


@pytest.mark.parametrize("error", UNSAFE, ids=lambda error: f"{type(error).__name__}-{error.status}")
@loops
def test_unsafe(error: ProviderError, in_loop: bool) -> None:
    """What may have been worked on, what waiting does not mend, and what the provider says not to, is sent once."""
    provider = Provider([error])
    with pytest.raises(type(error)) as caught:
        run(provider, Retries(), in_loop=in_loop)
    assert (caught.value, provider.calls, provider.waits) == (error, 1, [])


@loops
def test_again(in_loop: bool) -> None:
    """The third attempt answers; each wait is the chance's share of twice the one before."""
    provider = Provider([status(503), unopened()])
    assert run(provider, Retries(chance=lambda: 0.5), in_loop=in_loop) == ["ok"]
    assert (provider.calls, provider.waits) == (3, [0.25, 0.5])


@loops
def test_never_after_the_first_event(in_loop: bool) -> None:
    """An answer that has begun is not begun again."""
    provider = Provider([status(503)], before=("It ",))
    with pytest.raises(HttpError):
        run(provider, Retries(), in_loop=in_loop)
    assert provider.calls == 1


@loops
def test_attempts_are_a_budget(in_loop: bool) -> None:
    """After the last attempt its error is raised, and says how many there were."""
    provider = Provider([status(500), status(502), status(503), status(503)])
    with pytest.raises(HttpError) as caught:
        run(provider, Retries(attempts=3), in_loop=in_loop)
    assert (caught.value.status, caught.value.details["attempts"], provider.calls) == (503, 3, 3)


def test_none() -> None:
    """Without retries there is one attempt."""
    provider = Provider([status(503)])
    with pytest.raises(HttpError):
        run(provider, NO_RETRIES, in_loop=False)
    assert provider.calls == 1


def test_retry_after() -> None:
    """Seconds and dates count more than our own wait; a little of it is chance, and a date that is over is no wait."""
    retries = Retries(chance=lambda: 0.5)
    assert retries.wait(status(429, retry_after="3"), 1, retries.clock()) == 3.25
    assert retries.wait(status(429, retry_after="1.5"), 1, retries.clock()) == 1.75
    soon = format_datetime(utc_now() + timedelta(seconds=10), usegmt=True)
    wait = retries.wait(status(503, retry_after=soon), 1, retries.clock())
    assert wait is not None
    assert 8 < wait <= 10.25
    past = format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)
    assert retries.wait(status(503, retry_after=past), 1, retries.clock()) == 0.25


def test_time_is_a_budget() -> None:
    """A wait that would end too late is not begun."""
    now = 0.0
    retries = Retries(seconds=10, clock=lambda: now, chance=lambda: 1.0)
    assert retries.wait(status(429, retry_after="9"), 1, 0.0) == 9.5
    assert retries.wait(status(429, retry_after="10"), 1, 0.0) is None
    now = 9.8
    assert retries.wait(status(503), 1, 0.0) is None


@given(attempt=st.integers(1, 30), chance=st.floats(0, 1, exclude_max=True))
def test_waits_are_bounded(attempt: int, chance: float) -> None:
    """No wait is longer than the longest, whatever the attempt."""
    retries = Retries(attempts=99, seconds=1e9, chance=lambda: chance)
    wait = retries.wait(status(503), attempt, retries.clock())
    assert wait is not None
    assert 0 <= wait <= retries.longest_wait


def test_chance_is_spread() -> None:
    """The built-in chance is between nothing and one, and not always the same."""
    found = {Retries().chance() for _ in range(20)}
    assert all(0 <= one < 1 for one in found)
    assert len(found) > 1


def test_a_wait_can_be_cancelled() -> None:
    """Who waits for the next attempt can be told to stop."""
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    provider = Provider([status(503, retry_after="30")])
    with cancelled_by(stop), pytest.raises(RequestCancelledError):
        list(portal().iterate(retried(provider.call_async, Retries())))
    assert provider.calls == 1


def test_leaving_early_closes_the_attempt() -> None:
    """Who leaves in the middle of an answer closes it."""
    closed: list[Any] = []

    async def call() -> AsyncIterator[str]:
        try:
            yield "It "
            yield "is"
        finally:
            closed.append(True)

    pieces = portal().iterate(retried(call, Retries()))
    assert next(pieces) == "It "
    pieces.close()
    assert closed == [True]
