"""JobCalls: what a backend is told of a job: its model, body and pictures, the address, the key, and where to answer."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from innkeeper.inference.client.egress import Egress, host_of
from innkeeper.jobs.assets import ASSET, media_type_of
from innkeeper.jobs.backend import WORKER, Backend, BackendCall
from innkeeper.jobs.backends.tiny_seed_picture import NAME
from innkeeper.jobs.job import Job, JobRoute
from innkeeper.jobs.routing import JobTarget
from innkeeper.library.errors import NotFoundError
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.machine import Secret

if TYPE_CHECKING:
    from innkeeper.jobs.media_jobs import MediaJobs


class JobCalls:
    """The calls of one library's jobs."""

    def __init__(self, jobs: MediaJobs) -> None:
        self._jobs = jobs

    def of(self, job: Job) -> tuple[Backend, BackendCall]:
        """The backend of a job and what it is told. Raises `ConfigError`, `UnknownNameError`, `VaultError`."""
        backend = self._jobs.backends.get(job.backend)
        if backend is None:
            raise UnknownNameError("backend", job.backend, self._jobs.backends)
        if job.backend == NAME:
            return backend, BackendCall(job_id=job.id, model=job.model_key, body=job.body, picture=self._picture(job))
        target = self._jobs.routes.of(JobRoute.of(job).deployment, job.model_key)
        if job.backend == WORKER:
            return backend, self._worker_call(job, target)
        provider, model = target.provider, target.model
        name = provider.secret_name if provider else None
        url = f"{self._jobs.public_url}/v1/jobs/webhooks/{job.backend}/{job.id}" if self._jobs.public_url else ""
        picture = self._picture(job, fetched=backend.repeatable)
        address = ((provider.base_url if provider else None) or "").rstrip("/")
        call = BackendCall(
            job_id=job.id,
            model=job.model_key,
            version=model.version or "",
            body=self._body(job, picture),
            base_url=address,
            key=self._jobs.secret(name) if name else Secret(""),
            webhook_url=url,
            sync=bool(model.capabilities.get("sync")),
            picture=picture if backend.repeatable else b"",
            egress=self.egress(job, address),
        )
        return backend, call

    def egress(self, job: Job, address: str = "") -> Egress:
        """Where requests for a job may go, whoever carries it out: as its row says, and to the host and port of its provider."""
        hosts = JobRoute.of(job).hosts
        allowed = self._jobs.wire.egress.allowed if hosts is None else hosts
        return Egress((*allowed, *(host_of(address) if address else ())))

    def _worker_call(self, job: Job, target: JobTarget) -> BackendCall:
        """What a worker is told: at the address that it enrolled with, with the key that both sides derive."""
        from innkeeper.library.workers.store import WorkerStore

        store, name = WorkerStore(self._jobs.store.db), target.deployment.worker
        options: dict[str, Any] = {}
        with suppress(NotFoundError):  # one that was taken out: it is not asked
            row = store.get(name)
            hosts = (*row.hosts, *self.egress(job).allowed)
            options = {"base_url": row.url, "hosts": hosts, "key": Secret(store.call_key(name))}
        picture = self._picture(job, fetched=True)
        return BackendCall(
            job_id=job.id,
            model=job.model_key,
            body=self._body(job, b""),
            mode=job.mode.value,
            picture=picture,
            **options,
        )

    def _picture(self, job: Job, *, fetched: bool = False) -> bytes:
        """The picture that a job starts from, where it is one of ours; ``fetched``: or wherever it lies on the open internet.

        Servers of one's own are given bytes: what an address means to them, on their network, is not for a caller to say.
        """
        image = str(job.request.get("image") or "")
        if image.startswith(ASSET):
            return self._jobs.assets.get(image.removeprefix(ASSET))
        is_address = image.startswith(("https://", "http://"))
        return self._jobs.wire.fetch(image, self.egress(job)) if fetched and is_address else b""

    def _body(self, job: Job, picture: bytes) -> Mapping[str, Any]:
        """The body of a job, its stored pictures as data addresses, which providers read as they read others."""
        further = (str(one) for one in job.request.get("references") or ())
        stored = {one: self._jobs.assets.get(one.removeprefix(ASSET)) for one in further if one.startswith(ASSET)}
        first = str(job.request.get("image"))
        if picture and first.startswith(ASSET):
            stored[first] = picture
        if not stored:
            return job.body
        addresses = {
            reference: f"data:{media_type_of(data)[0]};base64,{base64.b64encode(data).decode()}"
            for reference, data in stored.items()
        }
        return {name: _with_addresses(value, addresses) for name, value in job.body.items()}


def _with_addresses(value: Any, addresses: Mapping[str, str]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_with_addresses(item, addresses) for item in value]
    return addresses.get(value, value) if isinstance(value, str) else value
