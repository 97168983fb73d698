"""FairQueue: callers take turns, and nobody holds more workers than a share."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.service.errors import (
    MAX_WAITING,
    OverloadError,
)
from innkeeper.service.guard.work import share
from innkeeper.service.processes.pool import FairQueue


def test_waiting() -> None:
    """Calls that wait for a process are bounded, of one caller and of all."""
    loop, turns = asyncio.new_event_loop(), FairQueue(1)
    for _ in range(share(MAX_WAITING)):
        turns.add("a", loop.create_future())
    with pytest.raises(OverloadError):
        turns.add("a", loop.create_future())
    for _ in range(MAX_WAITING - share(MAX_WAITING)):
        turns.add("b", loop.create_future())
    with pytest.raises(OverloadError):
        turns.add("c", loop.create_future())
    loop.close()


def order(most: int, *callers: str) -> list[str]:
    """In which order these callers' calls get a worker, as far as they may."""
    loop, turns = asyncio.new_event_loop(), FairQueue(most)
    for caller in callers:
        turns.add(caller, loop.create_future())
    got = []
    while turn := turns.next():
        got.append(turn.caller)
    loop.close()
    return got


@pytest.mark.parametrize(
    ("most", "callers", "got"),
    [
        (3, "aaaab", "abaa"),
        (2, "aaabbc", "abcab"),
        (1, "aab", "ab"),
        (5, "", ""),
    ],
)
def test_turns(most: int, callers: str, got: str) -> None:
    """Who holds the least is next, callers take turns, and nobody holds more than the most."""
    assert "".join(order(most, *callers)) == got


@given(st.text("abc", max_size=12), st.integers(1, 4))
def test_any_turns(callers: str, most: int) -> None:
    """Each caller gets as many turns as it waits for, up to the most."""
    got = order(most, *callers)
    assert {name: got.count(name) for name in callers} == {name: min(callers.count(name), most) for name in callers}


def test_turns_given_up() -> None:
    """A call that waits no more is passed over, and leaving makes room for the next."""
    loop, turns = asyncio.new_event_loop(), FairQueue(1)
    first, second, third = (loop.create_future() for _ in range(3))
    for future in (first, second, third):
        turns.add("a", future)
    turns.remove("a", first)
    second.cancel()
    turn = turns.next()
    assert turn is not None
    assert turn.future is third
    turns.remove("a", first)
    assert not turns.is_waiting()
    turns.leave("a")
    turns.add("a", first)
    assert turns.is_waiting()
    loop.close()
