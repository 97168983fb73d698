"""The register of workers in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.service.openapi.document import Description, closed, listed, named, operation, record

_TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_FLAG: Final[dict[str, Any]] = {"type": "boolean"}
_NUMBER: Final[dict[str, Any]] = {"type": "number"}
_STATE: Final[dict[str, Any]] = {"enum": ["starting", "ready", "degraded", "draining", "dead", "quarantined"]}
_SLOTS: Final[dict[str, Any]] = {"type": "integer", "minimum": 1, "maximum": 1000}
_TYPE: Final[dict[str, Any]] = {"enum": ["chat", "sdxl", "wan", "image", "video"]}


def _asked(summary: str, body: str, reply: str) -> dict[str, Any]:
    return {"post": operation(summary, "workers", body=named(body), reply=named(reply), error="OpenAIError")}


_REGISTER: Final = _asked("Enrol a worker in the words of the document.", "WorkerRegistration", "WorkerRegistered")

WORKERS: Final = Description(
    {
        "/v1/workers": {
            "get": operation("The workers.", "workers", reply=named("WorkerList"), error="OpenAIError"),
        },
        "/v1/workers/enrol": _asked("Enrol a worker with an invitation.", "WorkerEnrolment", "WorkerEnrolled"),
        "/v1/workers/heartbeat": _asked("Renew a worker's lease.", "WorkerHeartbeat", "WorkerLease"),
        "/v1/workers/drain": _asked("Have a worker take nothing more.", "WorkerHeartbeat", "WorkerLease"),
        "/functions/v1/get-active-worker-url": _asked(
            "The address of a worker that holds a lease.", "ActiveWorkerRequest", "ActiveWorker"
        ),
        "/functions/v1/register-chat-worker": _REGISTER,
        "/functions/v1/update-worker-url": _REGISTER,
    },
    {
        "WorkerList": record(("object", "data"), object={"const": "list"}, data=listed(_OBJECT)),
        "WorkerEnrolment": closed(
            record(
                ("token", "url"),
                token=_TEXT,
                url=_TEXT,
                kind=_TYPE,
                state=_STATE,
                capabilities=_OBJECT,
                slots=_SLOTS,
            )
        ),
        "WorkerEnrolled": record(("id", "token"), id=_TEXT, token=_TEXT, lease_seconds=_NUMBER, beat_seconds=_NUMBER),
        "WorkerHeartbeat": closed(
            record(("id", "token"), id=_TEXT, token=_TEXT, state=_STATE, capabilities=_OBJECT, slots=_SLOTS)
        ),
        "WorkerLease": record(("state",), state=_STATE, lease_seconds=_NUMBER),
        "WorkerRegistration": record(("worker_url", "token"), worker_url=_TEXT, token=_TEXT, auto_registered=_FLAG),
        "WorkerRegistered": record(
            ("success", "worker_url", "id", "token"), success=_FLAG, worker_url=_TEXT, id=_TEXT, token=_TEXT
        ),
        "ActiveWorkerRequest": record(worker_type=_TYPE),
        "ActiveWorker": record(
            ("success", "worker_url", "workerUrl", "isHealthy", "worker_type"),
            success=_FLAG,
            worker_url=_TEXT,
            workerUrl=_TEXT,
            isHealthy=_FLAG,
            healthError={"type": ["string", "null"]},
            registrationInfo=_OBJECT,
            worker_type=_TYPE,
            supportedEndpoints=listed(_TEXT),
            workerCapabilities=_OBJECT,
            responseTimeMs=_NUMBER,
        ),
    },
)
"""Enrolment, leases, and the address of an active worker."""
