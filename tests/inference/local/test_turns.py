"""Turns: callers take turns at the one model, whatever each of them asks for."""

import threading
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.local.turns import Turns


def ask(
    turns: Turns, caller: str, served: list[str], is_waiting: Callable[[], bool] = lambda: True
) -> threading.Thread:
    """A request of a caller in a thread of its own, which is in the queue when this returns."""

    def work() -> None:
        with turns.turn(caller, is_waiting) as has_come:
            if has_come:
                served.append(caller)

    before = waiting(turns)
    thread = threading.Thread(target=work)
    thread.start()
    while waiting(turns) == before and thread.is_alive():
        pass
    return thread


def waiting(turns: Turns) -> int:
    """How many requests are in the queue."""
    with turns._changed:
        return sum(map(len, turns._waiting.values()))


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
def test_callers_take_turns(asked: list[str]) -> None:
    """Nobody is served twice while another has waited all the time; everybody is served."""
    turns, served = Turns(), list[str]()
    with turns.turn("first", lambda: True):
        threads = [ask(turns, caller, served) for caller in asked]
    for thread in threads:
        thread.join(120)
    assert sorted(served) == sorted(asked)
    rounds = [[caller for caller in dict.fromkeys(asked) if asked.count(caller) > turn] for turn in range(len(asked))]
    assert served == [caller for each in rounds for caller in each]


def test_who_is_not_wanted_leaves_at_once() -> None:
    """While another is served, too."""
    turns, served, wanted = Turns(), list[str](), threading.Event()
    with turns.turn("first", lambda: True):
        thread = ask(turns, "a", served, lambda: not wanted.is_set())
        wanted.set()
        turns.wake()
        thread.join(120)
        assert not thread.is_alive()
    assert (served, waiting(turns)) == ([], 0)
