"""Job: one picture or video that is to be made, and the states that it goes through.

::

    created -> queued -> dispatched -> running -> storing -> succeeded
                  ^          |            |          |
                  +----------+------------+----------+--> failed (retryable or not) | cancelled | expired

``created`` and ``queued`` are written together with the row; ``dispatched`` is a job that somebody is about to hand to a
provider (its route has ``began`` from the moment before it is sent, where that may cost), ``running`` one that the provider has,
``storing`` one whose results are known and not all kept yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.inference.routing.trace import RouteStep, RouteTrace
from innkeeper.library.errors import ConflictError, NotFoundError
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, thaw, to_json
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.typed.once import convert


class Mode(StrEnum):
    """What is made of what: a picture (``i``) or a video (``v``) from a text (``t``) or from a picture (``i``)."""

    T2I = "t2i"
    I2I = "i2i"
    T2V = "t2v"
    I2V = "i2v"

    @property
    def modality(self) -> str:
        """``image`` or ``video``."""
        return "image" if self.value.endswith("i") else "video"

    @property
    def takes_picture(self) -> bool:
        """Whether it starts from a picture."""
        return self.value.startswith("i")


class JobState(StrEnum):
    """Where a job stands."""

    CREATED = "created"
    QUEUED = "queued"
    DISPATCHED = "dispatched"
    RUNNING = "running"
    STORING = "storing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


ENDED: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})
"""States in which nothing more happens by itself."""

SCENE_KEY: Final = "scene:"
"""What the idempotency key of a scene's job begins with; the scene's identifier follows."""

_OUT: Final = frozenset({JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})

NEXT: Final[Mapping[JobState, frozenset[JobState]]] = MappingProxyType(
    {
        JobState.CREATED: frozenset({JobState.QUEUED, *_OUT}),
        JobState.QUEUED: frozenset({JobState.DISPATCHED, *_OUT}),
        JobState.DISPATCHED: frozenset({JobState.QUEUED, JobState.RUNNING, JobState.STORING, *_OUT}),
        JobState.RUNNING: frozenset({JobState.QUEUED, JobState.RUNNING, JobState.STORING, *_OUT}),
        JobState.STORING: frozenset({JobState.STORING, JobState.SUCCEEDED, *_OUT}),
        JobState.SUCCEEDED: frozenset(),
        # A retry, as far back as it must; and a provider that turns out to have had what we had lost sight of.
        JobState.FAILED: frozenset({JobState.QUEUED, JobState.RUNNING, JobState.STORING}),
        JobState.CANCELLED: frozenset({JobState.QUEUED}),
        JobState.EXPIRED: frozenset({JobState.QUEUED}),
    }
)
"""Which states may follow one."""


class JobMissingError(NotFoundError):
    """No job of this identifier, or none of this owner's."""


class JobChangedError(ConflictError):
    """Somebody else has changed the job since it was read."""


class JobStateError(UsageError):
    """What was asked is not done with a job in this state."""

    http_status = 409


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """One result as a provider offers it: an address, or the bytes themselves.

    ``sha256`` and ``size`` are what the provider says of it, where it says something.
    """

    url: str = ""
    data: bytes = b""
    media_type: str = ""
    sha256: str = ""
    size: int | None = None


class Stored(msgspec.Struct, frozen=True, omit_defaults=True):
    """One result as it is kept: ``name`` is its place in the store of assets, made of the hash of its bytes."""

    name: str
    sha256: str
    media_type: str
    size: int


class JobEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that happened to a job. ``id`` grows over all jobs."""

    id: int
    at: str
    event: str
    state: str = ""
    details: FrozenDict = EMPTY


class JobRoute(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job's way as its row keeps it: where its next attempt goes, which deployments were tried, and the attempts so far.

    ``pinned``: its request names the model. ``money`` is what it may cost at most, in US dollars; ``routes`` are patterns of
    the deployments that may be asked, None for all. ``hosts`` are those beside the open internet that may be asked for it, as
    whoever accepted it allows; None: as whoever carries it out does. ``began`` is when the attempt under way was handed over,
    ``tried`` what is not asked again until all were; ``past`` are the references of attempts that are over, about which nothing
    more is taken.
    """

    deployment: str = ""
    policy: str = ""
    pinned: bool = False
    money: float | None = None
    routes: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    tier: Tier = Tier.SFW
    tried: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    steps: tuple[RouteStep, ...] = ()
    began: str = ""
    ended: str = ""

    @classmethod
    def of(cls, job: Job) -> JobRoute:
        """The route of a job."""
        return convert(thaw(job.route or EMPTY), cls)

    def after(self, job: Job, outcome: str, now: str) -> JobRoute:
        """With the attempt that is over: ``outcome`` is ``answered``, or the kind of a failure."""
        began, source = self.began or job.updated_at, _SOURCES.get(outcome, "")
        step = RouteStep(
            number=(self.steps[-1].number if self.steps else 0) + 1,
            deployment=self.deployment,
            provider=job.backend,
            model=job.model_key,
            worker=self.deployment.removeprefix("worker:").partition("/")[0] if job.backend == "worker" else "",
            tier=Tier.of(job.tier),
            outcome=outcome,
            body_sha256=hashlib.sha256(to_json(job.body)).hexdigest(),
            estimate=job.cost_estimate,
            cost=job.cost_estimate if source else 0.0,
            cost_source=source if job.cost_estimate else "",
            began_ms=_milliseconds(job.created_at, began),
            ms=_milliseconds(began, now),
        )
        tried = (*self.tried, self.deployment)
        return msgspec.structs.replace(
            self, steps=(*self.steps, step)[-_STEPS:], tried=tried, past=self._past(job), began="", ended=outcome
        )

    def stopped(self, job: Job, outcome: str, now: str) -> JobRoute:
        """For a job that ends by itself: with the attempt under way, if there is one that was sent."""
        under_way = job.state is not JobState.STORING and (self.began or job.reference or job.state is JobState.RUNNING)
        return self.after(job, outcome, now) if under_way else msgspec.structs.replace(self, ended=outcome)

    def anew(self, job: Job) -> JobRoute:
        """For a job that is asked for once more: everybody may be asked."""
        return msgspec.structs.replace(self, tried=(), past=self._past(job), began="", ended="")

    def resumed(self, job: Job) -> JobRoute:
        """For a job whose provider turns out to have it: the attempt goes on, and is not over."""
        open_ended = bool(self.steps) and self.steps[-1].outcome in {"answered", "outcome_unknown"}
        steps = self.steps[:-1] if open_ended else self.steps
        past = tuple(one for one in self.past if one != (job.reference or EMPTY).get("id"))
        return msgspec.structs.replace(self, steps=steps, past=past, began=job.created_at, ended="")

    def _past(self, job: Job) -> tuple[str, ...]:
        known = str((job.reference or EMPTY).get("id") or "")
        return self.past if not known or known in self.past else (*self.past, known)[-_STEPS:]

    def columns(self) -> FrozenDict:
        """As a row keeps it."""
        columns: FrozenDict = freeze(msgspec.to_builtins(self))
        return columns

    def trace(self, mode: Mode) -> RouteTrace:
        """What is told of it."""
        return RouteTrace(
            policy=self.policy,
            modality=mode.modality,
            task=mode.value,
            tier=self.tier,
            steps=self.steps,
            ended=self.ended,
            spent=sum(step.cost or 0.0 for step in self.steps),
        )


_SOURCES: Final = {"answered": "catalogue", **dict.fromkeys(("outcome_unknown", "cancelled", "expired"), "estimate")}
"""Where the cost of an attempt comes from that may have been carried out. Of others it is nothing."""

_STEPS: Final = 32
"""Attempts that a route keeps: the last."""


def _milliseconds(since: str, until: str) -> float:
    passed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return round(passed.total_seconds() * 1000, 3)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as its row has it. Moments are texts in UTC; ``version`` names what was seen, for whoever changes it."""

    id: str
    tenant: str = ""
    owner: str = ""
    idempotency_key: str | None = None
    request_sha256: str = ""
    mode: Mode
    backend: str
    model_key: str
    request: FrozenDict = EMPTY
    body: FrozenDict = EMPTY
    notes: tuple[FrozenDict, ...] = ()
    tier: str = "sfw"
    state: JobState = JobState.QUEUED
    error_kind: str | None = None
    error_message: str | None = None
    retryable: bool | None = None
    attempt: int = 0
    max_attempts: int = 5
    due_at: str = ""
    deadline: str = ""
    lease: str | None = None
    lease_until: str | None = None
    reference: FrozenDict | None = None
    outputs: tuple[FrozenDict, ...] = ()
    results: tuple[Stored, ...] = ()
    progress: float | None = None
    cost_estimate: float | None = None
    cost_usd: float | None = None
    callback_url: str | None = None
    cancel_due: str | None = None
    cancel_tries: int = 0
    version: int = 1
    created_at: str = ""
    updated_at: str = ""
    finished_at: str | None = None
    route: FrozenDict | None = None
    priority: int = 0

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.state in ENDED

    def to_dict(self) -> dict[str, Any]:
        """What its owner is told of it: no address of a provider, no lease."""
        error = None
        if self.error_kind is not None:
            error = {"kind": self.error_kind, "message": self.error_message, "retryable": bool(self.retryable)}
        return {
            "id": self.id,
            "object": "job",
            "mode": self.mode.value,
            "backend": self.backend,
            "model": self.model_key,
            "state": self.state.value,
            "progress": self.progress,
            "tier": self.tier,
            "priority": self.priority,
            "seed": self.request.get("seed"),
            "request": dict(self.request),
            "notes": [dict(note) for note in self.notes],
            "attempt": self.attempt,
            "max_attempts": self.max_attempts,
            "route_trace": JobRoute.of(self).trace(self.mode).to_dict(),
            "error": error,
            "results": [
                {"index": index, "url": f"/v1/jobs/{self.id}/results/{index}", **msgspec.to_builtins(one)}
                for index, one in enumerate(self.results)
            ],
            "cost_estimate": self.cost_estimate,
            "cost_usd": self.cost_usd,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "finished_at": self.finished_at,
            "deadline": self.deadline,
        }
