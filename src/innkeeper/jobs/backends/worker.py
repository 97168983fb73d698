"""Media workers: whichever of one's own machines holds a lease (`innkeeper.jobs.worker.media_protocol`).

Asking twice costs nothing but time. What a worker made of another input than it was sent is thrown away.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

import msgspec

from innkeeper.inference.errors import DecodeError, ProviderConnectionError, TamperedError
from innkeeper.jobs.backend import WORKER, BackendCall, Submitted, WaitingBackend
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Output
from innkeeper.jobs.worker.media_protocol import MediaAnswer, work_sha256
from innkeeper.prompt.typed.once import convert

_SECONDS: Final = 900.0


class MediaWorkers(WaitingBackend):
    """The workers of one database. To which of them a job goes, its route says."""

    name = WORKER

    def __init__(self, wire: MediaWire) -> None:
        self._wire = wire

    def submit(self, call: BackendCall) -> Submitted:
        """Ask, and wait."""
        if not call.base_url:
            raise ProviderConnectionError("no worker that has this model holds a lease", opened=False)
        body = {"mode": call.mode, "input": dict(call.body), "model": call.model, "request_id": call.job_id}
        if call.picture:
            body["picture"] = base64.b64encode(call.picture).decode()
        key = {"authorization": f"Bearer {call.key.reveal()}"} if call.key else {}
        reply = self._wire.call(
            "POST",
            f"{call.base_url}/generate",
            headers=key,
            json=body,
            seconds=_SECONDS,
            key=call.key,
            hosts=call.hosts,
        )
        if not isinstance(reply, Mapping) or reply.get("input_sha256") != work_sha256(
            call.mode, call.body, call.picture
        ):
            raise TamperedError("the worker does not say that it made what it was sent")
        try:
            answer = convert(reply, MediaAnswer)
        except msgspec.ValidationError as error:
            raise DecodeError(f"the worker's answer is none of the protocol: {error}") from error
        outputs = [
            Output(data=one.data, media_type=one.media_type, sha256=one.sha256, size=one.size) for one in answer.results
        ]
        return Submitted(outputs=tuple(outputs))
