"""MediaEngine: makes pictures and videos at its backends, from exactly the input that came, and says by a hash what went there.

A backend is a server of one's own (A1111, ComfyUI), or the tiny picture of this process. Its calls wait, so each is made beside
the event loop; a slot is free again when the backend has finished, also where nobody waits for the answer any more.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Mapping
from time import monotonic, sleep
from typing import Any, Final

import msgspec

from innkeeper.inference.errors import ProviderTimeoutError, RequestCancelledError
from innkeeper.inference.requests.worker_protocol import PROTOCOL
from innkeeper.inference.routing.models import ModelNotFoundError
from innkeeper.jobs.assets import media_type_of, whole_or_refused
from innkeeper.jobs.backend import Backend, BackendCall, JobFailure, RefusedByProviderError
from innkeeper.jobs.job import Output
from innkeeper.jobs.worker.media_protocol import MediaAnswer, MediaResult, MediaWork, work_sha256
from innkeeper.jobs.worker.slots import WorkerSlots
from innkeeper.library.workers.states import WorkerState
from innkeeper.library.workers.store import WorkerReport
from innkeeper.prompt.errors import ProviderError, UsageError
from innkeeper.prompt.machine import random_bytes

_LONGEST: Final = 900.0
"""Seconds that a backend may take."""

_LOOK: Final = 0.5


class ServedModel(msgspec.Struct, frozen=True):
    """A model of a worker: its backend, its name and address there, and its tasks."""

    backend: Backend
    model: str
    tasks: tuple[str, ...]
    base_url: str = ""


class MediaEngine(WorkerSlots):
    """The requests of one worker for pictures or videos.

    Args:
        kind: ``image`` or ``video``.
        backends: models by the names under which they are asked; the first is asked where none is named.
        slots: requests that are executed at once.
    """

    def __init__(self, kind: str, backends: Mapping[str, ServedModel], *, slots: int = 1) -> None:
        super().__init__(slots)
        self.kind, self.backends = kind, dict(backends)

    async def start(self) -> None:
        """Say that it is ready."""
        self.stats["model_loads"] = len(self.backends)
        self.state = self.state.reported(WorkerState.READY)

    async def close(self) -> None:
        """Take nothing more."""
        self.state = WorkerState.DEAD

    def report(self) -> WorkerReport:
        """What the register is told."""
        listed = [{"key": key, "tasks": [*model.tasks], "revision": ""} for key, model in self.backends.items()]
        facts: dict[str, Any] = {self.kind: True, "generation": True, "models": listed, "protocol": PROTOCOL}
        honest = {"hardcoded_prompts": False, "prompt_modification": False, "pure_inference": True}
        return WorkerReport(self.state, {**facts, **honest}, self.slots)

    async def execute(self, work: MediaWork) -> MediaAnswer:
        """Make it. Raises `WorkerDrainingError`, `WorkerQueueError`, `ModelNotFoundError`, `UsageError`, `ProviderError`."""
        self.require_open()
        key = next(iter(self.backends)) if work.model is msgspec.UNSET else work.model
        if key not in self.backends:
            raise ModelNotFoundError(key, self.backends)
        model = self.backends[key]
        if work.mode not in model.tasks:
            raise UsageError(f"{key} does not do {work.mode}", hint=f"it does {', '.join(model.tasks)}")
        began = self.now()
        await self.enter()
        queued, gone = self.now(), threading.Event()
        call = _call(model, work)
        making = asyncio.ensure_future(asyncio.to_thread(_generated, model.backend, call, gone))
        making.add_done_callback(lambda done: self.leave(done.exception()))
        try:
            results = await asyncio.shield(making)
        except asyncio.CancelledError:
            gone.set()
            raise
        times = {"queue_ms": (queued - began) * 1000, "load_ms": 0.0, "gen_ms": (self.now() - queued) * 1000}
        return MediaAnswer(
            request_id=call.job_id,
            model=key,
            model_revision="",
            results=results,
            input_sha256=work_sha256(work.mode, call.body, call.picture),
            timings={name: round(value, 3) for name, value in times.items()},
        )


def _call(model: ServedModel, work: MediaWork) -> BackendCall:
    """What the backend is told: the input as it came, and nothing else."""
    return BackendCall(
        job_id=random_bytes(8).hex() if work.request_id is msgspec.UNSET else work.request_id,
        model=model.model,
        body=work.input,
        base_url=model.base_url,
        picture=b"" if work.picture is msgspec.UNSET else work.picture,
    )


def _generated(backend: Backend, call: BackendCall, gone: threading.Event) -> list[MediaResult]:
    submitted = backend.submit(call)
    outputs = (
        submitted.outputs if submitted.outputs is not None else _waited(backend, call, submitted.reference or {}, gone)
    )
    if not outputs:
        raise ProviderError("the backend gave no result")
    return [_result(output, output.data or backend.fetch(call, output)) for output in outputs]


def _waited(
    backend: Backend, call: BackendCall, reference: Mapping[str, Any], gone: threading.Event
) -> tuple[Output, ...]:
    """The results of a backend that has a queue. Whoever does not want them any more has it stopped."""
    until = monotonic() + _LONGEST
    while monotonic() < until and not gone.is_set():
        progress = backend.status(call, reference)
        if progress.stage == "done":
            return progress.outputs
        if progress.stage in {"failed", "lost", "cancelled"}:
            failure = progress.failure or JobFailure("unavailable", f"the backend's job is {progress.stage}")
            refused = failure.kind == "provider_policy_refusal"
            raise RefusedByProviderError(failure.message) if refused else ProviderError(failure.message)
        sleep(_LOOK)
    backend.cancel(call, reference)
    if gone.is_set():
        raise RequestCancelledError("nobody waits for the result any more")
    raise ProviderTimeoutError("the backend does not end", phase="total")


def _result(output: Output, data: bytes) -> MediaResult:
    whole_or_refused(data, sha256=output.sha256, size=output.size)
    return MediaResult(media_type_of(data)[0], hashlib.sha256(data).hexdigest(), len(data), data)
