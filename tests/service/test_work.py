"""Work and the gate: calls end, one way or the other, and their places are free again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from innkeeper.service.errors import BodyLimitError, OverloadError, SlowBodyError, TimeBudgetError
from innkeeper.service.guard import BodyReader, announced
from innkeeper.service.settings import Settings
from innkeeper.service.work import Expired, Gate, Work


def gate(**limits: Any) -> Gate:
    """A gate for tests."""
    given: dict[str, Any] = {"calls": 2, "volume": 100, "workers": 1, "seconds": 0.2}
    return Gate(**{**given, **limits})


def forever() -> None:
    """Never ends, and takes no ordinary exception for an answer."""
    while True:
        try:
            sum(range(100))
        except Exception:  # noqa: BLE001, S112 - this is what engine code may do
            continue


def test_result_and_failure() -> None:
    """A call's result, or what it raised, reaches the one who waits."""

    async def run() -> None:
        door = gate()
        assert await door.run(lambda: 3) == 3
        with pytest.raises(KeyError):
            await door.run(lambda: dict[str, int]()["x"])

    asyncio.run(run())


def test_interrupted() -> None:
    """A call without end is stopped, so that the next one finds its place free."""

    async def run() -> None:
        door = gate()
        for _ in range(2):
            with pytest.raises(TimeBudgetError):
                await door.run(forever)
        await asyncio.sleep(0.1)
        assert await door.run(lambda: 4) == 4

    asyncio.run(run())


def test_waiting_counts() -> None:
    """The time a call waits for its turn is part of its budget."""

    async def run() -> None:
        door = gate()
        first, second = asyncio.create_task(door.run(forever)), asyncio.create_task(door.run(forever))
        done = await asyncio.gather(first, second, return_exceptions=True)
        assert all(isinstance(error, TimeBudgetError) for error in done)

    asyncio.run(run())


def test_cancelled() -> None:
    """A call whose caller went away is stopped."""

    async def run() -> None:
        door = gate(seconds=30)
        call = asyncio.create_task(door.run(forever))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await door.run(lambda: 5) == 5

    asyncio.run(run())


def test_loop_gone() -> None:
    """A thread that ends after its loop was closed ends in peace."""

    async def run() -> Any:
        return gate()._begin(forever)[0]

    work = asyncio.run(run())
    work.interrupt()
    work._thread.join(10)
    assert not work._thread.is_alive()


def test_interrupted_late() -> None:
    """An interruption that arrives after the call's end harms nobody: the one who waits is told."""
    told: list[bool] = []

    class Late(Work[int]):
        def _compute(self) -> None:
            super()._compute()
            raise Expired

    work = Late(lambda: 3, lambda: told.append(True))
    work.start()
    work._thread.join(10)
    work.interrupt()
    assert (told, work.result) == ([True], 3)


def test_places() -> None:
    """Calls and bytes beyond the limits are refused with the seconds to wait, and leaving frees them."""
    door = gate()
    door.enter()
    door.enter()
    with pytest.raises(OverloadError) as caught:
        door.enter()
    assert caught.value.details["retry_after"] == 1
    door.carry(90)
    with pytest.raises(OverloadError):
        door.carry(20)
    door.leave(90)
    door.carry(20)
    door.enter()
    assert (door.calls, door.volume) == (2, 20)


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
    """A body is whole, or there is an error that says why not; what was charged is known either way."""
    door, settings = gate(), Settings(max_body=10, body_seconds=0.05)
    intake = BodyReader(receiver(*events), settings, door)
    if error is None:
        assert asyncio.run(intake.read(headers)) == b"1234567"
    else:
        with pytest.raises(error):
            asyncio.run(intake.read(headers))
    assert door.volume == intake.size


@pytest.mark.parametrize(("text", "size"), [("12", 12), ("-1", 0), ("x", 0), ("²", 0), ("9" * 30, 0)])
def test_announced(text: str, size: int) -> None:
    """Only a plain number announces a size."""
    assert announced({"content-length": text}) == size
