"""The register of workers over HTTP: enrolment, heartbeats and draining, and the address of an active worker.

A caller needs a key of the service that may use ``workers``, and a token: an invitation, or the worker's own. A worker's address
is checked as every address that is not the operator's own: the open internet, or what its invitation allows. Nothing is probed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.inference.client.egress import Egress
from innkeeper.inference.errors import AddressRefusedError
from innkeeper.inference.response.views.chat import envelope
from innkeeper.library.errors import NotFoundError
from innkeeper.prompt.errors import InnkeeperError, UnavailableError, UsageError, Where
from innkeeper.prompt.once import decode, once
from innkeeper.service.answers import failure, json_response
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.library.library import Library
    from innkeeper.library.workers.store import WorkerStore


KINDS: Final[Mapping[str, str]] = {"chat": "chat", "sdxl": "image", "wan": "video", "image": "image", "video": "video"}
"""The document's types of workers, and what they make. One for videos is never given a chat."""

MAX_SLOTS: Final = 1_000
"""Requests at once that a worker may say it executes (`UsageError`)."""
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
_Slots = Annotated[int, msgspec.Meta(ge=1, le=MAX_SLOTS)]


class Enrolment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker enrols with."""

    token: _Text
    url: _Text
    kind: str = "chat"
    state: str = "starting"
    capabilities: dict[str, Any] = {}
    slots: _Slots = 1


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker renews its lease with."""

    id: _Text
    token: _Text
    state: str = "ready"
    capabilities: dict[str, Any] = {}
    slots: _Slots = 1


class LegacyRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """What the document's workers register with; ``token`` is what they lacked."""

    worker_url: _Text
    token: _Text
    auto_registered: bool = False


