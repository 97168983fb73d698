"""WorkerAgent: how a worker enrols at a service, renews its lease, and hears that it is to drain."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.content.files.private import write_private
from innkeeper.jobs.worker.engine import WorkerEngine
from innkeeper.jobs.worker.media_engine import MediaEngine
from innkeeper.library.workers.states import WorkerState
from innkeeper.library.workers.store import BEAT_SECONDS, call_key, digest
from innkeeper.prompt.errors import UnavailableError, UsageError, Where
from innkeeper.prompt.typed.once import decode
from innkeeper.service.client import exchange, key_headers
from innkeeper.service.web import repeat

LOG: Final = logging.getLogger("innkeeper.worker")

Post = Callable[[str, Mapping[str, Any]], tuple[int, Any]]
"""Sends a body to a path of the service: status and body of the reply, status 0 where there is none."""

_OK: Final = 200
_REFUSED: Final = 401


class Membership(msgspec.Struct, frozen=True):
    """What a worker keeps of its enrolment: where it enrolled, as what, and its token, by which callers are known, too."""

    service: str
    url: str
    id: str
    token: str

    @property
    def call_key(self) -> str:
        """The key that callers must bring."""
        return call_key(digest(self.token))

    def keep(self, path: Path) -> None:
        """Write it to a file that only its owner may read. Raises `OSError`."""
        write_private(path, msgspec.json.encode(self))

    @classmethod
    def read(cls, path: Path, service: str, url: str) -> Membership | None:
        """Return the membership stored for this service and address, else None. Raises `UsageError` for another file."""
        try:
            membership = decode(path.read_bytes(), cls)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise UsageError("this is no file of a worker's enrolment", where=Where(asset=str(path))) from error
        return membership if (membership.service, membership.url) == (service, url) else None


def post_to(service: str) -> Post:
    """Posts to a service, with the key of the environment."""

    def post(path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        status, content = exchange("POST", service + path, key_headers({}, os.environ), json=dict(body))
        with suppress(ValueError):
            return status, json.loads(content)
        return status, {}

    return post


def enrol(service: str, url: str, invitation: str, report: Mapping[str, Any], post: Post | None = None) -> Membership:
    """Enrol with an invitation. Raises `UnavailableError` where the service does not let us in, with its words."""
    status, body = (post or post_to(service))("/v1/workers/enrol", {"token": invitation, "url": url, **report})
    if status != _OK:
        message = (body.get("error") or {}).get("message") or f"status {status}"
        raise UnavailableError(f"the service does not take the worker: {message}")
    return Membership(service, url, body["id"], body["token"])


class WorkerAgent:
    """Renews the lease of one worker as long as it lives.

    Args:
        engine: the worker.
        membership: as what it enrolled.
        post: how the service is reached.
        seconds: between two heartbeats.
    """

    def __init__(
        self,
        engine: WorkerEngine | MediaEngine,
        membership: Membership,
        post: Post | None = None,
        *,
        seconds: float = BEAT_SECONDS,
    ) -> None:
        self._engine, self._membership, self._seconds = engine, membership, seconds
        self._post = post or post_to(membership.service)

    @asynccontextmanager
    async def around(self) -> AsyncIterator[None]:
        """Renew the lease now and then every few seconds; at the end say that the worker is dead."""
        await self.beat()
        beating = asyncio.ensure_future(repeat(self._seconds, self.beat))
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
            await self._send(WorkerState.DEAD)

    async def beat(self) -> None:
        """Renew the lease, and do what the service says. A service that does not answer is asked again at the next beat."""
        status, body = await self._send(self._engine.state)
        state = body.get("state") if isinstance(body, Mapping) else None
        if status == _REFUSED or state in {WorkerState.DRAINING, WorkerState.QUARANTINED}:
            LOG.warning("the worker drains: %s", state or "its token is not taken any more")
            self._engine.drain()

    async def _send(self, state: WorkerState) -> tuple[int, Any]:
        report = self._engine.report()
        own = {"id": self._membership.id, "token": self._membership.token}
        body = {**own, "state": state.value, "capabilities": dict(report.capabilities), "slots": report.slots}
        return await asyncio.to_thread(self._post, "/v1/workers/heartbeat", body)
