"""``jobs.queue``, ``jobs.fal`` and ``jobs.replicate``: jobs in the fields and spellings of the requirement document's functions.

They are the same jobs as those of ``jobs.submit``; only names differ. Unlike the original's, a ``contentType`` of a client's
decides nothing, a batch is as large as was asked, a seed of 0 is a seed, and references are results that are kept here, or open
addresses (dynamic-prompting reference 6.4 to 6.6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypedDict

import msgspec
from msgspec import Meta

from innkeeper.gate.judgement import Judgement
from innkeeper.jobs.job import Mode
from innkeeper.jobs.media import MediaNote, MediaRequest
from innkeeper.operations.jobs.jobs import Priority, submit_media
from innkeeper.operations.operation import Operation, read_body
from innkeeper.operations.scope import Scope
from innkeeper.prompt.errors import UsageError, Where

JOB_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("sdxl_image", "sdxl_image_fast", "sdxl_image_high", "image", "image_fast", "image_high"), "i"),
    **dict.fromkeys(("video", "video_fast", "video_high", "wan_video", "wan_video_fast", "wan_video_high"), "v"),
    **dict.fromkeys(("fal_image", "fal_video", "replicate_image", "rv51_fast", "rv51_high"), "i"),
    "fal_video": "v",
}
"""The document's kinds of jobs: what they make."""

_STEPS: Final = {"fast": 15, "high": 30}
_SECONDS: Final = 5.0

_NAMES: Final = {
    "count": "num_images",
    "guidance": "guidance_scale",
    "fps": "frame_rate",
    "picture": "reference_image_url",
    "strength": "denoise_strength",
    "model": "apiModelId",
    "content_mode": "contentType",
}


class MediaNumbers(msgspec.Struct, frozen=True, kw_only=True, rename=_NAMES):
    """Parameters that a body has itself, in ``metadata``, or, by the model's own names, in ``input``."""

    negative_prompt: str = ""
    seed: float | None = None
    count: float | None = None
    width: float | None = None
    height: float | None = None
    steps: float | None = None
    guidance: float | None = None
    duration: float | None = None
    fps: float | None = None


class QueueDetails(MediaNumbers, frozen=True, kw_only=True):
    """What is wanted beside the prompt. ``reference_strength`` is how much of a picture stays."""

    picture: str = ""
    aspect_ratio: str = ""
    strength: float | None = None
    reference_strength: float | None = None


class QueueJob(QueueDetails, frozen=True, kw_only=True):
    """A picture or a video that is wanted. ``input`` has parameters by the model's own names."""

    prompt: str = ""
    job_type: Annotated[str, Meta(extra_json_schema={"enum": [*JOB_TYPES]})] = ""
    modality: str = ""
    model: str = ""
    quality: str = ""
    content_mode: Any = None
    callback_url: str | None = None
    max_cost: float | None = None
    priority: Priority = 0
    metadata: QueueDetails | None = None
    input: dict[str, Any] = {}


class QueuedJob(TypedDict):
    """A job in the words of the document's functions: the three names under which clients look for its number."""

    success: bool
    jobId: str
    job_id: str
    id: str
    status: str
    model: str
    seed: int | None
    contentType: str
    notes: list[dict[str, Any]]
    resultUrl: str | None
    images: list[str]
    error: str | None
    statusUrl: str
    message: str


async def queue(request: QueueJob, scope: Scope) -> QueuedJob:
    """Queue a picture or a video."""
    return await _queued(request, scope, None)


async def queue_fal(request: QueueJob, scope: Scope) -> QueuedJob:
    """Have fal make a picture or a video."""
    return await _queued(request, scope, "fal")


async def queue_replicate(request: QueueJob, scope: Scope) -> QueuedJob:
    """Have Replicate make a picture."""
    return await _queued(request, scope, "replicate")


async def _queued(request: QueueJob, scope: Scope, provider: str | None) -> QueuedJob:
    job = await submit_media(
        media_request(request, provider),
        scope,
        content_mode=request.content_mode,
        callback_url=request.callback_url,
        max_cost=request.max_cost,
        priority=request.priority,
    )
    return queued_job(job.to_dict(), provider)


