"""``workers.*``: enrolment, heartbeats and draining, and the address of an active worker.

A caller needs a token: an invitation, or the worker's own. A worker's address is checked as every address that is not the
operator's own: the open internet, or what its invitation allows. Nothing is probed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypedDict
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from innkeeper.gate.judgement import Judgement
from innkeeper.inference.client.egress import Egress
from innkeeper.inference.errors import AddressRefusedError
from innkeeper.library.errors import NotFoundError
from innkeeper.library.workers.states import WorkerState
from innkeeper.operations.operation import Operation
from innkeeper.operations.scope import Scope
from innkeeper.prompt.errors import UsageError, Where

if TYPE_CHECKING:
    from innkeeper.library.workers.store import WorkerReport, WorkerStore

KINDS: Final[Mapping[str, str]] = {"chat": "chat", "sdxl": "image", "wan": "video", "image": "image", "video": "video"}
"""The document's types of workers, and what they make. One for videos is never given a chat."""

MAX_SLOTS: Final = 1_000
"""Requests at once that a worker may say it executes (`UsageError`)."""

_Text = Annotated[str, Meta(min_length=1, max_length=2_000)]
_Slots = Annotated[int, Meta(ge=1, le=MAX_SLOTS)]
_State = Annotated[str, Meta(extra_json_schema={"enum": [*WorkerState]})]
_Kind = Annotated[str, Meta(extra_json_schema={"enum": [*KINDS]})]


class WorkerRegistry(NamedTuple):
    """The workers of a library, and the hosts that the operator allows beside the open internet."""

    store: WorkerStore
    hosts: tuple[str, ...] = ()


class ListWorkers(msgspec.Struct, frozen=True):
    """All workers."""


class WorkerEnrolment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker enrols with."""

    token: _Text
    url: _Text
    kind: _Kind = "chat"
    state: _State = "starting"
    capabilities: dict[str, Any] = {}
    slots: _Slots = 1


class WorkerHeartbeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker renews its lease with."""

    id: _Text
    token: _Text
    state: _State = "ready"
    capabilities: dict[str, Any] = {}
    slots: _Slots = 1


class WorkerRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """What the document's workers register with; ``token`` is what they lacked."""

    worker_url: _Text
    token: _Text
    auto_registered: bool = False


class ActiveWorkerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A worker of which type is looked for."""

    worker_type: _Kind = "wan"


class WorkerList(TypedDict):
    """The workers by age, without what is secret."""

    object: Literal["list"]
    data: list[dict[str, Any]]


class WorkerEnrolled(TypedDict):
    """A worker's id and token, which is shown this once, and how often it has to renew its lease."""

    id: str
    token: str
    lease_seconds: float
    beat_seconds: float


class WorkerRegistered(WorkerEnrolled):
    """The same in the words of the document."""

    success: bool
    worker_url: str
    auto_registered: bool


class WorkerLease(TypedDict, total=False):
    """The state that a worker is in, which may be another than it says."""

    state: _State
    lease_seconds: float


class ActiveWorker(TypedDict):
    """The address of a worker, as the document answers."""

    success: bool
    worker_url: str
    workerUrl: str
    isHealthy: bool
    healthError: str | None
    registrationInfo: dict[str, Any]
    worker_type: str
    supportedEndpoints: list[str]
    workerCapabilities: dict[str, Any]
    responseTimeMs: float


async def list_workers(_request: ListWorkers, scope: Scope) -> WorkerList:
    """List the workers."""
    rows = await asyncio.to_thread((await scope.workers()).store.list)
    return {"object": "list", "data": msgspec.to_builtins(rows, enc_hook=dict)}


async def enrol(request: WorkerEnrolment, scope: Scope) -> WorkerEnrolled:
    """Enrol a worker with an invitation."""
    return await asyncio.to_thread(_enrolled, await scope.workers(), request)


async def register(request: WorkerRegistration, scope: Scope) -> WorkerRegistered:
    """Enrol a worker in the words of the document."""
    enrolment = WorkerEnrolment(token=request.token, url=request.worker_url, state="ready", capabilities={"chat": True})
    made = await asyncio.to_thread(_enrolled, await scope.workers(), enrolment)
    return {"success": True, "worker_url": request.worker_url, "auto_registered": request.auto_registered, **made}


