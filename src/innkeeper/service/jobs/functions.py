"""``/functions/v1/queue-job``, ``fal-image`` and ``replicate-image``: jobs in the shapes of the requirement document's functions.

They are the same jobs as those of ``/v1/jobs``; only names differ. Unlike the original's, a ``contentType``
of a client's decides nothing, a batch is as large as was asked, a seed of 0 is a seed, and references are results that are kept
here, or open addresses (dynamic-prompting reference 6.4 to 6.6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.service.answers import json_body, json_response
from innkeeper.service.error_facts import error_headers, function_facts
from innkeeper.service.jobs.description import JOB_TYPES
from innkeeper.service.jobs.door import JobsDoor
from innkeeper.service.jobs.routes import number, submitted

_STEPS: Final = {"fast": 15, "high": 30}
_SECONDS: Final = 5


def function_routes(door: JobsDoor) -> list[BaseRoute]:
    """The routes."""

    def function(provider: str | None) -> Callable[[WebRequest], Awaitable[Response]]:
        async def call(web: WebRequest) -> Response:
            try:
                body = await json_body(web)
                job = await submitted(door, web, media_fields(body, provider), _terms(body))
            except InnkeeperError as error:
                return _failure(error)
            return json_response(function_reply(job.to_dict()))

        return call

    return [
        Route("/functions/v1/queue-job", function(None), methods=["POST"]),
        Route("/functions/v1/fal-image", function("fal"), methods=["POST"]),
        Route("/functions/v1/replicate-image", function("replicate"), methods=["POST"]),
    ]


def media_fields(body: Mapping[str, Any], provider: str | None) -> dict[str, Any]:
    """The fields of a `MediaRequest` in a function's body. ``provider`` is whose function it is; None: ``queue-job``.

    Raises `UsageError`, `FormatError`.
    """
    more, own = _objects(body)
    kind = _kind(body, provider)
    picture = next((body[name] for name in _PICTURES if body.get(name)), None)
    picture = picture or next((more[name] for name in _PICTURES if more.get(name)), None)
    fields: dict[str, Any] = {
        "prompt": str(body.get("enhanced_prompt") or body.get("prompt") or ""),
        "mode": f"{'i' if picture else 't'}2{kind}",
        "model": _model(body, provider),
        "negative_prompt": str(body.get("negative_prompt") or own.pop("negative_prompt", None) or ""),
        "image": picture,
        "aspect_ratio": body.get("aspect_ratio") or more.get("aspect_ratio"),
        "strength": _strength(body, more) if picture else None,
    }
    for name, others in _NUMBERS.items():
        said = next((place[one] for place in (body, more, own) for one in others if place.get(one) is not None), None)
        value = number(said, others[0])
        fields[name] = value if value is None or name in {"guidance", "duration", "fps"} else int(value)
        for one in others:
            own.pop(one, None)
    if fields["count"] is None:
        fields["count"] = 1
    if fields["steps"] is None and provider is None and kind == "i":
        fields["steps"] = _STEPS.get(str(body.get("quality")))
    if kind == "v" and fields["duration"] is None and provider is None:
        fields["duration"] = float(_SECONDS)
    return {**{name: value for name, value in fields.items() if value is not None}, "extra": own}


_PICTURES: Final = ("reference_image_url", "image_url", "start_reference_url", "first_frame", "image")
_NUMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "seed": ("seed",),
    "count": ("num_images", "num_outputs", "count"),
    "width": ("width",),
    "height": ("height",),
    "steps": ("steps", "num_inference_steps"),
    "guidance": ("guidance_scale", "guide_scale"),
    "duration": ("duration",),
    "fps": ("fps", "frame_rate"),
}


def _objects(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """``metadata``, which tells more of the request, and ``input``, parameters by the model's own names."""
    for name in ("metadata", "input"):
        if not isinstance(body.get(name, {}), (Mapping, type(None))):
            raise UsageError(f"{name} is an object")
    own = dict(body.get("input") or EMPTY)
    own.pop("prompt", None)
    return body.get("metadata") or EMPTY, own


def _kind(body: Mapping[str, Any], provider: str | None) -> str:
    said = body.get("job_type", body.get("jobType"))
    if said is None and provider is not None:
        return "v" if body.get("modality") == "video" else "i"
    if not isinstance(said, str) or said not in JOB_TYPES:
        raise UsageError("job_type is missing or unknown", hint=f"one of {', '.join(JOB_TYPES)}")
    return JOB_TYPES[said]


def _model(body: Mapping[str, Any], provider: str | None) -> str | None:
    names = ("apiModelId", "api_model_id", "model_key", "model_key_override", "model")
    said = next((body[name] for name in names if body.get(name)), None)
    if said is None and provider == "replicate":
        raise UsageError("apiModelId is needed", hint="the id or the key of a model of the catalogue")
    return None if said is None else str(said)


def _strength(body: Mapping[str, Any], more: Mapping[str, Any]) -> float | None:
    """How much may change: as it is said, or what the strength of the reference leaves."""
    for place in (body, more):
        for name in ("denoise_strength", "strength"):
            if (value := number(place.get(name), name)) is not None:
                return value
        if (kept := number(place.get("reference_strength"), "reference_strength")) is not None:
            return round(1 - kept, 6)
    return None


def _terms(body: Mapping[str, Any]) -> dict[str, Any]:
    said = body.get("content_mode", body.get("contentMode", body.get("contentType")))
    more = {name: body[name] for name in ("callback_url", "max_cost") if body.get(name) is not None}
    return {"content_mode": said, **more}


def function_reply(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job in the words of the document's functions: the three names under which clients look for its number."""
    status = {"succeeded": "completed", "dispatched": "processing", "running": "processing", "storing": "processing"}
    results = [one["url"] for one in job["results"]]
    return {
        "success": job["error"] is None,
        "jobId": job["id"],
        "job_id": job["id"],
        "id": job["id"],
        "status": status.get(job["state"], job["state"]),
        "model": job["model"],
        "seed": job["seed"],
        "contentType": job["tier"],
        "notes": job["notes"],
        "resultUrl": results[0] if results else None,
        "images": results,
        "error": None if job["error"] is None else job["error"]["message"],
        "statusUrl": f"/v1/jobs/{job['id']}",
        "message": f"the job is {job['state']}",
    }


def _failure(error: InnkeeperError) -> Response:
    body = function_facts(error)
    if "missing_fields" in error.details:
        body["missing_fields"] = error.details["missing_fields"]
    return json_response(body, error.http_status, error_headers(error))