def media_request(request: QueueJob, provider: str | None) -> MediaRequest:
    """The media request in a function's. ``provider`` is whose function it is; None: ``queue-job``. Raises `UsageError`."""
    kind = _kind(request, provider)
    if provider == "replicate" and not request.model:
        hint = "the id or the key of a model of the catalogue"
        raise UsageError("apiModelId is needed", where=Where(path="apiModelId"), hint=hint)
    own = read_body(MediaNumbers, request.input, _SPELLINGS, lax=True)
    numbers = {name: _first(getattr(request, name), getattr(own, name)) for name in _NUMBERS}
    if numbers["steps"] is None and provider is None and kind == "i":
        numbers["steps"] = _STEPS.get(request.quality)
    if numbers["duration"] is None and provider is None and kind == "v":
        numbers["duration"] = _SECONDS
    strength = request.strength
    if strength is None and request.reference_strength is not None:
        strength = round(1 - request.reference_strength, 6)
    whole = {name: None if numbers[name] is None else int(numbers[name]) for name in _WHOLE}
    return MediaRequest(
        prompt=request.prompt,
        mode=Mode(f"{'i' if request.picture else 't'}2{kind}"),
        model=request.model or None,
        negative_prompt=request.negative_prompt or own.negative_prompt,
        image=request.picture or None,
        aspect_ratio=request.aspect_ratio or None,
        strength=strength if request.picture else None,
        extra={name: value for name, value in request.input.items() if name not in _READ},
        **{**numbers, **whole, "count": _first(whole["count"], 1)},
    )


_NUMBERS: Final = ("seed", "count", "width", "height", "steps", "guidance", "duration", "fps")
_WHOLE: Final = ("seed", "count", "width", "height", "steps")


def _first(value: Any, other: Any) -> Any:
    return other if value is None else value


def _kind(request: QueueJob, provider: str | None) -> str:
    if not request.job_type and provider is not None:
        return "v" if request.modality == "video" else "i"
    if request.job_type not in JOB_TYPES:
        hint = f"one of {', '.join(JOB_TYPES)}"
        raise UsageError("job_type is missing or unknown", where=Where(path="job_type"), hint=hint)
    return JOB_TYPES[request.job_type]


def queued_job(job: Mapping[str, Any], provider: str | None = None) -> QueuedJob:
    """A job in the words of the document's functions, with a note where its model is not at the function's ``provider``."""
    other = provider is not None and job["backend"] not in {"", provider}
    notes = [MediaNote("provider", provider, job["backend"], "the model is at another provider")] if other else []
    status = {"succeeded": "completed", "dispatched": "processing", "running": "processing", "storing": "processing"}
    results = [each["url"] for each in job["results"]]
    return {
        "success": job["error"] is None,
        "jobId": job["id"],
        "job_id": job["id"],
        "id": job["id"],
        "status": status.get(job["state"], job["state"]),
        "model": job["model"],
        "seed": job["seed"],
        "contentType": job["tier"],
        "notes": [*job["notes"], *map(msgspec.to_builtins, notes)],
        "resultUrl": results[0] if results else None,
        "images": results,
        "error": None if job["error"] is None else job["error"]["message"],
        "statusUrl": f"/v1/jobs/{job['id']}",
        "message": f"the job is {job['state']}",
    }


_SPELLINGS: Final = {
    "prompt": ("enhanced_prompt", "prompt"),
    "job_type": ("jobType",),
    "model": ("api_model_id", "model_key", "model_key_override", "model"),
    "content_mode": ("content_mode", "contentMode", "contentType"),
    "picture": ("image_url", "start_reference_url", "first_frame", "image"),
    "count": ("num_outputs", "count"),
    "steps": ("num_inference_steps",),
    "guidance": ("guide_scale",),
    "fps": ("fps", "frame_rate"),
    "strength": ("strength",),
}
_READ: Final = frozenset(
    (
        *("prompt", "negative_prompt", "seed", "num_images", "num_outputs", "count", "width", "height", "steps"),
        *("num_inference_steps", "guidance_scale", "guide_scale", "duration", "fps", "frame_rate"),
    )
)
"""Parameters in ``input`` that are read by their names here, and are not left to the model."""

_EXAMPLE: Final = {"prompt": "a red barn at dawn", "job_type": "sdxl_image_fast", "seed": 7}

QUEUE: Final = Operation(
    "jobs.queue", queue, _SPELLINGS, beneath="metadata", lax=True, examples=(_EXAMPLE,), judged=Judgement.TASK
)
FAL: Final = Operation("jobs.fal", queue_fal, _SPELLINGS, beneath="metadata", lax=True, judged=Judgement.TASK)
REPLICATE: Final = Operation(
    "jobs.replicate", queue_replicate, _SPELLINGS, beneath="metadata", lax=True, judged=Judgement.TASK
)
