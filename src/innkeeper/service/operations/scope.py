"""CallScope: who asks for an operation over HTTP, and what carries it out.

Who a body says it is counts for nothing: the owner is the key that calls. A tier is only asked for; what a key may have is the
operator's word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.gate.tier import Ceilings
from innkeeper.library.db.owner import Owner
from innkeeper.operations.scope import TaskTerms
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UnavailableError, Where
from innkeeper.service.errors import ScopeError

if TYPE_CHECKING:
    from innkeeper.inference.routing.models import Models
    from innkeeper.jobs.media_jobs import MediaJobs
    from innkeeper.operations.tasks.execution import TextTasks
    from innkeeper.operations.workers import WorkerRegistry
    from innkeeper.service.guard.work import Ticket


class Resources(NamedTuple):
    """What operations work with, each opened where it is first needed.

    ``jobs`` and ``workers`` may wait for the database. ``models`` are what else answers, profiles among it.
    """

    tasks: Callable[[], Awaitable[TextTasks]] | None = None
    jobs: Callable[[], MediaJobs] | None = None
    workers: Callable[[], WorkerRegistry] | None = None
    models: Models | None = None


class CallScope(NamedTuple):
    """The `Scope` of one call."""

    ticket: Ticket
    resources: Resources
    headers: Mapping[str, str] = EMPTY

    @property
    def owner(self) -> Owner:
        """Who owns what the call stores, and whose rows it sees."""
        return Owner(self.ticket.owner, self.ticket.grant.tenant)

    @property
    def ceilings(self) -> Ceilings:
        """The limits on the tier: what the operator grants the key, else the general tier."""
        return self.ticket.grant.ceilings

    @property
    def number(self) -> str:
        """The number of the request; empty where it has none."""
        return self.ticket.record.number

    @property
    def idempotency_key(self) -> str | None:
        """The header ``Idempotency-Key``."""
        return self.headers.get("idempotency-key") or None

    @property
    def wait_seconds(self) -> float:
        """How long the caller waits: ``Prefer: wait=10``, as Replicate has it (RFC 7240)."""
        for part in self.headers.get("prefer", "").split(","):
            name, _, value = part.strip().partition("=")
            if name == "wait":
                try:
                    return min(LONGEST_WAIT, max(0.0, float(value or LONGEST_WAIT)))
                except ValueError:
                    return 0.0
        return 0.0

    @property
    def last_event(self) -> int:
        """The header ``Last-Event-ID``; what is no number counts for nothing."""
        text = self.headers.get("last-event-id", "")
        return int(text) if text.isdecimal() and len(text) <= _DIGITS else 0

    @property
    def caller(self) -> str:
        """By whom states of profiles are kept."""
        return self.ticket.caller

    def check_admin(self, field: str) -> None:
        """Raise `ScopeError` where the key may not set a field that is an administrator's."""
        if not self.ticket.grant.is_admin:
            raise ScopeError(f"this key may not set {field}", scope="admin", where=Where(path=field))

    def profile_models(self, profile: str) -> Models:
        """The models that answer as a profile. Raises `ScopeError`, `UnavailableError`."""
        self.ticket.grant.check("profile", profile)
        if self.resources.models is None:
            raise UnavailableError("profiles answer in a service", hint="innkeeper serve --profile FOLDER")
        return self.resources.models

    def again(self, key: str) -> CallScope:
        """The scope of a further request, which this one asks for, with an idempotency key of its own."""
        return self._replace(headers={"idempotency-key": key})

    async def tasks(self) -> TextTasks:
        """The text tasks. Raises `UnavailableError` where there are none."""
        if self.resources.tasks is None:
            raise UnavailableError("nothing here carries out tasks")
        return await self.resources.tasks()

    async def jobs(self) -> MediaJobs:
        """The jobs that make pictures and videos. Raises `UnavailableError` where there are none."""
        if self.resources.jobs is None:
            raise UnavailableError("nothing here makes pictures")
        return await asyncio.to_thread(self.resources.jobs)

    async def workers(self) -> WorkerRegistry:
        """The workers of the library. Raises `UnavailableError` where there are none."""
        if self.resources.workers is None:
            raise UnavailableError("nothing here knows of workers")
        return await asyncio.to_thread(self.resources.workers)

    def terms(self, request: TaskTerms) -> dict[str, Any]:
        """The fields of a `TextTask` that follow from who calls, and from the terms of the request."""
        bounds = (self.ticket.money, request.max_cost)
        money = min((bound for bound in bounds if bound is not None), default=None)
        return {"routes": self.ticket.grant.patterns("route"), "money": money, "strict": request.strict}

    def charge(self, operation: str, *, model: str, provider: str, cost: float | None) -> None:
        """Charge work that is not an answer of a model, as a picture is, in US dollars."""
        self.ticket.charge_work(operation, model=model, provider=provider, cost=cost)


_DIGITS: Final = 18
"""Digits of a number that a database can hold."""

LONGEST_WAIT: Final = 60.0
"""Seconds that a call waits for what is done behind it, at most."""
