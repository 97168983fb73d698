"""ComfyUI: a workflow of the model's row, with the request's values put in, on a machine of one's own.

The row's ``capabilities`` hold the workflow in ComfyUI's format of its API under ``workflow``; ``{"node": "6", "input": "text"}``
under ``inputs`` says by parameter where a value goes. https://docs.comfy.org/development/comfyui-server/comms_routes
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from innkeeper.inference.errors import DecodeError
from innkeeper.jobs.backend import BackendCall, JobFailure, Progress, Submitted, WaitingBackend
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Output
from innkeeper.jobs.limits import MAX_OUTPUTS
from innkeeper.jobs.media import MediaRequestError
from innkeeper.prompt.data import FrozenDict, thaw

_BASE: Final = "http://127.0.0.1:8188"
_KINDS: Final = ("images", "gifs", "videos")


class ComfyUI(WaitingBackend):
    """A server of one's own, with a queue."""

    name = "comfyui"
    waits = False

    def __init__(self, wire: MediaWire) -> None:
        self._wire = wire

    def submit(self, call: BackendCall) -> Submitted:
        """Put the workflow in its queue."""
        answer = self._wire.call(
            "POST", f"{_base(call)}/prompt", json={"prompt": filled(call), "client_id": call.job_id}
        )
        if isinstance(answer, Mapping) and answer.get("node_errors"):
            raise MediaRequestError("the server refuses the workflow", nodes=sorted(answer["node_errors"])[:8])
        if not isinstance(answer, Mapping) or not answer.get("prompt_id"):
            raise DecodeError("the server gave no prompt_id")
        return Submitted(FrozenDict({"id": str(answer["prompt_id"])}))

    def status(self, call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        """Look at what is done, and else at the queue."""
        identifier = str(reference["id"])
        history = self._wire.call("GET", f"{_base(call)}/history/{identifier}")
        entry = history.get(identifier) if isinstance(history, Mapping) else None
        if isinstance(entry, Mapping):
            return _ended(entry, _base(call))
        queue = self._wire.call("GET", f"{_base(call)}/queue")
        for name, stage in (("queue_running", "running"), ("queue_pending", "queued")):
            listed = queue.get(name) if isinstance(queue, Mapping) else None
            if any(identifier in one for one in listed or () if isinstance(one, list)):
                return Progress("running" if stage == "running" else "queued")
        return Progress("lost")

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        """Take it out of the queue, and stop it where it runs."""
        self._wire.call("POST", f"{_base(call)}/queue", json={"delete": [reference["id"]]})
        self._wire.call("POST", f"{_base(call)}/interrupt", json={"prompt_id": reference["id"]})

    def fetch(self, call: BackendCall, output: Output) -> bytes:
        """A result from the server itself."""
        return self._wire.fetch(output.url, None)


def filled(call: BackendCall) -> dict[str, Any]:
    """The workflow of a call: its body holds it under ``workflow``, the places of values under ``inputs``.

    Raises `MediaRequestError` for a row without a workflow, or with a place that is not in it.
    """
    workflow: dict[str, Any] = copy.deepcopy(thaw(call.body.get("workflow") or {}))
    inputs = call.body.get("inputs") or {}
    if not workflow:
        hint = "put the workflow, in the format of the API, under capabilities.workflow of the model's row"
        raise MediaRequestError("the model's row has no workflow", hint=hint)
    for name, target in inputs.items():
        if name in call.body:
            try:
                workflow[str(target["node"])]["inputs"][target["input"]] = call.body[name]
            except (KeyError, TypeError):
                raise MediaRequestError(f"the workflow has no place for {name}") from None
    return workflow


def _base(call: BackendCall) -> str:
    return call.base_url or _BASE


def _ended(entry: Mapping[str, Any], base: str) -> Progress:
    status = entry.get("status") or {}
    if status.get("status_str") == "error":
        words = next((str(one[1].get("exception_message", "")) for one in status.get("messages", ()) if len(one) > 1
                      and one[0] == "execution_error" and isinstance(one[1], Mapping)), "")  # fmt: skip
        return Progress("failed", failure=JobFailure("provider_failed", words[:300] or "the workflow failed"))
    outputs = []
    for node in (entry.get("outputs") or {}).values():
        for kind in _KINDS:
            for file in node.get(kind, ()):
                if file.get("type", "output") == "output":
                    query = urlencode({name: file.get(name, "") for name in ("filename", "subfolder", "type")})
                    outputs.append(Output(url=f"{base}/view?{query}"))
    return Progress("done", outputs=tuple(outputs[:MAX_OUTPUTS]))
