"""Scope: who asks for an operation, and with what it is carried out. A service makes one of a key, a test makes one by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from innkeeper.gate.tier import Ceilings
    from innkeeper.inference.routing.models import Models
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.library.db.owner import Owner
    from innkeeper.operations.tasks.execution import TextTasks
    from innkeeper.operations.workers import WorkerRegistry


class TaskTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of every request that may ask a model.

    ``strict``: a makeshift answer is an error. ``max_cost``: US dollars that the call may cost.
    """

    strict: bool = False
    max_cost: Annotated[float, Meta(ge=0)] | None = None


class Scope(Protocol):
    """What an operation may know of its caller, and what it works with."""

    @property
    def owner(self) -> Owner:
        """Who owns what the call stores, and whose rows it sees."""

    @property
    def ceilings(self) -> Ceilings:
        """The limits on the tier that the caller may ask for."""

    @property
    def number(self) -> str:
        """The number of the request; empty where it has none."""

    @property
    def idempotency_key(self) -> str | None:
        """The caller's own word for the request: one that comes again with it has the result of the first."""

    @property
    def wait_seconds(self) -> float:
        """How long the caller waits for what is done behind the request."""

    @property
    def last_event(self) -> int:
        """The number of the last event of a stream that the caller has; 0: none."""

    @property
    def caller(self) -> str:
        """By whom states of profiles are kept."""

    def check_admin(self, field: str) -> None:
        """Raise `ScopeError` where the caller may not set a field that is an administrator's."""

    def profile_models(self, profile: str) -> Models:
        """The models that answer as a profile. Raises `ScopeError`, `UnavailableError`."""

    def again(self, key: str) -> Scope:
        """The scope of a further request, which this one asks for, with an idempotency key of its own."""

    async def tasks(self) -> TextTasks:
        """The text tasks, with the library and the models behind them. Raises `UnavailableError`."""

    async def jobs(self) -> MediaJobs:
        """The jobs that make pictures and videos. Raises `UnavailableError`."""

    async def workers(self) -> WorkerRegistry:
        """The workers of the library. Raises `UnavailableError`."""

    def terms(self, request: TaskTerms) -> dict[str, Any]:
        """The fields of a `TextTask` that follow from who calls, and from the terms of the request."""

    def charge(self, operation: str, *, model: str, provider: str, cost: float | None) -> None:
        """Charge work that is not an answer of a model, as a picture is, in US dollars."""
