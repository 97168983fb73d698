"""What the paths of jobs are, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.service.openapi.document import Description, listed, named, operation, parameter, record, text_reply

JOB_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("sdxl_image", "sdxl_image_fast", "sdxl_image_high", "image", "image_fast", "image_high"), "i"),
    **dict.fromkeys(("video", "video_fast", "video_high", "wan_video", "wan_video_fast", "wan_video_high"), "v"),
    **dict.fromkeys(("fal_image", "fal_video", "replicate_image", "rv51_fast", "rv51_high"), "i"),
    "fal_video": "v",
}
"""The document's kinds of jobs: what they make."""

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_TAG: Final = "jobs"
_NUMBER: Final = parameter("job_id", "the number of a job")
_BODY: Final = record(
    ("prompt",),
    prompt={"type": "string", "minLength": 1},
    mode={"enum": ["t2i", "i2i", "t2v", "i2v"]},
    model={"type": ["string", "null"]},
)
_SAID: Final[dict[str, Any]] = {"type": "string", "pattern": "\\S"}
_ASKED: Final = {
    "prompt": _SAID,
    "job_type": {"enum": [*JOB_TYPES]},
    "apiModelId": _SAID,
    "input": _OBJECT,
    "metadata": _OBJECT,
}


def _one(summary: str, *, streams: bool = False, reply: dict[str, Any] | None = None) -> dict[str, Any]:
    answer = named("Job") if reply is None else reply
    return operation(summary, _TAG, reply=answer, error="OpenAIError", parameters=[_NUMBER], streams=streams)


def _more(made: dict[str, Any], **statuses: str) -> dict[str, Any]:
    for status, words in statuses.items():
        made["responses"][status.removeprefix("s")] = {"description": words}
    return made


_REFUSED: Final = {
    "s402": "it would cost more than it may",
    "s409": "the idempotency key was used for another request, or the job is in another state",
    "s422": "the model cannot be asked this",
}


def _function(summary: str, *needed: str) -> dict[str, Any]:
    made = operation(
        summary, _TAG, body=record(("prompt", *needed), **_ASKED), reply=named("QueuedJob"), error="JobRefusal"
    )
    return {"post": _more(made, **_REFUSED)}


_CREATE: Final = operation("Have a picture or a video made.", _TAG, body=_BODY, reply=named("Job"), error="OpenAIError")
_CREATE["responses"]["202"] = {
    "description": "the job is accepted",
    "content": {"application/json": {"schema": named("Job")}},
}
_RESULT: Final = text_reply("A result.", _TAG, "application/octet-stream")
_RESULT["responses"]["200"]["content"] |= {kind: {"schema": _TEXT} for kind in ("image/*", "video/*")}
_RESULT["parameters"] = [_NUMBER, {**parameter("index", "which of them"), "schema": {"type": "integer", "minimum": 0}}]
_HOOK: Final = operation(
    "What a provider tells of a job, signed.",
    _TAG,
    reply=record(("outcome",), outcome={"enum": ["taken", "repeated", "ignored"]}),
    error="OpenAIError",
    parameters=[parameter("backend", "whose webhook it is"), _NUMBER],
    open_to_all=True,
)

JOBS: Final = Description(
    {
        "/v1/jobs": {
            "get": operation(
                "The jobs of this key.",
                _TAG,
                reply=record(("data",), object={"const": "list"}, data=listed(named("Job"))),
                error="OpenAIError",
            ),
            "post": _more(_CREATE, **_REFUSED),
        },
        "/v1/jobs/{job_id}": {"get": _one("A job.")},
        "/v1/jobs/{job_id}/cancel": {"post": _more(_one("Cancel a job."), s409="it has ended already")},
        "/v1/jobs/{job_id}/retry": {"post": _more(_one("Ask for a job again."), s409="it has not failed")},
        "/v1/jobs/{job_id}/events": {"get": _one("What happens to a job, as it happens.", streams=True, reply=_OBJECT)},
        "/v1/jobs/{job_id}/results/{index}": {"get": _RESULT},
        "/v1/jobs/webhooks/{backend}/{job_id}": {"post": _HOOK},
        "/functions/v1/queue-job": _function("Queue a picture or a video.", "job_type"),
        "/functions/v1/fal-image": _function("Have fal make a picture or a video."),
        "/functions/v1/replicate-image": _function("Have Replicate make a picture.", "apiModelId"),
    },
    {
        "Job": record(
            ("id", "state"),
            id=_TEXT,
            object={"const": "job"},
            mode=_TEXT,
            state=_TEXT,
            model=_TEXT,
            results=listed(_OBJECT),
        ),
        "QueuedJob": record(("jobId", "status"), success={"type": "boolean"}, jobId=_TEXT, status=_TEXT),
        "JobRefusal": record(("error",), success={"const": False}, error=_TEXT, code=_TEXT),
    },
)
"""Jobs, and the document's functions that make them."""
