"""``/v1/jobs``: jobs are asked for, looked at, followed, cancelled and asked for again; their results are read; webhooks come in.

A job is seen by the key that asked for it alone. Everything that waits for the database does so beside the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.inference.response.views.view import ServerEvent
from innkeeper.prompt.errors import FormatError, UsageError
from innkeeper.prompt.once import convert
from innkeeper.service.answers import EventStream, json_body, json_response, ticket_of, with_errors
from innkeeper.service.cancelling import Stop
from innkeeper.service.guard.guard import lower_headers
from innkeeper.service.jobs.door import JobsDoor

if TYPE_CHECKING:
    from innkeeper.jobs.job import Job
    from innkeeper.jobs.media_jobs import MediaJobs


_LONGEST: Final = 60.0
_LOOK: Final = 0.25
_BEAT: Final = 15.0
_TERMS: Final = ("content_mode", "callback_url", "deadline_seconds", "max_cost")
_MOST: Final = 200


def job_routes(door: JobsDoor) -> list[BaseRoute]:
    """The routes."""
    pages = _Pages(door)
    one = "/v1/jobs/{job_id}"
    return [
        Route("/v1/jobs", with_errors(pages.create), methods=["POST"]),
        Route("/v1/jobs", with_errors(pages.all), methods=["GET"]),
        Route("/v1/jobs/webhooks/{backend}/{job_id}", with_errors(pages.webhook), methods=["POST"]),
        Route(one, with_errors(pages.show), methods=["GET"]),
        Route(f"{one}/cancel", with_errors(pages.cancel), methods=["POST"]),
        Route(f"{one}/retry", with_errors(pages.retry), methods=["POST"]),
        Route(f"{one}/events", with_errors(pages.events), methods=["GET"]),
        Route(f"{one}/results/{{index:int}}", with_errors(pages.result), methods=["GET"]),
    ]


async def submitted(door: JobsDoor, web: WebRequest, wanted: Mapping[str, Any], terms: Mapping[str, Any]) -> Job:
    """A job for whoever calls: ``wanted`` are the fields of a `MediaRequest`, ``terms`` what the body says of the rest.

    Raises `UsageError`, `FormatError` and whatever `MediaJobs.submit` raises.
    """
    ticket, key = ticket_of(web), web.headers.get("idempotency-key")

    def submit() -> Job:
        from innkeeper.jobs.limits import DEADLINE_SECONDS
        from innkeeper.jobs.media import MediaRequest
        from innkeeper.jobs.media_jobs import Terms

        jobs = door.jobs()
        try:
            request = convert(dict(wanted), MediaRequest)
            asked = Terms(
                owner=ticket.owner,
                tier=terms.get("content_mode"),
                ceilings=ticket.grant.ceilings,
                idempotency_key=key,
                callback_url=convert(terms.get("callback_url"), str | None),
                deadline_seconds=convert(terms.get("deadline_seconds", DEADLINE_SECONDS), float),
                max_cost=convert(terms.get("max_cost"), float | None),
            )
        except msgspec.ValidationError as error:
            raise UsageError(f"the request does not fit: {error}") from error
        return jobs.submit(request, asked)

    job = await asyncio.to_thread(submit)
    ticket.charge_work("job", model=job.model_key, provider=job.backend, cost=job.cost_estimate)
    return await waited(door.jobs(), job, seconds_to_wait(web.headers))


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """How long a caller wants to wait for the end of a job: ``Prefer: wait=10``, as Replicate has it (RFC 7240)."""
    for part in headers.get("prefer", "").split(","):
        name, _, value = part.strip().partition("=")
        if name == "wait":
            try:
                return min(_LONGEST, max(0.0, float(value or _LONGEST)))
            except ValueError:
                return 0.0
    return 0.0


async def waited(jobs: MediaJobs, job: Job, seconds: float) -> Job:
    """The job once it has ended, or as it is when the time is over."""
    until = monotonic() + seconds
    while not job.ended and monotonic() < until:
        await asyncio.sleep(_LOOK / 2)
        job = await asyncio.to_thread(jobs.get, job.id)
    return job


def _fresh(door: JobsDoor, job_id: str, owner: str | None = None) -> Job:
    return door.jobs().get(job_id, owner=owner)


class _Pages:
    def __init__(self, door: JobsDoor) -> None:
        self._door = door

    async def create(self, web: WebRequest) -> Response:
        body = await json_body(web)
        terms = {name: body[name] for name in _TERMS if name in body}
        wanted = {name: value for name, value in body.items() if name not in _TERMS}
        job = await submitted(self._door, web, wanted, terms)
        return json_response(job.to_dict(), 200 if job.ended else 202)

    async def all(self, web: WebRequest) -> Response:
        owner, query = ticket_of(web).owner, web.query_params
        try:
            limit = min(_MOST, max(1, int(query.get("limit", "50"))))
        except ValueError:
            raise UsageError("limit is a number") from None
        state = query.get("state")

        def rows() -> list[dict[str, Any]]:
            from innkeeper.jobs.job import JobState

            if state is not None and state not in set(JobState):
                raise UsageError(f"{state!r:.40} is no state", hint=f"states: {', '.join(JobState)}")
            return [job.to_dict() for job in self._door.jobs().store.list(owner=owner, state=state, limit=limit)]

        return json_response({"object": "list", "data": await asyncio.to_thread(rows)})

    async def show(self, web: WebRequest) -> Response:
        return json_response((await self._mine(web)).to_dict())

    async def cancel(self, web: WebRequest) -> Response:
        return await self._changed(web, lambda jobs, name, owner: jobs.cancel(name, owner=owner))

    async def retry(self, web: WebRequest) -> Response:
        return await self._changed(web, lambda jobs, name, owner: jobs.retry(name, owner=owner))

    async def result(self, web: WebRequest) -> Response:
        job, index = await self._mine(web), web.path_params["index"]
        if index >= len(job.results):
            from innkeeper.library.errors import NotFoundError

            raise NotFoundError(f"the job has {len(job.results)} results")
        stored = job.results[index]
        data = await asyncio.to_thread(lambda: self._door.jobs().assets.get(stored.name))
        return Response(data, media_type=stored.media_type, headers={"etag": f'"{stored.sha256}"'})

    async def events(self, web: WebRequest) -> Response:
        job = await self._mine(web)
        said = web.headers.get("last-event-id", "0")
        after = int(said) if said.isdecimal() and len(said) < 19 else 0  # noqa: PLR2004 - digits of 64 bits
        return EventStream(self._following(job, after), {}, Stop(), _nothing)

    async def webhook(self, web: WebRequest) -> Response:
        body, headers = await web.body(), lower_headers(web.scope)
        backend, job_id = web.path_params["backend"], web.path_params["job_id"]
        outcome = await asyncio.to_thread(lambda: self._door.jobs().receive(backend, job_id, headers, body))
        return json_response({"outcome": outcome})

    async def _mine(self, web: WebRequest) -> Job:
        owner, job_id = ticket_of(web).owner, web.path_params["job_id"]
        return await asyncio.to_thread(_fresh, self._door, job_id, owner)

    async def _changed(self, web: WebRequest, change: Callable[[MediaJobs, str, str], Job]) -> Response:
        owner, job_id = ticket_of(web).owner, web.path_params["job_id"]
        return json_response((await asyncio.to_thread(lambda: change(self._door.jobs(), job_id, owner))).to_dict())

    async def _following(self, job: Job, after: int) -> AsyncGenerator[bytes]:
        """The events of a job as they come, until it has ended; a comment now and then keeps the connection."""
        said = monotonic()
        while True:
            fresh = await asyncio.to_thread(_fresh, self._door, job.id)
            events = await asyncio.to_thread(self._door.jobs().events, fresh, after)
            for event in events:
                after, said = event.id, monotonic()
                data = {**msgspec.to_builtins(event), "progress": fresh.progress}
                yield ServerEvent(data, event.event, event.id).encode()
            if fresh.ended and not events:
                yield ServerEvent(fresh.to_dict(), "job").encode()
                return
            if monotonic() - said > _BEAT:
                said = monotonic()
                yield b": still here\n\n"
            await asyncio.sleep(_LOOK if not events else 0)


async def _nothing() -> None:
    """A stream of events leaves nothing to be done."""


def number(value: Any, name: str) -> float | None:
    """A field that is a number, or nothing. Raises `FormatError`."""
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FormatError(f"{name} is a number, not {type(value).__name__}") from None