def _enrolled(registry: WorkerRegistry, request: WorkerEnrolment) -> WorkerEnrolled:
    from innkeeper.library.workers.store import BEAT_SECONDS, LEASE_SECONDS

    invited = registry.store.invitation(request.token)
    _check_address(request.url, (*invited.hosts, *registry.hosts))
    kind = _made_by(request.kind)
    made = registry.store.enrol(request.token, request.url.rstrip("/"), _report(request), kind=kind)
    return {"id": made.id, "token": made.token, "lease_seconds": LEASE_SECONDS, "beat_seconds": BEAT_SECONDS}


async def renew(request: WorkerHeartbeat, scope: Scope) -> WorkerLease:
    """Renew a worker's lease."""
    store = (await scope.workers()).store
    from innkeeper.library.workers.store import LEASE_SECONDS

    state = await asyncio.to_thread(store.renew, request.id, request.token, _report(request))
    return {"state": state.value, "lease_seconds": LEASE_SECONDS}


async def drain(request: WorkerHeartbeat, scope: Scope) -> WorkerLease:
    """Have a worker take nothing more."""
    store = (await scope.workers()).store
    await asyncio.to_thread(store.check, request.id, request.token)
    await asyncio.to_thread(store.move, request.id, WorkerState.DRAINING, who=request.id)
    return {"state": WorkerState.DRAINING.value}


async def active(request: ActiveWorkerRequest, scope: Scope) -> ActiveWorker:
    """Give the address of a worker that holds a lease."""
    return await asyncio.to_thread(active_worker, (await scope.workers()).store, request.worker_type)


def active_worker(store: WorkerStore, worker_type: str) -> ActiveWorker:
    """The address of a worker that holds a lease. Raises `NotFoundError` where none does, `UsageError` for another type."""
    alive = store.alive(_made_by(worker_type))
    if not alive:
        raise NotFoundError(
            f"no {worker_type} worker holds a lease", hint="`innkeeper admin worker run --join` starts one"
        )
    row = alive[0]
    return {
        "success": True,
        "worker_url": row.url,
        "workerUrl": row.url,
        "isHealthy": row.state == "ready",
        "healthError": None if row.state == "ready" else row.state.value,
        "registrationInfo": {
            "workerType": worker_type,
            "autoRegistered": True,
            "registrationMethod": "enrolment",
            "lastUpdated": row.beat_at,
        },
        "worker_type": worker_type,
        "supportedEndpoints": ["/chat", "/enhance", "/generate"] if row.kind == "chat" else ["/generate"],
        "workerCapabilities": dict(row.capabilities),
        "responseTimeMs": 0,
    }


def _made_by(worker_type: str) -> str:
    """What workers of a type make."""
    if worker_type not in KINDS:
        raise UsageError(f"{worker_type!r:.40} is no type of workers", hint=f"types: {', '.join(KINDS)}")
    return KINDS[worker_type]


def _report(request: WorkerEnrolment | WorkerHeartbeat) -> WorkerReport:
    from innkeeper.library.workers.store import WorkerReport

    if request.state not in {*WorkerState}:
        raise UsageError(f"{request.state!r:.40} is no state of a worker", where=Where(path="state"))
    return WorkerReport(WorkerState(request.state), request.capabilities, request.slots)


def _check_address(url: str, allowed: tuple[str, ...]) -> None:
    """Let an address pass where requests may go, whatever its name means now. Raises `AddressRefusedError`."""
    egress = Egress(allowed)
    egress.check(url)
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AddressRefusedError("a worker's address is a scheme, a host, a port and a path")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        addresses = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AddressRefusedError(f"the host {parts.hostname!r:.200} is not known") from error
    egress.choose(parts.hostname or "", port, [str(address[4][0]) for address in addresses])


LIST: Final = Operation("workers.list", list_workers, judged=Judgement.NONE)
ENROL: Final = Operation("workers.enrol", enrol, judged=Judgement.NONE)
REGISTER: Final = Operation("workers.register", register, judged=Judgement.NONE)
RENEW: Final = Operation("workers.heartbeat", renew, judged=Judgement.NONE)
DRAIN: Final = Operation("workers.drain", drain, judged=Judgement.NONE)
ACTIVE: Final = Operation("workers.active", active, judged=Judgement.NONE)
