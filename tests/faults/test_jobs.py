"""Faults of providers of pictures and videos: one documented outcome each, on SQLite and on PostgreSQL (docs/jobs.md)."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.errors import BudgetError, HttpError, ProviderConnectionError, ProviderTimeoutError
from innkeeper.jobs.backend import BackendCall, JobFailure, Progress, RefusedByProviderError, WebhookRefusedError
from innkeeper.jobs.job import NEXT, Job, JobChangedError, JobState, JobStateError, Output
from innkeeper.jobs.limits import MAX_ATTEMPTS
from innkeeper.jobs.media import MediaRequest
from innkeeper.jobs.media_jobs import Terms
from innkeeper.library.db.engine import Database
from innkeeper.library.outside import MACHINE
from innkeeper.prompt.determinism import Clock
from tests.jobs.fakes import PICTURE, FakeProvider, House, hook, house

WANTED = MediaRequest(prompt="a red barn at dawn", model="fake/one", seed=0)


class Shifted:
    """The machine's clock, set by a test."""

    def __init__(self) -> None:
        self.by = timedelta()

    def now(self) -> Clock:
        return Clock.at(MACHINE.now().now + self.by)

    def fresh_id(self) -> str:
        return MACHINE.fresh_id()


@pytest.fixture
def provider() -> FakeProvider:
    """The provider of a test."""
    return FakeProvider()


@pytest.fixture
def clock() -> Shifted:
    """The clock of a test."""
    return Shifted()


@pytest.fixture
def at(
    url: str, tmp_path: Path, provider: FakeProvider, clock: Shifted, monkeypatch: pytest.MonkeyPatch
) -> Iterator[House]:
    """A house on a database."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.02, 0.05))
    with house(url, tmp_path, provider, outside=clock) as made:
        yield made


def _status(status: int) -> HttpError:
    return HttpError(f"the provider answered with status {status}", status=status, headers={}, sample="")


def test_late(at: House, provider: FakeProvider) -> None:
    """A provider that takes its time is asked until it is done, and paid once."""
    provider.polls = 3
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, provider.charged, provider.polled) == (JobState.SUCCEEDED, 1, 4)
    assert at.jobs.assets.get(job.results[0].name) == PICTURE
    assert at.told(job.id)[:3] == ["created", "queued", "dispatched"]
    assert at.told(job.id)[-2:] == ["storing", "succeeded"]


def test_never(at: House, provider: FakeProvider) -> None:
    """A job whose provider never ends it expires at its deadline, and the provider is told."""
    provider.never = True
    job = at.drain(at.jobs.submit(WANTED, Terms(deadline_seconds=0.4)).id)
    at.runner.sweep()
    assert (job.state, provider.charged, provider.cancelled) == (JobState.EXPIRED, 1, ["ref-0"])


@dataclass
class Damaged:
    """A result that is not what it should be: what the provider gives, and how often it does before the right one."""

    name: str
    output: Output
    file: bytes


DAMAGED = [
    Damaged("wrong hash", Output(url="https://files.example/1", sha256="0" * 64), PICTURE),
    Damaged("wrong size", Output(url="https://files.example/1", size=3), PICTURE),
    Damaged("partial file", Output(url="https://files.example/1"), PICTURE[:-20]),
    Damaged("no picture", Output(url="https://files.example/1"), b"<html>"),
]


@pytest.mark.parametrize("case", DAMAGED, ids=lambda case: case.name)
def test_damaged(at: House, provider: FakeProvider, case: Damaged) -> None:
    """A damaged result is fetched again; nothing of it is kept, and after some tries the job fails and can be retried."""
    provider.outputs, provider.files = [case.output], [case.file]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, job.retryable) == (JobState.FAILED, "bad_result", True)
    assert (provider.charged, provider.fetched) == (1, MAX_ATTEMPTS)
    assert not job.results


def test_partial_once(at: House, provider: FakeProvider) -> None:
    """A file that was cut off once is whole the next time, and the job succeeds without being paid again."""
    provider.files = [PICTURE[:-20], PICTURE]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, provider.charged, provider.fetched) == (JobState.SUCCEEDED, 1, 2)


def test_webhook_before_the_response(at: House, provider: FakeProvider) -> None:
    """A webhook that comes before the provider has answered brings the job on, and the answer changes nothing more."""

    def early(call: BackendCall, reference: str) -> None:
        assert at.jobs.receive("fake", call.job_id, *hook(reference, time.time())) == "taken"

    provider.before = early
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, provider.charged) == (JobState.SUCCEEDED, 1)
    assert "webhook_first" in at.told(job.id)


def test_webhook_twice(at: House, provider: FakeProvider) -> None:
    """A webhook that is sent again counts once; one with a new identifier is an event and changes nothing."""
    provider.polls = 10**6
    job = at.jobs.submit(WANTED)
    at.runner.drain(0.1)
    sent = hook("ref-0", time.time())
    assert [at.jobs.receive("fake", job.id, *sent) for _ in range(3)] == ["taken", "repeated", "repeated"]
    provider.polls = 0
    done = at.drain(job.id)
    assert at.jobs.receive("fake", job.id, *hook("ref-0", time.time(), "d-2")) == "ignored"
    assert (done.state, at.jobs.get(job.id), provider.charged) == (JobState.SUCCEEDED, done, 1)


@pytest.mark.parametrize("kind", ["signature", "body", "old", "future"])
def test_webhook_forged(at: House, provider: FakeProvider, kind: str) -> None:
    """A webhook whose signature does not hold, or of another time, is refused, and nothing changes."""
    provider.polls = 10**6
    job = at.jobs.submit(WANTED)
    at.runner.drain(0.1)
    before, events = at.jobs.get(job.id), at.told(job.id)
    headers, body = hook("ref-0", time.time() + {"old": -301, "future": 302}.get(kind, 0))
    headers |= {"signature": "00"} if kind == "signature" else {}
    with pytest.raises(WebhookRefusedError):
        at.jobs.receive("fake", job.id, headers, body if kind != "body" else b"ref-1")
    after = at.jobs.get(job.id)
    assert (after.state, after.reference, at.told(job.id)[: len(events)]) == (before.state, before.reference, events)


def test_webhook_about_another(at: House, provider: FakeProvider) -> None:
    """A webhook of the provider's about another of its jobs changes nothing."""
    provider.polls = 10**6
    job = at.jobs.submit(WANTED)
    at.runner.drain(0.1)
    assert at.jobs.receive("fake", job.id, *hook("ref-9", time.time())) == "ignored"
    assert at.jobs.get(job.id).reference == {"id": "ref-0"}


