"""MediaJobs: pictures and videos to be made: accepted, looked at, cancelled, asked for again, and told of by providers.

A request is judged by the library's gate before anything of it is kept, with all its texts; its model is one of the catalogue, or
the tiny one in this process where there is none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.inference.errors import BudgetError, PreflightError
from innkeeper.inference.routing.router import NoRouteError
from innkeeper.jobs.assets import ASSET, AssetStore, open_assets
from innkeeper.jobs.backend import Backend, WebhookRefusedError
from innkeeper.jobs.backends.registry import backends
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.calls import JobCalls
from innkeeper.jobs.job import Job, JobChangedError, JobEvent, JobRoute, JobState, JobStateError
from innkeeper.jobs.limits import DEADLINE_SECONDS
from innkeeper.jobs.media import MediaRequest, MediaRequestError
from innkeeper.jobs.order import check_priority
from innkeeper.jobs.planning import MediaPlan, Planner
from innkeeper.jobs.routing import Bounds, MediaRoutes
from innkeeper.jobs.signatures import WEBHOOK_SECRET
from innkeeper.jobs.store import JobStore
from innkeeper.library.db.tables.columns import later
from innkeeper.prompt.data import FrozenDict, thaw
from innkeeper.prompt.errors import ConfigError, UnknownNameError
from innkeeper.prompt.machine import Secret
from innkeeper.prompt.typed.once import convert

if TYPE_CHECKING:
    from innkeeper.library.library import Library


_CHANGED: Final = 8


class Terms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """For whom a job is made, and how far it may go. None of it is read from what a client says of itself.

    ``tier`` is the one that is asked for, ``ceilings`` what lies above it. ``callback_url`` is told when the job has ended.
    ``max_cost`` is in US dollars, ``routes`` are patterns of the deployments that may be asked; None: all. ``priority`` is that
    among the jobs of this tenant and owner.
    """

    tenant: str = ""
    owner: str = ""
    tier: Any = None
    ceilings: Ceilings = Ceilings()
    idempotency_key: str | None = None
    callback_url: str | None = None
    deadline_seconds: float = DEADLINE_SECONDS
    max_cost: float | None = None
    routes: tuple[str, ...] | None = None
    priority: int = 0


NO_TERMS: Final = Terms()
"""For nobody in particular, in the general tier."""


class MediaJobs:
    """The jobs of one library. Threads may share it.

    Args:
        library: whose catalogue, gate and database count.
        assets: where results are kept.
        wire: how providers are called.
        known: the backends by name; those of Innkeeper where left out.
        secret: gives the secret of a name; the environment, then the library's vault, where left out.
        public_url: where providers reach this service; without it they are polled.
        daily_budget: US dollars that one owner may spend in a day.
    """

    def __init__(
        self,
        library: Library,
        *,
        assets: AssetStore | None = None,
        wire: MediaWire | None = None,
        known: Iterable[Backend] | None = None,
        secret: Callable[[str], Secret] | None = None,
        public_url: str = "",
        daily_budget: float | None = None,
    ) -> None:
        self.library = library
        self.store = JobStore(library.db)
        self.assets = open_assets() if assets is None else assets
        self.wire = MediaWire() if wire is None else wire
        self.public_url = public_url.rstrip("/")
        self.daily_budget = daily_budget
        self.secret = secret or self._known_secret
        listed = backends(self.wire, self.webhook_secret) if known is None else known
        self.backends = {one.name: one for one in listed}
        self.routes = MediaRoutes(library, self.backends)
        self.planner = Planner(library, self.routes)
        self.calls = JobCalls(self)
        self.added: Callable[[], object] = lambda: None
        """Called when a job was added here, so that a runner in this process looks at once."""

    # ------------------------------------------------------------------------------------------------------------ accepted

    def submit(self, request: MediaRequest, terms: Terms = NO_TERMS) -> Job:
        """Accept a job: when this returns it is written, and will be carried out. See `accept`."""
        return self.accept(request, terms)[0]

    def accept(self, request: MediaRequest, terms: Terms = NO_TERMS) -> tuple[Job, bool]:
        """Accept a job, and tell whether it is new: a request with the idempotency key of an earlier one gives that job again.

        Raises:
            TierBlockedError: the texts do not pass.
            MediaRequestError, LimitError, UnknownNameError, ConfigError: what is wanted cannot be asked.
            BudgetError: it would cost too much.
            ConflictError: the idempotency key was used for another request.
        """
        checked = request.checked()
        check_priority(terms.priority)
        self._require_picture(checked)
        if (before := self.store.earlier(terms.tenant, terms.owner, terms.idempotency_key, checked.sha256)) is not None:
            return before, False
        job_id, now = self.store.db.fresh_id(), self.store.db.now()
        terms = msgspec.structs.replace(terms, max_cost=self._money(terms, now))
        plan = self.planner.plan(
            checked,
            terms.tier,
            terms.ceilings,
            request_id=job_id,
            actor=terms.owner,
            bounds=Bounds(money=terms.max_cost, routes=terms.routes),
        )
        if terms.callback_url is not None:
            self.wire.egress.check(terms.callback_url)
            self.callback_secret()
        job = Job(
            id=job_id,
            tenant=terms.tenant,
            owner=terms.owner,
            idempotency_key=terms.idempotency_key,
            request_sha256=checked.sha256,
            mode=checked.mode,
            request=msgspec.to_builtins(plan.request),
            due_at=now,
            deadline=later(now, terms.deadline_seconds),
            **_planned(plan, self._route(plan, terms, checked)),
            callback_url=terms.callback_url,
            priority=terms.priority,
            created_at=now,
            updated_at=now,
        )
        priced = bool(plan.estimate) and self.daily_budget is not None
        stored, new = self.store.add(job, (lambda: self._afford(plan.estimate or 0.0, terms, now)) if priced else None)
        if new:
            self.added()
        return stored, new

    def _route(self, plan: MediaPlan, terms: Terms, request: MediaRequest) -> JobRoute:
        return JobRoute(
            deployment=plan.target.deployment.name,
            policy=self.routes.policy_name(request),
            pinned=request.model is not None,
            money=terms.max_cost,
            routes=terms.routes,
            hosts=self.wire.egress.allowed,
            tier=plan.tier,
        )

    def _require_picture(self, request: MediaRequest) -> None:
        """Refuse a picture to start from that is neither an open address, nor one of ours, nor the bytes themselves."""
        for picture in request.pictures:
            if picture.startswith(ASSET):
                self.assets.get(picture.removeprefix(ASSET))
            elif picture and not picture.startswith(("https://", "http://", "data:image/")):
                hint = "https://…, asset:… of a result, or data:image/…"
                raise MediaRequestError("the picture to start from is no address of one", hint=hint)
            elif picture.startswith("http"):
                self.wire.egress.check(picture)

    def _money(self, terms: Terms, now: str, counted: float = 0.0) -> float | None:
        """What a job may cost at most, by its request and its owner's day; ``counted`` of it is in the day already."""
        if self.daily_budget is None:
            return terms.max_cost
        today = f"{now[:10]}T00:00:00.000000Z"
        left = max(0.0, self.daily_budget - self.store.spent(terms.tenant, terms.owner, since=today) + counted)
        return left if terms.max_cost is None else min(left, terms.max_cost)

    def _afford(self, estimate: float, terms: Terms, now: str) -> None:
        """Refuse what costs more than is left by now. Raises `BudgetError`."""
        left = self._money(terms, now)
        if left is not None and estimate > left:
            raise BudgetError("the job costs more than it may", estimate=estimate, left=left)

    # -------------------------------------------------------------------------------------------------------------- attempts

    def directed(self, job: Job) -> Job:
        """A job as it is to be handed over now: judged again, and planned anew where its route is closed and another is open.

        Raises `TierBlockedError`, `JobChangedError`.
        """
        route, decision = JobRoute.of(job), self.planner.judge_again(job)
        if decision.effective.value != job.tier:
            lowered = msgspec.structs.replace(job, tier=decision.effective.value)
            plan = self._plan_for(lowered, route, ())
        elif job.route is None or self.routes.is_open(route.deployment):
            return job
        else:
            other = self._planned_anew(job, route, {*route.tried, route.deployment})
            if other is None:
                return job  # it rests, and there is no other: its own pauses spare it
            plan = other
        return self.store.change(job, **_planned(plan, _next(route, plan)))

    def elsewhere(self, job: Job, route: JobRoute) -> dict[str, Any] | None:
        """The columns of a job whose next attempt goes to another deployment than those that were tried; None: there is none.

        Raises `TierBlockedError`.
        """
        plan = self._planned_anew(job, route, route.tried)
        return None if plan is None else _planned(plan, _next(route, plan))

    def _planned_anew(self, job: Job, route: JobRoute, without: Iterable[str]) -> MediaPlan | None:
        try:
            return self._plan_for(job, route, without)
        except (PreflightError, NoRouteError, BudgetError, UnknownNameError, ConfigError):
            return None

    def _plan_for(self, job: Job, route: JobRoute, without: Iterable[str]) -> MediaPlan:
        """A plan for another deployment, in no higher tier, and for no more money than the job may cost."""
        request, own = convert(thaw(job.request), MediaRequest), Ceilings(account=Tier.of(job.tier))
        terms = Terms(tenant=job.tenant, owner=job.owner, max_cost=route.money)
        money = self._money(terms, self.store.db.now(), job.cost_estimate or 0.0)
        bounds = Bounds(money=money, routes=route.routes, without=frozenset(without))
        return self.planner.plan(request, job.tier, own, request_id=job.id, actor=job.owner, bounds=bounds)

    # ------------------------------------------------------------------------------------------------------------- changed

    def get(self, job_id: str, *, tenant: str | None = None, owner: str | None = None) -> Job:
        """A job of this owner. Raises `JobMissingError`."""
        return self.store.get(job_id, tenant=tenant, owner=owner)

    def events(self, job: Job, after: int = 0) -> tuple[JobEvent, ...]:
        """What happened to a job."""
        return self.store.events(job.id, after)

    def cancel(self, job_id: str, *, tenant: str | None = None, owner: str | None = None) -> Job:
        """End a job that has not ended; its provider is told as soon as can be, and what it makes all the same is not taken.

        Raises `JobMissingError`; `JobStateError` for a job that has ended in another way.
        """
        for _ in range(_CHANGED):
            job = self.store.get(job_id, tenant=tenant, owner=owner)
            if job.state is JobState.CANCELLED:
                return job
            if job.ended:
                raise JobStateError(f"the job has {job.state} already")
            now = self.store.db.now()
            fields: dict[str, Any] = {"route": JobRoute.of(job).stopped(job, "cancelled", now).columns()}
            fields |= {} if job.reference is None else {"cancel_due": now}
            try:
                cancelled = self.store.move(job, JobState.CANCELLED, **fields)
            except JobChangedError:
                continue
            self.added()
            return cancelled
        raise JobChangedError(f"the job {job_id} changes all the time")

    def prioritize(self, job_id: str, priority: int, *, tenant: str | None = None, owner: str | None = None) -> Job:
        """Give a job that has not ended another priority. Raises `JobMissingError`, `JobStateError`, `LimitError`."""
        check_priority(priority)
        for _ in range(_CHANGED):
            job = self.store.get(job_id, tenant=tenant, owner=owner)
            if job.ended:
                raise JobStateError(f"the job has {job.state} already")
            with suppress(JobChangedError):
                return self.store.change(job, priority=priority)
        raise JobChangedError(f"the job {job_id} changes all the time")

    def retry(self, job_id: str, *, tenant: str | None = None, owner: str | None = None, anew: bool = False) -> Job:
        """Go on with a job that has failed, expired or was cancelled; its attempts count anew. Raises `JobStateError`.

        What its provider has, or has made, is asked for under its reference and not paid again, unless ``anew`` says so.
        """
        job = self.store.get(job_id, tenant=tenant, owner=owner)
        if job.state not in {JobState.FAILED, JobState.EXPIRED, JobState.CANCELLED}:
            raise JobStateError(f"a job that is {job.state} is not asked for again")
        now, route = self.store.db.now(), JobRoute.of(job)
        to = JobState.QUEUED if anew else _resumes_at(job, route)
        if to is not JobState.STORING:
            route = route.anew(job) if to is JobState.QUEUED else route.resumed(job)
        hosts = None if route.hosts is None else tuple(dict.fromkeys((*route.hosts, *self.wire.egress.allowed)))
        changes: dict[str, Any] = {
            **_NO_ERROR,
            "finished_at": None,
            "attempt": 0,
            "results": (),
            "progress": None,
            "due_at": now,
            "deadline": later(now, DEADLINE_SECONDS),
            "cancel_due": None,
            "cancel_tries": 0,
            "route": msgspec.structs.replace(route, hosts=hosts).columns(),
            "reference": None if to is JobState.QUEUED else job.reference,
            "outputs": _untried(job.outputs) if to is JobState.STORING else (),
        }
        again = self.store.move(job, to, "retried", **changes)
        self.added()
        return again

    def receive(self, backend: str, job_id: str, headers: Mapping[str, str], body: bytes) -> str:
        """Take a webhook; what it says is asked of its provider, not believed. Tells what was made of it.

        ``taken``: the job is looked at now. ``repeated``: it was taken before. ``ignored``: it is about no job that waits.

        Raises:
            WebhookRefusedError: no signature, one that does not hold, or one of another time. No job is looked for then.
            JobMissingError: no such job.
        """
        maker, now = self.backends.get(backend), self.store.db.outside.now().epoch_ms / 1000
        if maker is None:
            raise WebhookRefusedError("the webhook's signature does not hold")
        hook = maker.webhook(headers, body, now)
        if self.store.get(job_id).backend != backend:
            return "ignored"
        with self.store.db.transaction():
            if not self.store.take_receipt(backend, hook.delivery):
                return "repeated"
            job = self.store.get(job_id)
            outcome = self._hint(job, hook.reference)
        if outcome == "taken":
            self.added()
        return outcome

    def _hint(self, job: Job, reference: Mapping[str, Any]) -> str:
        lost = job.state is JobState.FAILED and job.error_kind == "outcome_unknown"
        if reference.get("id") in JobRoute.of(job).past:
            self.store.tell(job.id, "webhook_late", job.state)
            return "ignored"
        if job.reference is None and (job.state in {JobState.DISPATCHED, JobState.RUNNING} or lost):
            freed: dict[str, Any] = {"lease": None, "lease_until": None, "finished_at": None, **_NO_ERROR}
            now = self.store.db.now()
            details = {"reference": reference.get("id")}
            route = JobRoute.of(job).resumed(job).columns() if lost else job.route
            changes = {"reference": dict(reference), "due_at": now, "route": route, **freed}
            self.store.move(job, JobState.RUNNING, "webhook_first", details, **changes)
            return "taken"
        if job.reference is None or job.reference.get("id") != reference.get("id"):
            self.store.tell(job.id, "webhook_ignored", job.state, {"reference": reference.get("id")})
            return "ignored"
        if job.state is not JobState.RUNNING:
            self.store.tell(job.id, "webhook_late", job.state)
            return "ignored"
        self.store.change(job, due_at=self.store.db.now())
        self.store.tell(job.id, "webhook", job.state)
        return "taken"

    # -------------------------------------------------------------------------------------------------------------- secrets

    def webhook_secret(self, backend: str) -> Secret:
        """The secret by which a provider signs its webhooks, where it shares one with us."""
        return self.secret(f"{backend}_webhook")

    def callback_secret(self) -> Secret:
        """The secret that signs our messages. Raises `ConfigError` where there is none."""
        secret = self.secret(WEBHOOK_SECRET)
        if not secret:
            hint = f"set ${WEBHOOK_SECRET}, or the secret of that name in the vault"
            raise ConfigError("messages about jobs need a secret that signs them", hint=hint)
        return secret

    def _known_secret(self, name: str) -> Secret:
        """The environment's, else the vault's, else none."""
        key = os.environ.get(name) or os.environ.get(name.upper().replace("-", "_")) or ""
        if key:
            return Secret(key)
        from innkeeper.library.vault.vault import Vault

        vault = Vault(self.library.db)
        is_set = any(entry.name == name and entry.is_set for entry in vault.list())
        return vault.reveal(name, who="jobs", why="media job") if is_set else Secret("")


