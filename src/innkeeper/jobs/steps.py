"""Steps: what a worker does with a job that it holds: hand it over, poll it, store its results.

Whatever happens between two lines here, the row says enough for somebody else to go on: a job whose fate at a paid provider is
not known is not asked a second time by itself, and says so; everything else is done again at no cost. What the provider has said
is written as soon as the database takes it, so that a server which restarts loses nothing of it.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.inference.errors import AddressRefusedError, RequestCancelledError
from innkeeper.jobs.assets import whole_or_refused
from innkeeper.jobs.backend import Backend, BackendCall, JobFailure, Progress, Submitted, failure_of
from innkeeper.jobs.job import Job, JobChangedError, JobRoute, JobState, Output, Stored
from innkeeper.jobs.limits import LONGEST_WAIT, MAX_ATTEMPTS, MAX_CANCEL_TRIES, POLL_SECONDS
from innkeeper.jobs.media_jobs import MediaJobs
from innkeeper.jobs.routing import may_go_elsewhere
from innkeeper.jobs.store import JobStep
from innkeeper.library.db.tables.columns import later
from innkeeper.library.errors import DatabaseError, TierBlockedError
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import FormatError, InnkeeperError, ProviderError
from innkeeper.prompt.typed.once import convert

LOG: Final = logging.getLogger("innkeeper.jobs")
_T = TypeVar("_T")

_UNKNOWN: Final = (
    "the connection was lost before the provider answered: it may have the job, and charge for it; "
    "`retry` asks it once more"
)
_TAKEN: Final = frozenset({"not_found", "bad_answer"})
"""Failures of a job that a provider has taken and may charge for: it is not asked for again by itself."""

MARKS: Final = "marks-"
"""What the names of workers begin with that write down before they send a job; those of former versions did not."""

_DATABASE_SECONDS: Final = 60.0
_LONGEST_ABSENCE: Final = 30.0
"""Seconds between two looks whether there is a worker."""
_FREE: Final[Mapping[str, Any]] = {"lease": None, "lease_until": None}


def backoff(job_id: str, attempt: int, first: float = 1.0, most: float = 300.0) -> float:
    """Seconds before the next attempt: twice as long each time, and not the same for all jobs at once."""
    chance = int.from_bytes(hashlib.sha256(f"{job_id}:{attempt}".encode()).digest()[:4]) / 2**32
    return min(most, first * 2.0 ** min(attempt - 1, 20)) * (0.5 + chance)


class Steps:
    """What a worker does. ``first`` are the seconds before the second attempt; ``sleep`` is for tests."""

    def __init__(self, jobs: MediaJobs, *, first: float = 1.0, sleep: Callable[[float], object] = time.sleep) -> None:
        self.jobs = jobs
        self.store = jobs.store
        self._first = first
        self._sleep = sleep

    def run(self, job: Job) -> None:
        """Go as far with a job as can be gone now. The job is one that was claimed."""
        try:
            self._run(job)
        except JobChangedError:
            LOG.debug("%s: changed by somebody else", job.id)

    def _run(self, job: Job) -> None:
        waited_for = job.state is JobState.RUNNING and job.reference is None
        step = Steps.submit if waited_for else _STEPS[job.state]
        try:
            held = self._surely(lambda: self.jobs.directed(job)) if step is Steps.submit else job
            if step is Steps.submit and not self.jobs.routes.is_there(held):
                now = self.store.db.now()
                wait = min(_LONGEST_ABSENCE, max(self._first, _seconds(held.created_at, now) / 10))
                due = later(now, wait)
                self._queue(held, "waits_for_worker", EMPTY, due_at=due, attempt=held.attempt - 1)  # that is no attempt
                return
            backend, call = self.jobs.calls.of(held)
        except (DatabaseError, JobChangedError):
            raise
        except TierBlockedError as error:
            self._end(job, JobFailure("safety_block", error.message))
            return
        except InnkeeperError as error:
            self._end(job, JobFailure("configuration", error.message, retryable=True))
            return
        step(self, held, backend, call)

    # ------------------------------------------------------------------------------------------------------------ hand over

    def submit(self, job: Job, backend: Backend, call: BackendCall) -> None:
        """Hand a job over."""
        held = self.store.move(job, JobState.RUNNING) if backend.waits and job.state is JobState.DISPATCHED else job
        began = msgspec.structs.replace(JobRoute.of(job), began=self.store.db.now())
        if backend.repeatable:
            held = msgspec.structs.replace(held, route=began.columns())
        else:  # from here on nobody else may take it that nothing was sent
            held = self.store.change(held, route=began.columns())
        deployment = self.jobs.routes.enter(began.deployment)
        try:
            submitted = backend.submit(call)
        except InnkeeperError as error:
            failure = failure_of(error)
            self.jobs.routes.leave(deployment, failure)
            self._failed(held, backend, failure)
            return
        except BaseException:
            self.jobs.routes.leave(deployment, JobFailure("unknown", ""))
            raise
        self.jobs.routes.leave(deployment)
        if submitted.outputs is not None:
            self._finish(held, backend, call, submitted.outputs, submitted.cost_usd)
        else:
            self._adopt(held, submitted)

    def _adopt(self, job: Job, submitted: Submitted) -> None:
        """Write the provider's reference: whatever has become of the job here meanwhile, it is not lost."""
        now = self.store.db.now()
        due = {"due_at": later(now, POLL_SECONDS[0]), "route": dict(job.route or EMPTY)}
        known = {"reference": dict(submitted.reference or EMPTY), **due, **_FREE}
        try:
            self._surely(lambda: self.store.move(job, JobState.RUNNING, details={"reference": _id(submitted)}, **known))
        except JobChangedError:
            self._surely(lambda: self._adopt_late(job, submitted, known))

    def _adopt_late(self, job: Job, submitted: Submitted, known: Mapping[str, Any]) -> None:
        fresh = self.store.get(job.id)
        if fresh.reference is not None and fresh.reference.get("id") == _id(submitted):
            return  # a webhook was quicker than the answer
        lost = fresh.state is JobState.FAILED and fresh.error_kind == "outcome_unknown"
        same = fresh.reference is None and (fresh.backend, fresh.model_key) == (job.backend, job.model_key)
        if same and (fresh.state in {JobState.DISPATCHED, JobState.RUNNING} or lost):
            cleared = {"error_kind": None, "error_message": None, "retryable": None, "finished_at": None}
            self.store.move(
                fresh, JobState.RUNNING, "late_reference", {"reference": _id(submitted)}, **known, **cleared
            )
        elif same and fresh.ended:
            fields = {"reference": known["reference"], "cancel_due": self.store.db.now()}
            self.store.change(fresh, **fields)
            self.store.tell(job.id, "late_reference", fresh.state, {"reference": _id(submitted)})
        else:
            self.store.tell(job.id, "second_at_provider", fresh.state, {"reference": _id(submitted)})

    # ----------------------------------------------------------------------------------------------------------------- look

    def poll(self, job: Job, backend: Backend, call: BackendCall) -> None:
        """Poll a job that was handed over."""
        try:
            progress = backend.status(call, job.reference or EMPTY)
        except InnkeeperError as error:
            failure = failure_of(error)
            if not failure.retryable and not backend.repeatable:  # it has the job all the same: a retry goes on here
                self._end(job, failure)
                return
            progress = Progress("running") if failure.retryable else Progress("failed", failure=failure)
        if progress.stage == "done":
            self._finish(job, backend, call, progress.outputs, progress.cost_usd)
        elif progress.stage in {"failed", "lost"}:
            gone = JobFailure("not_found", "the provider does not know the job any more", retryable=True)
            self._failed(job, backend, progress.failure or gone)
        elif progress.stage == "cancelled":
            self.store.move(job, JobState.CANCELLED, "cancelled_by_provider")
        else:
            self._wait(job, progress)

    def _wait(self, job: Job, progress: Progress) -> None:
        now = self.store.db.now()
        least, most = POLL_SECONDS
        age = _seconds(job.created_at, now) / 10
        fields = {} if progress.share is None else {"progress": progress.share}
        waiting = self.store.change(job, due_at=later(now, min(most, max(least, age))), **fields, **_FREE)
        if progress.share is not None and progress.share != job.progress:
            self.store.tell(waiting.id, "progress", waiting.state, {"share": progress.share})

    # ----------------------------------------------------------------------------------------------------------------- keep

    def _finish(
        self, job: Job, backend: Backend, call: BackendCall, outputs: tuple[Output, ...], cost: float | None
    ) -> None:
        """Keep results. Where all of them are here already, ``storing`` and ``succeeded`` are written together."""
        if not outputs:
            self._failed(job, backend, JobFailure("bad_answer", "the provider gave no result", retryable=True))
            return
        offered = tuple({k: v for k, v in msgspec.to_builtins(one).items() if k != "data"} for one in outputs)
        known: dict[str, Any] = {
            "outputs": offered,
            "cost_usd": job.cost_estimate if cost is None else cost,
            "progress": 1.0,
            "route": JobRoute.of(job).after(job, "answered", self.store.db.now()).columns(),
        }
        if any(not one.data for one in outputs):
            self.keep(self._surely(lambda: self.store.move(job, JobState.STORING, **known)), backend, call)
            return
        try:
            results = self._stored_all(outputs, 1 if backend.repeatable else MAX_ATTEMPTS)
        except (InnkeeperError, OSError) as error:
            if backend.repeatable:
                self._failed(job, backend, _storage(error))
            else:  # it is paid: asking anew is not for us to say
                self._end(job, msgspec.structs.replace(_storage(error), retryable=True))
            return
        both = (JobStep(JobState.STORING), _succeeded(results))
        self._surely(lambda: self._succeed(job, both, results, known))

    def keep(self, job: Job, backend: Backend, call: BackendCall) -> None:
        """Fetch and keep results that are known."""
        offered = [convert({k: v for k, v in one.items() if k != "tries"}, Output) for one in job.outputs]
        try:
            results = tuple(
                self._stored(msgspec.structs.replace(one, data=backend.fetch(call, one))) for one in offered
            )
        except (InnkeeperError, OSError) as error:
            self._store_later(job, _storage(error))
            return
        self._surely(lambda: self._succeed(job, (_succeeded(results),), results, {}))

    def _stored_all(self, outputs: tuple[Output, ...], tries: int) -> tuple[Stored, ...]:
        """Keep results that are here; a store that refuses is asked again so often. Raises what it raises at last."""
        for number in range(1, tries):
            try:
                return tuple(self._stored(one) for one in outputs)
            except OSError:
                self._sleep(self._first * 2.0 ** (number - 1))
        return tuple(self._stored(one) for one in outputs)

    def _stored(self, output: Output) -> Stored:
        whole_or_refused(output.data, sha256=output.sha256, size=output.size)
        return self.jobs.assets.put(output.data, output.media_type)

    def _succeed(
        self, job: Job, steps: tuple[JobStep, ...], results: tuple[Stored, ...], known: Mapping[str, Any]
    ) -> None:
        stored = tuple(msgspec.to_builtins(one) for one in results)
        usage = _usage(job, self.store.db.now(), known.get("cost_usd", job.cost_usd))
        self.store.pass_through(job, steps, usage, results=stored, **known)

    def _store_later(self, job: Job, failure: JobFailure) -> None:
        tries = max([int(one.get("tries", 0)) for one in job.outputs], default=0) + 1
        if tries >= MAX_ATTEMPTS or not failure.retryable:
            self._end(job, msgspec.structs.replace(failure, retryable=True))
            return
        wait = backoff(job.id, tries, self._first)
        offered = tuple({**one, "tries": tries} for one in job.outputs)
        due = later(self.store.db.now(), wait)
        self.store.move(
            job, JobState.STORING, "store_later", {"kind": failure.kind}, outputs=offered, due_at=due, **_FREE
        )

    # ---------------------------------------------------------------------------------------------------------------- fail

    def _failed(self, job: Job, backend: Backend, failure: JobFailure) -> None:
        """Ask another, ask again later, or end: what may already be with a provider that charges is asked of nobody by itself."""
        route = JobRoute.of(job).after(job, failure.kind, self.store.db.now())
        paid = not backend.repeatable
        if failure.unknown and paid and job.reference is None:
            unknown = JobFailure("outcome_unknown", f"{_UNKNOWN} ({failure.message})", retryable=True)
            self._end(job, unknown, JobRoute.of(job).after(job, unknown.kind, self.store.db.now()))
        elif (failure.kind in _TAKEN and paid and job.reference is not None) or job.attempt >= job.max_attempts:
            self._end(job, failure, route)
        elif may_go_elsewhere(failure) and (job.reference is None or not paid) and self._elsewhere(job, failure, route):
            LOG.debug("%s: goes elsewhere", job.id)
        elif failure.retryable:
            wait = max(backoff(job.id, job.attempt, self._first), min(failure.retry_after or 0.0, LONGEST_WAIT))
            due = later(self.store.db.now(), wait)
            # Whoever was tried may be asked again then.
            anew = route.anew(job).columns()
            details = {"kind": failure.kind, "attempt": job.attempt}
            self._queue(job, "retry_later", details, due_at=due, route=anew)
        else:
            self._end(job, failure, route)

    def _elsewhere(self, job: Job, failure: JobFailure, route: JobRoute) -> bool:
        """Have another deployment asked; whether there is one."""
        try:
            planned = self.jobs.elsewhere(job, msgspec.structs.replace(route, ended=""))
        except TierBlockedError as error:
            self._end(job, JobFailure("safety_block", error.message), route)
            return True
        if planned is not None:
            details = {"kind": failure.kind, "from": route.deployment, "to": planned["route"]["deployment"]}
            self._queue(job, "fallback", details, due_at=self.store.db.now(), **planned)
        return planned is not None

    def _queue(self, job: Job, event: str, details: Mapping[str, Any], **changes: Any) -> None:
        again = {"reference": None, "progress": None, "outputs": (), **_FREE}
        self._surely(lambda: self.store.move(job, JobState.QUEUED, event, details, **again, **changes))

    def recover(self, job: Job, backend: Backend | None) -> None:
        """Go on with a job whose worker has gone away in the middle of it."""
        now = self.store.db.now()
        if job.reference is not None or job.state is JobState.STORING:
            self.store.move(job, job.state, "lease_lost", due_at=now, **_FREE)
            return
        route, free = JobRoute.of(job), backend is not None and backend.repeatable
        sent = route.began or not (job.lease or "").startswith(MARKS)
        if sent and not free:
            unknown = JobFailure("outcome_unknown", _UNKNOWN, retryable=True)
            self._end(job, unknown, route.after(job, unknown.kind, now))
        elif job.attempt < job.max_attempts:
            self.store.move(job, JobState.QUEUED, "lease_lost", due_at=now, **_FREE)
        else:
            self._end(job, JobFailure("worker_lost", "its workers went away each time", retryable=True))

    def tell_provider(self, job: Job) -> None:
        """Tell a provider that a job is no longer wanted, until it has heard it or is asked too often."""
        backend, call = self.jobs.calls.of(job)
        try:
            backend.cancel(call, job.reference or EMPTY)
        except (ProviderError, RequestCancelledError) as error:
            if job.cancel_tries >= MAX_CANCEL_TRIES or not failure_of(error).retryable:
                self.store.change(job, cancel_due=None)
                self.store.tell(job.id, "provider_cancel_failed", job.state, {"kind": failure_of(error).kind})
            return
        self.store.change(job, cancel_due=None)
        self.store.tell(job.id, "provider_cancelled", job.state)

    def _end(self, job: Job, failure: JobFailure, route: JobRoute | None = None) -> None:
        # No database takes NUL and halves of characters as text.
        message = failure.message[:500].replace("\0", "").encode("utf-8", "replace").decode()
        changes: dict[str, Any] = {
            "error_kind": failure.kind,
            "error_message": message,
            "retryable": failure.retryable,
            **({} if route is None else {"route": route.columns()}),
        }
        details = {"kind": failure.kind, "retryable": failure.retryable}
        self._surely(lambda: self.store.move(job, JobState.FAILED, details=details, **changes))

    def _surely(self, write: Callable[[], _T]) -> _T:
        """Write what must not be lost, also where the database is away for a while."""
        until, wait = time.monotonic() + _DATABASE_SECONDS, 0.05
        while True:
            try:
                return write()
            except DatabaseError:
                if time.monotonic() > until:
                    raise
                self._sleep(wait)
                wait = min(wait * 2, 2.0)