def test_clock_back(at: House, provider: FakeProvider, clock: Shifted) -> None:
    """A clock that is set back by a day stops nothing: what was put off is done, and nobody is paid twice."""
    provider.polls = 2
    job = at.jobs.submit(WANTED)
    at.runner.drain(0.05)
    clock.by = -timedelta(days=1)
    done = at.drain(job.id)
    assert (done.state, provider.charged) == (JobState.SUCCEEDED, 1)


def test_clock_back_and_worker_lost(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that seems to last for ever, since the clock was set back, is given up once it has stood still for long enough."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    clock, provider = Shifted(), FakeProvider(repeatable=True)
    with house(url, tmp_path, provider, outside=clock, lease=0.1) as at:
        job = at.jobs.submit(WANTED)
        (held,) = at.jobs.store.claim("a worker that is gone", 1)
        assert held.state is JobState.DISPATCHED
        clock.by = -timedelta(days=1)
        assert at.drain(job.id).state is JobState.SUCCEEDED
        assert "lease_lost" in at.told(job.id)


@dataclass
class Lost:
    """An answer that was lost: how, whether asking twice is free, what becomes of the job, and how often it was paid."""

    name: str
    error: Exception
    repeatable: bool
    state: JobState
    kind: str | None
    charged: int


LOST = [
    Lost("time", ProviderTimeoutError("no answer", phase="read"), False, JobState.FAILED, "outcome_unknown", 1),
    Lost("cut", ProviderConnectionError("broke"), False, JobState.FAILED, "outcome_unknown", 1),
    Lost("gateway", _status(502), False, JobState.FAILED, "outcome_unknown", 1),
    Lost("free", ProviderTimeoutError("no answer", phase="read"), True, JobState.SUCCEEDED, None, 2),
]


@pytest.mark.parametrize("case", LOST, ids=lambda case: case.name)
def test_answer_lost(at: House, provider: FakeProvider, case: Lost) -> None:
    """A paid provider whose answer was lost is not asked twice, and it is said; where asking is free it is asked again."""
    provider.lost_answers, provider.repeatable = [case.error], case.repeatable
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, provider.charged) == (case.state, case.kind, case.charged)


