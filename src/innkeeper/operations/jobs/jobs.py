"""``jobs.*``: jobs are asked for, listed, followed, cancelled and asked for again; their results are read; webhooks come in.

A job is seen by the caller that asked for it alone. What waits for the database does so beside the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypedDict, cast

import msgspec
from msgspec import Meta

from innkeeper.gate.judgement import Judgement
from innkeeper.inference.response.views.view import ServerEvent
from innkeeper.jobs.job import ENDED, JobState
from innkeeper.jobs.limits import DEADLINE_SECONDS, MAX_PRIORITY
from innkeeper.jobs.media import MediaRequest
from innkeeper.library.errors import NotFoundError
from innkeeper.operations.operation import Blob, Operation, listing_limit
from innkeeper.operations.scope import Scope, TaskTerms
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.jobs.job import Job
    from innkeeper.jobs.media_jobs import MediaJobs

Priority = Annotated[int, Meta(ge=-MAX_PRIORITY, le=MAX_PRIORITY)]
"""How a job stands among those of its caller: the highest comes first. Callers take turns whatever theirs say."""

_LOOK: Final = 0.25
_BEAT: Final = 15.0


class SubmitJob(MediaRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A picture or a video that is wanted, and how far its job may go."""

    content_mode: Any = None
    callback_url: str | None = None
    deadline_seconds: float = DEADLINE_SECONDS
    max_cost: float | None = None
    priority: Priority = 0


class JobNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A job by its number."""

    job_id: str


class RetryJob(JobNumber, frozen=True, kw_only=True):
    """A job that is asked for again. ``anew``: also where its provider still has it; then it is paid again."""

    anew: bool = False


class PrioritizeJob(JobNumber, frozen=True, kw_only=True):
    """Another priority for a job."""

    priority: Priority


class ListJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to list: so many at most, or those in one state."""

    limit: int = 50
    state: Annotated[str, Meta(extra_json_schema={"enum": ["", *JobState]})] = ""


class JobResult(JobNumber, frozen=True, kw_only=True):
    """A result of a job by its index."""

    index: int


class JobWebhook(JobNumber, frozen=True, kw_only=True):
    """What a provider sends of a job: its bytes as they came, with the headers that sign them."""

    backend: str
    content: bytes = b""
    headers: dict[str, str] = {}


class JobFacts(TypedDict, total=False):
    """A job as its owner sees it."""

    id: str
    object: Literal["job"]
    mode: str
    backend: str
    model: str
    state: str
    progress: float | None
    tier: str
    priority: int
    seed: int | None
    notes: list[dict[str, Any]]
    error: dict[str, Any] | None
    results: list[dict[str, Any]]
    cost_estimate: float | None
    cost_usd: float | None


class JobList(TypedDict):
    """Jobs, the newest first."""

    object: Literal["list"]
    data: list[JobFacts]


class WebhookOutcome(TypedDict):
    """What came of a webhook: ``taken``, ``repeated`` or ``ignored``."""

    outcome: str


_TERMS: Final = ("content_mode", "callback_url", "deadline_seconds", "max_cost", "priority")


async def submit(request: SubmitJob, scope: Scope) -> JobFacts:
    """Have a picture or a video made."""
    fields = {name: getattr(request, name) for name in SubmitJob.__struct_fields__}
    terms = {name: fields.pop(name) for name in _TERMS}
    return _facts(await submit_media(MediaRequest(**fields), scope, **terms))


async def submit_media(
    media: MediaRequest, scope: Scope, *, content_mode: Any, max_cost: float | None, **terms: Any
) -> Job:
    """A job for whoever calls, once it has ended or the caller waits no longer. ``terms`` are further fields of `Terms`.

    It may cost ``max_cost``, and no more than its caller may still spend.

    Raises what `MediaJobs.submit` raises.
    """
    jobs = await scope.jobs()
    from innkeeper.jobs.media_jobs import Terms

    bounds = scope.terms(TaskTerms(max_cost=max_cost))
    job_terms = Terms(
        owner=scope.owner.user,
        tier=content_mode,
        ceilings=scope.ceilings,
        idempotency_key=scope.idempotency_key,
        max_cost=bounds["money"],
        routes=bounds["routes"],
        **terms,
    )

    async def submitted() -> Job:
        job, new = await asyncio.to_thread(jobs.accept, media, job_terms)
        scope.charge("job", model=job.model_key, provider=job.backend, cost=job.cost_estimate if new else None)
        return job

    # A client that goes away meanwhile does not keep the job from being charged.
    return await finished(jobs, await asyncio.shield(submitted()), scope.wait_seconds)


async def finished(jobs: MediaJobs, job: Job, seconds: float) -> Job:
    """The job once it has ended, or as it is when the time is over."""
    until = monotonic() + seconds
    while not job.ended and monotonic() < until:
        await asyncio.sleep(_LOOK / 2)
        job = await asyncio.to_thread(jobs.get, job.id)
    return job


