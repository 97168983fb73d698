"""Steps of a worker that other tests do not come by: what is not configured, what the provider lost, what it cannot be told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.errors import HttpError, ProviderTimeoutError
from innkeeper.jobs.backend import Progress
from innkeeper.jobs.job import JobState
from innkeeper.jobs.limits import MAX_CANCEL_TRIES
from innkeeper.jobs.media import MediaRequest
from innkeeper.jobs.steps import Steps
from innkeeper.library.errors import DatabaseUnreachableError
from tests.jobs.fakes import House, hook, house

WANTED = MediaRequest(prompt="a red barn", model="fake/one")


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A house on a SQLite file."""
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.02, 0.05))
    with house(str(tmp_path / "a.db"), tmp_path) as made:
        yield made


def _status(status: int) -> HttpError:
    return HttpError(f"status {status}", status=status, headers={}, sample="")


def test_not_configured(at: House) -> None:
    """A job whose backend is not there any more fails, and can be retried once it is."""
    job = at.jobs.submit(WANTED)
    del at.jobs.backends["fake"]
    assert (at.drain(job.id).error_kind, at.jobs.get(job.id).retryable) == ("configuration", True)


@pytest.mark.parametrize(
    ("stage", "repeatable", "state", "charged"),
    [
        ("lost", False, JobState.FAILED, 1),
        ("done", False, JobState.FAILED, 1),
        ("lost", True, JobState.FAILED, 5),
        ("cancelled", False, JobState.CANCELLED, 1),
    ],
)
def test_odd_ends(
    at: House, monkeypatch: pytest.MonkeyPatch, stage: Any, repeatable: bool, state: JobState, charged: int
) -> None:
    """A paid provider that lost a job, or gave nothing, is not asked again by itself; a free one is. One may end a job."""
    monkeypatch.setattr(at.provider, "status", lambda *_: Progress(stage))
    at.provider.repeatable = repeatable
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, at.provider.charged) == (state, charged)
    assert job.retryable is (True if state is JobState.FAILED else None)


def test_looks_that_fail(at: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that fails for a moment is repeated; one that is refused ends the job."""
    answers: list[Any] = [_status(503), ProviderTimeoutError("late", phase="read"), _status(401)]

    def status(*_: Any) -> Progress:
        raise answers.pop(0)

    monkeypatch.setattr(at.provider, "status", status)
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, answers, at.provider.charged) == (JobState.FAILED, "auth", [], 1)


def test_cannot_be_told(at: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that cannot be told of a cancel is told again some times; then an event says that it was not."""

    def cancel(*_: Any) -> None:
        raise _status(503)

    at.provider.never = True
    monkeypatch.setattr(at.provider, "cancel", cancel)
    job = at.jobs.submit(WANTED)
    at.runner.drain(0.1)
    at.jobs.cancel(job.id)
    assert at.jobs.cancel(job.id).state is JobState.CANCELLED
    for _ in range(MAX_CANCEL_TRIES):
        waiting = at.jobs.get(job.id)
        at.jobs.store.change(waiting, cancel_due=at.jobs.store.db.now())
        at.runner.sweep()
    assert at.told(job.id)[-1] == "provider_cancel_failed"
    assert at.jobs.get(job.id).cancel_due is None


def test_answer_after_the_lease(at: House) -> None:
    """A worker that was given up and then gets its answer brings the job back; one whose job was asked anew tells of a second."""
    at.provider.before = lambda call, _: at.runner.steps.recover(at.jobs.get(call.job_id), at.provider)
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, "late_reference" in at.told(job.id), at.provider.charged) == (JobState.SUCCEEDED, True, 1)

    def retried(call: Any, _: str) -> None:
        at.provider.before = None
        at.runner.steps.recover(at.jobs.get(call.job_id), at.provider)
        at.jobs.receive("fake", call.job_id, *hook("ref-other", at.jobs.store.db.outside.now().epoch_ms / 1000))

    at.provider.before = retried
    other = at.jobs.submit(WANTED)
    at.runner.drain(1.0)
    assert "second_at_provider" in at.told(other.id)


def test_lost_workers(at: House) -> None:
    """A job whose workers went away each time fails; one with a reference, or results, goes on."""
    at.provider.repeatable = True
    job = at.jobs.submit(WANTED)
    (held,) = at.jobs.store.claim("gone", 1)
    last = at.jobs.store.change(held, attempt=held.max_attempts)
    at.runner.steps.recover(last, at.provider)
    assert at.jobs.get(job.id).error_kind == "worker_lost"
    other = at.jobs.submit(WANTED)
    (held,) = at.jobs.store.claim("gone", 1)
    known = at.jobs.store.move(held, JobState.RUNNING, reference={"id": "ref-0"})
    at.runner.steps.recover(known, at.provider)
    assert at.drain(other.id).state is JobState.SUCCEEDED


def test_database_away(at: House) -> None:
    """What a provider has said is written as soon as the database is back."""
    waits: list[float] = []
    steps = Steps(at.jobs, sleep=waits.append)
    answers: list[Any] = [DatabaseUnreachableError("gone")] * 3

    def write() -> str:
        if answers:
            raise answers.pop()
        return "written"

    assert steps._surely(write) == "written"
    assert waits == [0.05, 0.1, 0.2]