def test_answer_lost_and_webhook_late(at: House, provider: FakeProvider) -> None:
    """A webhook about a job whose answer was lost brings it back: it succeeds, and is paid once."""
    provider.lost_answers = [ProviderTimeoutError("no answer", phase="read")]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert job.error_kind == "outcome_unknown"
    assert at.jobs.receive("fake", job.id, *hook("ref-0", time.time())) == "taken"
    done = at.drain(job.id)
    assert (done.state, done.error_kind, provider.charged) == (JobState.SUCCEEDED, None, 1)


def test_refused(at: House, provider: FakeProvider) -> None:
    """What a provider's policy refuses is told as such, and neither tried again nor elsewhere."""
    provider.errors = [RefusedByProviderError("the provider's safety checker refused it")]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, job.retryable, job.attempt) == (
        JobState.FAILED,
        "provider_policy_refusal",
        False,
        1,
    )


def test_odd_words(at: House, provider: FakeProvider) -> None:
    """What a provider says is kept as far as a database takes it: no word of its keeps a job from ending."""
    provider.errors = [RefusedByProviderError("no\0 \ud800" + "x" * 1_000)]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, (job.error_message or "")[:5]) == (JobState.FAILED, "no ?x")


def test_unavailable(at: House, provider: FakeProvider) -> None:
    """A provider that has no room is asked again, as often as is allowed; a wrong key ends it at once."""
    provider.errors = [_status(503), _status(429)]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.attempt, provider.charged) == (JobState.SUCCEEDED, 3, 1)
    provider.errors = [_status(503)] * 9
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, job.attempt) == (JobState.FAILED, "unavailable", MAX_ATTEMPTS)
    provider.errors = [_status(401)]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, job.retryable) == (JobState.FAILED, "auth", False)


def test_cancelled_while_running(at: House, provider: FakeProvider) -> None:
    """A job that is cancelled ends at once; its provider is told, and what it makes all the same is not taken."""
    provider.never = True
    job = at.jobs.submit(WANTED)
    at.runner.drain(0.1)
    assert at.jobs.cancel(job.id).state is JobState.CANCELLED
    at.runner.sweep()
    assert provider.cancelled == ["ref-0"]
    assert at.jobs.receive("fake", job.id, *hook("ref-0", time.time())) == "ignored"
    at.runner.drain(0.1)
    assert (at.jobs.get(job.id).state, provider.charged) == (JobState.CANCELLED, 1)


def test_cancelled_in_the_hand_over(at: House, provider: FakeProvider) -> None:
    """A job that is cancelled while its provider is asked stays so, and the provider is told once it has answered."""
    cancelled: list[Job] = []
    provider.before = lambda call, _reference: cancelled.append(at.jobs.cancel(call.job_id))
    job = at.drain(at.jobs.submit(WANTED).id)
    at.runner.sweep()
    assert (job.state, provider.cancelled) == (JobState.CANCELLED, ["ref-0"])


def test_kept_before_success(at: House, provider: FakeProvider) -> None:
    """A job has not succeeded before its result is kept: a store that refuses puts it off, and then it fails."""
    (Path(at.jobs.assets.folder)).parent.mkdir(parents=True, exist_ok=True)  # type: ignore[attr-defined]
    at.jobs.assets.folder.write_text("a file where a folder should be")  # type: ignore[attr-defined]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, job.retryable, provider.charged) == (JobState.FAILED, "storage", True, 1)


@dataclass
class Resumed:
    """A job that fails after its provider took it, what mends it, and how often it is charged after a retry."""

    id: str
    spoil: Callable[[House, FakeProvider], object]
    mend: Callable[[House, FakeProvider], object]
    kind: str
    charged: int = 1


def _refuse_to_keep(at: House, _: FakeProvider) -> None:
    at.folder.mkdir(parents=True, exist_ok=True)
    (at.folder / "assets").write_text("a file where a folder should be")