async def list_jobs(request: ListJobs, scope: Scope) -> JobList:
    """List your jobs."""
    state = request.state or None
    if state is not None and state not in set(JobState):
        raise UsageError(f"{state!r:.40} is no state", where=Where(path="state"), hint=f"states: {', '.join(JobState)}")
    store = (await scope.jobs()).store
    limit = listing_limit(request.limit)
    rows = await asyncio.to_thread(store.list, owner=scope.owner.user, state=state, limit=limit)
    return {"object": "list", "data": [_facts(job) for job in rows]}


async def show(request: JobNumber, scope: Scope) -> JobFacts:
    """Show a job."""
    return _facts(await _own(request, scope))


async def cancel(request: JobNumber, scope: Scope) -> JobFacts:
    """Cancel a job."""
    jobs = await scope.jobs()
    return _facts(await asyncio.to_thread(jobs.cancel, request.job_id, owner=scope.owner.user))


async def retry(request: RetryJob, scope: Scope) -> JobFacts:
    """Go on with a job that has failed, or ask for it again."""
    jobs = await scope.jobs()
    job = await asyncio.to_thread(jobs.retry, request.job_id, owner=scope.owner.user, anew=request.anew)
    return _facts(job)


async def prioritize(request: PrioritizeJob, scope: Scope) -> JobFacts:
    """Give a job another priority among your own."""
    jobs = await scope.jobs()
    prioritized = await asyncio.to_thread(jobs.prioritize, request.job_id, request.priority, owner=scope.owner.user)
    return _facts(prioritized)


async def result(request: JobResult, scope: Scope) -> Blob:
    """Give a result of a job."""
    job = await _own(request, scope)
    if not 0 <= request.index < len(job.results):
        raise NotFoundError(f"the job has {count_of(len(job.results), 'result')}")
    stored = job.results[request.index]
    data = await asyncio.to_thread((await scope.jobs()).assets.get, stored.name)
    return Blob(data, stored.media_type, stored.sha256)


async def receive(request: JobWebhook, scope: Scope) -> WebhookOutcome:
    """Take what a provider tells of a job, signed."""
    jobs = await scope.jobs()
    outcome = await asyncio.to_thread(jobs.receive, request.backend, request.job_id, request.headers, request.content)
    return {"outcome": outcome}


async def follow(request: JobNumber, scope: Scope) -> AsyncGenerator[ServerEvent | None]:
    """Follow what happens to a job."""
    return _events(await scope.jobs(), await _own(request, scope), scope.last_event)


async def _events(jobs: MediaJobs, job: Job, after: int) -> AsyncGenerator[ServerEvent | None]:
    """The events of a job as they come, until it has ended; None now and then, so that the connection is kept."""
    sent_at = monotonic()
    while True:
        job = await asyncio.to_thread(jobs.get, job.id)
        events = await asyncio.to_thread(jobs.events, job, after)
        for event in events:
            after, sent_at = event.id, monotonic()
            yield ServerEvent({**msgspec.to_builtins(event), "progress": job.progress}, event.event, event.id)
        if job.ended and not events:
            yield ServerEvent(job.to_dict(), "job")
            return
        if monotonic() - sent_at > _BEAT:
            sent_at = monotonic()
            yield None
        await asyncio.sleep(_LOOK if not events else 0)


async def _own(request: JobNumber, scope: Scope) -> Job:
    return await asyncio.to_thread((await scope.jobs()).get, request.job_id, owner=scope.owner.user)


def _facts(job: Job) -> JobFacts:
    return cast("JobFacts", job.to_dict())


def has_ended(job: Mapping[str, Any]) -> bool:
    """Whether nothing more happens to a job by itself."""
    return job["state"] in ENDED


SUBMIT: Final = Operation(
    "jobs.submit",
    submit,
    examples=({"prompt": "a red barn at dawn", "width": 64, "height": 64},),
    judged=Judgement.TASK,
)
LIST: Final = Operation("jobs.list", list_jobs, judged=Judgement.STORED)
SHOW: Final = Operation("jobs.show", show, judged=Judgement.STORED)
CANCEL: Final = Operation("jobs.cancel", cancel, judged=Judgement.STORED)
RETRY: Final = Operation("jobs.retry", retry, judged=Judgement.TASK)
PRIORITIZE: Final = Operation("jobs.prioritize", prioritize, judged=Judgement.STORED)
RESULT: Final = Operation("jobs.result", result, judged=Judgement.STORED)
RECEIVE: Final = Operation("jobs.receive", receive, judged=Judgement.NONE)
FOLLOW: Final = Operation("jobs.follow", follow, judged=Judgement.STORED)