def _succeeded(results: tuple[Stored, ...]) -> JobStep:
    return JobStep(JobState.SUCCEEDED, details={"results": [one.name for one in results]})


def _usage(job: Job, now: str, cost: float | None) -> dict[str, Any]:
    """The row of the log of uses: what it cost, by whom it was made, for whom."""
    return {
        "provider": job.backend,
        "model_key": job.model_key,
        "user_id": job.owner,
        "request_id": job.id,
        "request_type": job.mode.modality,
        "cost_usd": cost,
        "cost_source": "catalogue",
        "response_time_ms": _seconds(job.created_at, now) * 1000,
    }


def _storage(error: InnkeeperError | OSError) -> JobFailure:
    if isinstance(error, OSError):
        return JobFailure(
            "storage", f"the result could not be kept: {error.strerror or type(error).__name__}", retryable=True
        )
    if isinstance(error, FormatError):
        return JobFailure("bad_result", error.message, retryable=True)
    if isinstance(error, AddressRefusedError):
        return JobFailure("address_refused", f"{error.message}; {error.hint}")
    return failure_of(error)


def _id(submitted: Submitted) -> Any:
    return (submitted.reference or EMPTY).get("id")


def _seconds(since: str, now: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds() if since else 0.0


_STEPS: Final[Mapping[JobState, Callable[[Steps, Job, Backend, BackendCall], None]]] = {
    JobState.DISPATCHED: Steps.submit,
    JobState.RUNNING: Steps.poll,
    JobState.STORING: Steps.keep,
}