def _once_refused(_: House, provider: FakeProvider) -> None:
    status = provider.status
    refusals = [_status(401)]

    def refused(call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        if refusals:
            raise refusals.pop()
        return status(call, reference)

    provider.status = refused  # type: ignore[method-assign]


RESUMED = [
    Resumed(
        "a damaged result",
        lambda _, provider: setattr(provider, "files", [b"<html>"]),
        lambda _, provider: setattr(provider, "files", [PICTURE]),
        "bad_result",
    ),
    Resumed("a full store", _refuse_to_keep, lambda at, _: (at.folder / "assets").unlink(), "storage"),
    Resumed("a key that was changed", _once_refused, lambda *_: None, "auth"),
    Resumed(
        "a reference that is lost",
        lambda _, provider: provider.stands.append(Progress("lost")),
        lambda *_: None,
        "not_found",
        charged=2,
    ),
    Resumed(
        "a provider that failed",
        lambda _, provider: provider.stands.append(
            Progress("failed", failure=JobFailure("provider_failed", "out of memory"))
        ),
        lambda *_: None,
        "provider_failed",
        charged=2,
    ),
]


@pytest.mark.parametrize("case", RESUMED, ids=lambda case: case.id)
def test_retry_goes_on_where_it_failed(at: House, provider: FakeProvider, case: Resumed) -> None:
    """What a provider has made is fetched under its reference; it is paid again only where that is lost."""
    case.spoil(at, provider)
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind, provider.charged) == (JobState.FAILED, case.kind, 1)
    case.mend(at, provider)
    at.jobs.retry(job.id)
    done = at.drain(job.id)
    assert (done.state, provider.charged) == (JobState.SUCCEEDED, case.charged)
    steps = done.to_dict()["route_trace"]["steps"]
    assert [step["outcome"] for step in steps].count("answered") == 1
    assert done.to_dict()["route_trace"]["spent"] == pytest.approx(0.04)


def test_retry_asks_anew_where_the_caller_says_so(at: House, provider: FakeProvider) -> None:
    """Then it is a new job for its provider, and is paid."""
    provider.files = [b"<html>"]
    job = at.drain(at.jobs.submit(WANTED).id)
    provider.files = [PICTURE]
    at.jobs.retry(job.id, anew=True)
    assert (at.drain(job.id).state, provider.charged) == (JobState.SUCCEEDED, 2)


def test_what_was_never_sent_is_asked_by_the_next(at: House, provider: FakeProvider) -> None:
    """A worker that goes away between claiming a job and sending it leaves a job that costs nothing, and is not unknown."""
    job = at.jobs.submit(WANTED)
    (held,) = at.jobs.store.claim(at.runner.worker, 1)
    at.runner.steps.recover(held, provider)
    assert at.jobs.get(job.id).state is JobState.QUEUED
    assert (at.drain(job.id).state, provider.charged) == (JobState.SUCCEEDED, 1)


def test_an_attempt_that_was_sent_is_in_the_trace(at: House, provider: FakeProvider) -> None:
    """Of jobs whose outcome nobody knows, and of cancelled ones, with the estimate that may have been spent."""
    provider.before = lambda call, _: at.runner.steps.recover(at.jobs.get(call.job_id), provider)
    provider.lost_answers = [ProviderConnectionError("broke")]
    unknown = at.drain(at.jobs.submit(WANTED).id)
    provider.before = lambda call, _: at.jobs.cancel(call.job_id)
    cancelled = at.drain(at.jobs.submit(WANTED).id)
    waiting = at.jobs.cancel(at.jobs.submit(WANTED).id)
    traces = [job.to_dict()["route_trace"] for job in (unknown, cancelled, waiting)]
    assert [(trace["ended"], trace["spent"]) for trace in traces] == [
        ("outcome_unknown", pytest.approx(0.04)),
        ("cancelled", pytest.approx(0.04)),
        ("cancelled", 0.0),
    ]
    assert [[step["cost_source"] for step in trace["steps"]] for trace in traces] == [["estimate"], ["estimate"], []]
    day = at.jobs.store.db.now()[:10]
    assert at.jobs.store.spent("", "", f"{day}T00:00:00.000000Z") == pytest.approx(0.08)


def test_two_workers(url: str, at: House, provider: FakeProvider) -> None:
    """Workers that claim at the same time never hold the same job."""
    from innkeeper.jobs.store import JobStore

    ids = {at.jobs.submit(WANTED).id for _ in range(24)}
    with Database.open(url) as other, ThreadPoolExecutor(4) as pool:
        stores = [JobStore(other), at.jobs.store] * 2
        claims = [pool.submit(store.claim, f"worker {n}", 3) for n, store in enumerate(stores * 2)]
        claimed = [job.id for claim in claims for job in claim.result()]
    assert len(claimed) == len(set(claimed)) == len(ids)