class ActiveWorker(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for the address of a worker."""

    worker_type: str = "wan"


class WorkerRegister:
    """The routes of the register. Nothing is opened before the first call.

    Args:
        settings: whose database it is, and which hosts the operator allows.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._library: Library | None = None
        self._store = once(self._open)

    def routes(self) -> list[BaseRoute]:
        """The routes."""
        posts = {
            "/v1/workers/enrol": self._enrol,
            "/v1/workers/heartbeat": self._renew,
            "/v1/workers/drain": self._drain,
            "/functions/v1/get-active-worker-url": self.active,
            "/functions/v1/register-chat-worker": self._register,
            "/functions/v1/update-worker-url": self._register,
        }
        listed = Route("/v1/workers", _answered(self._list), methods=["GET"])
        return [listed, *(Route(path, _answered(call), methods=["POST"]) for path, call in posts.items())]

    def close(self) -> None:
        """Let go of the library."""
        if self._library is not None:
            self._library.close()

    def _list(self, _: bytes) -> dict[str, Any]:
        return {"object": "list", "data": msgspec.to_builtins(self._store().list(), enc_hook=dict)}

    def _enrol(self, body: bytes) -> dict[str, Any]:
        asked = _read(body, Enrolment)
        return self._entered(asked)

    def _register(self, body: bytes) -> dict[str, Any]:
        asked = _read(body, LegacyRegistration)
        made = self._entered(
            Enrolment(token=asked.token, url=asked.worker_url, state="ready", capabilities={"chat": True})
        )
        return {"success": True, "worker_url": asked.worker_url, "auto_registered": asked.auto_registered, **made}

    def _entered(self, asked: Enrolment) -> dict[str, Any]:
        from innkeeper.library.workers.store import BEAT_SECONDS, LEASE_SECONDS

        store = self._store()
        invited = store.invitation(asked.token)
        _check_address(asked.url, (*invited.hosts, *self._settings.egress.allowed))
        kind = _kind(asked.kind)
        made = store.enrol(asked.token, asked.url.rstrip("/"), _report(asked), kind=kind)
        times = {"lease_seconds": LEASE_SECONDS, "beat_seconds": BEAT_SECONDS}
        return {"id": made.id, "token": made.token, **times}

    def _renew(self, body: bytes) -> dict[str, Any]:
        from innkeeper.library.workers.store import LEASE_SECONDS

        asked = _read(body, Heartbeat)
        state = self._store().renew(asked.id, asked.token, _report(asked))
        return {"state": state.value, "lease_seconds": LEASE_SECONDS}

    def _drain(self, body: bytes) -> dict[str, Any]:
        from innkeeper.library.workers.states import WorkerState

        asked = _read(body, Heartbeat)
        store = self._store()
        store.check(asked.id, asked.token)
        store.move(asked.id, WorkerState.DRAINING, who=asked.id)
        return {"state": WorkerState.DRAINING.value}

    def active(self, body: bytes) -> dict[str, Any]:
        """The address of an active worker, as the document answers; by leases, without a probe.

        Raises `NotFoundError` where none holds a lease, `UsageError` for a body that does not fit.
        """
        asked = _read(body, ActiveWorker)
        alive = self._store().alive(_kind(asked.worker_type))
        if not alive:
            raise NotFoundError(
                f"no {asked.worker_type} worker holds a lease", hint="`innkeeper worker --join` starts one"
            )
        row = alive[0]
        info = {
            "workerType": asked.worker_type,
            "autoRegistered": True,
            "registrationMethod": "enrolment",
            "lastUpdated": row.beat_at,
        }
        return {
            "success": True,
            "worker_url": row.url,
            "workerUrl": row.url,
            "isHealthy": row.state == "ready",
            "healthError": None if row.state == "ready" else row.state.value,
            "registrationInfo": info,
            "worker_type": asked.worker_type,
            "supportedEndpoints": ["/chat", "/enhance", "/generate"] if row.kind == "chat" else ["/generate"],
            "workerCapabilities": dict(row.capabilities),
            "responseTimeMs": 0,
        }

    def _open(self) -> WorkerStore:
        if find_spec("sqlalchemy") is None or self._settings.database is None:
            hint = "start the service with --database"
            raise UnavailableError("workers are kept in a library's database, and this service has none", hint=hint)
        from innkeeper.library.library import Library
        from innkeeper.library.workers.store import WorkerStore

        self._library = Library.open(self._settings.database, watch=False)
        return WorkerStore(self._library.db)


def _answered(call: Callable[[bytes], dict[str, Any]]) -> Callable[[WebRequest], Awaitable[Response]]:
    """An endpoint that answers beside the event loop: it waits for a database, and for names to be resolved."""

    async def answer(web: WebRequest) -> Response:
        try:
            return json_response(await asyncio.to_thread(call, await web.body()))
        except InnkeeperError as error:
            return failure(error, envelope)

    return answer


def _read(body: bytes, kind: type[Any]) -> Any:
    try:
        return decode(body or b"{}", kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message, _, path = str(error).partition(" - at `$.")
        raise UsageError(message, where=Where(path=path.rstrip("`") or "body")) from error


def _kind(name: str) -> str:
    if name not in KINDS:
        raise UsageError(f"{name!r:.40} is no type of workers", hint=f"types: {', '.join(KINDS)}")
    return KINDS[name]


def _report(asked: Enrolment | Heartbeat) -> Any:
    from innkeeper.library.workers.states import WorkerState
    from innkeeper.library.workers.store import WorkerReport

    if asked.state not in {*WorkerState}:
        raise UsageError(f"{asked.state!r:.40} is no state of a worker", where=Where(path="state"))
    return WorkerReport(WorkerState(asked.state), asked.capabilities, asked.slots)


def _check_address(url: str, allowed: tuple[str, ...]) -> None:
    """Let an address pass where requests may go, whatever its name means now. Raises `AddressRefusedError`."""
    egress = Egress(allowed)
    egress.check(url)
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AddressRefusedError("a worker's address is a scheme, a host, a port and a path")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AddressRefusedError(f"the host {parts.hostname!r:.200} is not known") from error
    egress.choose(parts.hostname or "", port, [str(place[4][0]) for place in found])
