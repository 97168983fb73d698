"""Whose job is next: callers take turns, on SQLite and on PostgreSQL; a priority orders the jobs of one caller."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.jobs.job import Job, JobMissingError, JobState, JobStateError
from innkeeper.jobs.limits import MAX_PRIORITY
from innkeeper.jobs.media import MediaRequest
from innkeeper.jobs.media_jobs import Terms
from innkeeper.prompt.errors import LimitError
from tests.jobs.fakes import House, house

WANTED = MediaRequest(prompt="a red barn at dawn", model="fake/one", seed=0)


@pytest.fixture
def at(url: str, tmp_path: Path) -> Iterator[House]:
    """A house on a database of either kind."""
    with house(url, tmp_path) as made:
        yield made


@dataclass(frozen=True)
class Queued:
    id: str
    queue: str
    """Jobs in the order in which they are asked for: a letter for the caller, a digit for the priority."""
    order: str
    """The order in which they are carried out, one after the other."""


QUEUES = [
    Queued("one caller, oldest first", "a0 a0 a0", "a0 a0 a0"),
    Queued("a priority orders a caller's own", "a0 a5 a1 a5", "a5 a5 a1 a0"),
    Queued("who asks for one waits for one of each other", "a0 a0 a0 a0 b0 c0", "a0 b0 c0 a0 a0 a0"),
    Queued("no priority passes another caller's turn", "b0 a9 a9 a9 b0", "b0 a9 b0 a9 a9"),
    Queued("a priority chooses which job has the turn", "a0 b0 a9 b1", "a9 b1 a0 b0"),
]


@pytest.mark.parametrize("case", QUEUES, ids=lambda case: case.id)
def test_order(at: House, case: Queued) -> None:
    """Each caller's first job comes before anybody's second; among equals the caller that has waited longest."""
    names = {_submit(at, name).id: name for name in case.queue.split()}
    claimed: list[str] = []
    while taken := at.jobs.store.claim("worker", 1):
        claimed += [names[job.id] for job in taken]
        at.jobs.store.move(taken[0], JobState.FAILED)
    assert claimed == case.order.split()


def test_held_jobs_count(at: House) -> None:
    """Who holds workers already has had those turns: the next that is free goes to who holds none."""
    for name in ("a0", "a0", "a0", "a0"):
        _submit(at, name)
    assert [job.owner for job in at.jobs.store.claim("worker", 2)] == ["a", "a"]
    for name in ("b0", "b0"):
        _submit(at, name)
    assert sorted(job.owner for job in at.jobs.store.claim("worker", 2)) == ["b", "b"]
    assert sorted(job.owner for job in at.jobs.store.claim("worker", 4)) == ["a", "a"]


@given(
    queue=st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9)), min_size=1, max_size=12),
    limit=st.integers(1, 12),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
def test_nobody_has_two_turns_more(at: House, queue: Sequence[tuple[str, int]], limit: int) -> None:
    """Of any queue whoever is left out has as many jobs taken as anybody, or one less, and the highest of its own."""
    names = {_submit(at, caller, priority).id: (caller, priority) for caller, priority in queue}
    taken = [names[job.id] for job in at.jobs.store.claim("worker", limit)]
    left = list(queue)
    for one in taken:
        left.remove(one)
    counts = {caller: sum(one[0] == caller for one in taken) for caller, _ in queue}
    assert len(taken) == min(limit, len(queue))
    for caller, priority in left:
        assert max(counts.values()) <= counts[caller] + 1
        assert all(priority <= other for who, other in taken if who == caller)
    for job in names:
        at.jobs.cancel(job)


def test_another_priority(at: House) -> None:
    """A job that waits may get another priority, by its caller alone; one that has ended may not; the row keeps it."""
    first, second = _submit(at, "a0"), _submit(at, "a0")
    assert at.jobs.prioritize(second.id, 3, owner="a").priority == 3
    assert at.jobs.get(second.id).to_dict()["priority"] == 3
    assert [job.id for job in at.jobs.store.claim("worker", 1)] == [second.id]
    with pytest.raises(JobMissingError):
        at.jobs.prioritize(first.id, 1, owner="b")
    at.jobs.cancel(first.id)
    with pytest.raises(JobStateError, match="cancelled already"):
        at.jobs.prioritize(first.id, 1)
    assert at.jobs.retry(at.jobs.cancel(_submit(at, "a7").id).id).priority == 7
    for priority in (MAX_PRIORITY + 1, -MAX_PRIORITY - 1):
        with pytest.raises(LimitError, match="priority of a job"):
            at.jobs.submit(WANTED, Terms(priority=priority))
        with pytest.raises(LimitError):
            at.jobs.prioritize(second.id, priority)


def _submit(at: House, name: str, priority: int | None = None) -> Job:
    own = int(name[1:]) if priority is None else priority
    return at.jobs.submit(WANTED, Terms(owner=name[0], priority=own))