def test_answers_twice(at: House, provider: FakeProvider) -> None:
    """A provider whose first worker was given up answers twice: what was known first counts, the other is told of."""

    def given_up(call: BackendCall, _: str) -> None:
        provider.before = None
        at.runner.steps.recover(at.jobs.get(call.job_id), provider)
        assert at.jobs.receive("fake", call.job_id, *hook("ref-7", time.time())) == "taken"

    provider.before = given_up
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.reference, provider.charged) == (JobState.SUCCEEDED, {"id": "ref-7"}, 1)
    assert at.told(job.id).count("succeeded") == 1
    assert "second_at_provider" in at.told(job.id)


def test_webhook_of_an_attempt_before(at: House, provider: FakeProvider) -> None:
    """A webhook about an attempt that is over does not become the reference of the next: that one is followed, and paid once."""
    failed = Progress("failed", failure=JobFailure("provider_failed", "out of memory"))
    provider.stands = [failed]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert (job.state, job.error_kind) == (JobState.FAILED, "provider_failed")
    at.jobs.retry(job.id)

    def late(call: BackendCall, _: str) -> None:
        assert at.jobs.receive("fake", call.job_id, *hook("ref-0", time.time(), "late")) == "ignored"

    provider.before = late
    done = at.drain(job.id)
    assert (done.state, done.reference, provider.charged) == (JobState.SUCCEEDED, {"id": "ref-1"}, 2)


def test_retried_twice_at_once(url: str, at: House, provider: FakeProvider) -> None:
    """Of several who ask for a job once more at the same time one is heard, whichever process they are in."""
    provider.errors = [_status(401)]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert job.state is JobState.FAILED
    with house(url, at.folder, provider) as other, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(jobs.retry, job.id) for jobs in (at.jobs, other.jobs) * 2]
        errors = [one.exception() for one in asked]
    assert [error is None for error in errors].count(True) == 1
    assert all(isinstance(error, JobStateError | JobChangedError) for error in errors if error is not None)
    assert (at.drain(job.id).state, provider.charged) == (JobState.SUCCEEDED, 1)
    assert at.told(job.id).count("retried") == 1


def test_cancelled_while_storing(url: str, at: House, provider: FakeProvider) -> None:
    """A job that another process cancels while its results are kept stays cancelled, and has none."""
    with house(url, at.folder, provider) as other:
        provider.fetching = lambda call: other.jobs.cancel(call.job_id)
        job = at.drain(at.jobs.submit(WANTED).id)
        at.runner.sweep()
    assert (job.state, job.results, provider.fetched) == (JobState.CANCELLED, (), 1)
    assert provider.cancelled == ["ref-0"]
    assert "succeeded" not in at.told(job.id)


def test_cancelled_and_retried_at_once(url: str, at: House, provider: FakeProvider) -> None:
    """Cancelling and asking again from several sides leave one history: each state follows from the one before, and it ends."""
    job = at.jobs.submit(WANTED)
    with house(url, at.folder, provider) as other, ThreadPoolExecutor(6) as pool:
        calls = [ask for jobs in (at.jobs, other.jobs) for ask in (jobs.cancel, jobs.retry, jobs.cancel)]
        for one in [pool.submit(ask, job.id) for ask in calls]:
            assert one.exception() is None or isinstance(one.exception(), JobStateError | JobChangedError)
    states = [JobState(event.state) for event in at.jobs.events(job)]
    assert all(after in NEXT[before] for before, after in pairwise(states) if before is not after)
    if at.jobs.get(job.id).ended:
        at.jobs.retry(job.id)
    assert (at.drain(job.id).state, provider.charged) == (JobState.SUCCEEDED, 1)


def test_budget_of_several_at_once(url: str, at: House, provider: FakeProvider) -> None:
    """Requests that come at once, to several processes, do not go beyond the budget together; other owners have theirs."""
    with house(url, at.folder, provider) as other, ThreadPoolExecutor(6) as pool:
        at.jobs.daily_budget = other.jobs.daily_budget = 0.1
        asked = [
            pool.submit(jobs.submit, WANTED, Terms(owner=owner))
            for owner in ("me", "you")
            for jobs in (at.jobs, other.jobs) * 3
        ]
        errors = [one.exception() for one in asked]
    assert [error is None for error in errors].count(True) == 4
    assert {type(error) for error in errors if error is not None} == {BudgetError}
    assert [len(at.jobs.store.list(owner=owner)) for owner in ("me", "you")] == [2, 2]
