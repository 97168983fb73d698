"""The states of a worker: what may follow what, and what it cannot talk itself into."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.workers.states import WorkerState, WorkerStateError


@given(st.lists(st.sampled_from(WorkerState), max_size=20))
def test_nobody_talks_himself_out(said: list[WorkerState]) -> None:
    """Whatever a worker says of itself, it does not get out of quarantine, nor into it; one that drains works no more."""
    state = WorkerState.STARTING
    for told in said:
        assert WorkerState.QUARANTINED.reported(told) is WorkerState.QUARANTINED
        before, state = state, state.reported(told)
        assert state is not WorkerState.QUARANTINED
        assert before is not WorkerState.DRAINING or not state.working


def test_order() -> None:
    """A worker starts, works, drains and dies; what cannot follow is refused."""
    state = WorkerState.STARTING
    for following in (
        WorkerState.READY,
        WorkerState.DEGRADED,
        WorkerState.READY,
        WorkerState.DRAINING,
        WorkerState.DEAD,
    ):
        state = state.become(following)
    assert state.become(WorkerState.READY).working
    with pytest.raises(WorkerStateError, match="draining does not become ready"):
        WorkerState.DRAINING.become(WorkerState.READY)
