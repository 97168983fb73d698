"""Work: what is let in, for whom, and whose turn it is; and bodies, which are charged while they arrive."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from innkeeper.inference.response.response import Usage
from innkeeper.service.errors import (
    BodyLimitError,
    ConcurrencyLimitError,
    OverloadError,
    ScopeError,
    SlowBodyError,
    TokenRateLimitError,
)
from innkeeper.service.guard.grants import Grant, Keys
from innkeeper.service.guard.guard import BodyReader, announced
from innkeeper.service.guard.work import Gate, Lag, share
from innkeeper.service.settings import Settings


@pytest.mark.parametrize(("amount", "most"), [(1, 1), (2, 1), (6, 5), (128, 112)])
def test_share(amount: int, most: int) -> None:
    """One caller never holds all of what there is, unless there is one."""
    assert share(amount) == most


def test_gate() -> None:
    """Calls and bytes beyond the limits are refused with the seconds to wait, and leaving frees them."""
    door = Gate(calls=3, volume=100)
    with door.ticket("a") as first, door.ticket("a") as second, door.ticket("b") as third:
        first.enter()
        second.enter()
        third.enter()
        with pytest.raises(OverloadError) as caught, door.ticket("c") as fourth:
            fourth.enter()
        assert caught.value.details["retry_after"] == 1
        first.carry(60)
        with pytest.raises(OverloadError):
            third.carry(50)
        third.carry(40)
    assert not door.calls + door.volume


def test_gate_shares() -> None:
    """A caller that holds its share is refused while another is let in."""
    door = Gate(calls=2, volume=100)
    with door.ticket("a") as first, door.ticket("a") as more, door.ticket("b") as other:
        first.enter()
        first.carry(80)
        with pytest.raises(OverloadError):
            more.enter()
        with pytest.raises(OverloadError):
            more.carry(15)
        other.enter()
        other.carry(15)


def test_gate_answers() -> None:
    """Calls that wait for a model have room of their own, and are turned away where that is full."""
    door = Gate(calls=1, volume=100, answers=2)
    with door.ticket("a") as first, door.ticket("b") as second, door.ticket("c") as third:
        first.enter()
        second.enter("chat")
        third.enter("run")
        with pytest.raises(OverloadError) as caught, door.ticket("d") as fourth:
            fourth.enter("chat")
        assert caught.value.limit == "MAX_ANSWERS"
    assert not door.calls + door.answers


def test_gate_grants() -> None:
    """What a key may do counts for all of its calls: surfaces, requests, calls at once, tokens; others are not touched."""
    grants = {"k": Grant(scope=("chat", "prompts"), rate=3, calls=1, tokens=100)}
    keys = Keys("k", "other", grants=grants)
    name, other = keys.name(b"k") or "", keys.name(b"other") or ""
    door = Gate(calls=9, volume=100, keys=keys)
    with pytest.raises(ScopeError), door.ticket(name) as ticket:
        ticket.enter("gateway")
    with door.ticket(name) as ticket, door.ticket(other) as free:
        ticket.enter("chat")
        with pytest.raises(ConcurrencyLimitError), door.ticket(name) as second:
            second.enter("prompts")
        for _ in range(9):
            free.enter("chat")
        assert (ticket.owner, free.owner) == (name, other)
        ticket.record.usage = Usage(input_tokens=300)
    with pytest.raises(TokenRateLimitError), door.ticket(name) as ticket:
        ticket.enter("chat")
    assert not door.calls + Counter({key: count for key, count in door.answers.items() if key == name})


def test_owner_without_keys() -> None:
    """Where no keys tell callers apart, what is stored belongs to whoever is at this machine."""
    door = Gate(calls=1, volume=1)
    with door.ticket("127.0.0.1") as one, door.ticket("::1") as other:
        assert one.owner == other.owner


def test_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is late for long turns calls away, and takes them again once it is in time."""
    monkeypatch.setattr("innkeeper.service.guard.work.MAX_LAG", 0.1)

    async def run() -> None:
        lag = Lag()
        lag.check()
        for _ in range(4):
            time.sleep(0.3)  # noqa: ASYNC251 - a loop that is blocked is the case
            for _ in range(3):
                await asyncio.sleep(0)
        with pytest.raises(OverloadError) as caught:
            lag.check()
        assert caught.value.http_status == 503
        for _ in range(100):
            await asyncio.sleep(0.05)
            if lag.seconds <= 0.1:
                break
        lag.check()

    asyncio.run(run())


def test_one_late_moment() -> None:
    """One moment in which a loop stands still, however long, turns nobody away."""

    async def run() -> None:
        lag = Lag()
        lag.check()
        time.sleep(1.2)  # noqa: ASYNC251 - as above
        for _ in range(3):
            await asyncio.sleep(0)
        lag.check()

    asyncio.run(run())


def receiver(*events: dict[str, Any]) -> Callable[[], Awaitable[Any]]:
    """A client that sends these events, and then nothing."""
    waiting = list(events)

    async def receive() -> Any:
        if waiting:
            return waiting.pop(0)
        await asyncio.sleep(60)
        return None

    return receive


PART = {"type": "http.request", "body": b"12345", "more_body": True}
LAST = {"type": "http.request", "body": b"67"}
GONE = {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("events", "headers", "error"),
    [
        ([PART, LAST], {}, None),
        ([PART, GONE], {}, SlowBodyError),
        ([PART], {}, SlowBodyError),
        ([PART, PART, PART, LAST], {}, BodyLimitError),
        ([LAST], {"content-length": "11"}, BodyLimitError),
    ],
    ids=["whole", "gone", "slow", "large", "announced"],
)
def test_body(events: list[Any], headers: dict[str, str], error: type[Exception] | None) -> None:
    """A body is whole, or there is an error that says why not; what was charged is given back either way."""
    door, settings = Gate(calls=2, volume=100), Settings(max_body=10, body_seconds=0.05)
    with door.ticket("a") as ticket:
        intake = BodyReader(receiver(*events), settings, ticket)
        if error is None:
            assert asyncio.run(intake.read(headers)) == b"1234567"
        else:
            with pytest.raises(error):
                asyncio.run(intake.read(headers))
        assert door.volume.total() == ticket.size
    assert not door.volume


@pytest.mark.parametrize(("text", "size"), [("12", 12), ("-1", 0), ("x", 0), ("²", 0), ("9" * 30, 0)])
def test_announced(text: str, size: int) -> None:
    """Only a plain number announces a size."""
    assert announced({"content-length": text}) == size