def _resumes_at(job: Job, route: JobRoute) -> JobState:
    """Where a job goes on that is asked for again: before the step that failed, as long as its provider has what it is about."""
    if job.state is not JobState.FAILED or route.ended not in {"", "answered"}:
        return JobState.QUEUED
    if job.reference is not None:
        return JobState.RUNNING  # where it lies may be another address by now
    return JobState.STORING if any(one.get("url") for one in job.outputs) else JobState.QUEUED


def _untried(outputs: Iterable[FrozenDict]) -> tuple[dict[str, Any], ...]:
    return tuple({name: value for name, value in one.items() if name != "tries"} for one in outputs)


def _planned(plan: MediaPlan, route: JobRoute) -> dict[str, Any]:
    """The columns of a job that its plan decides."""
    return {
        "backend": plan.target.backend,
        "model_key": plan.target.key,
        "body": dict(plan.built.body),
        "notes": tuple(msgspec.to_builtins(note) for note in plan.built.notes),
        "tier": plan.tier.value,
        "cost_estimate": plan.estimate,
        "route": route.columns(),
    }


def _next(route: JobRoute, plan: MediaPlan) -> JobRoute:
    return msgspec.structs.replace(route, deployment=plan.target.deployment.name)


_NO_ERROR: Final[Mapping[str, Any]] = {"error_kind": None, "error_message": None, "retryable": None}
