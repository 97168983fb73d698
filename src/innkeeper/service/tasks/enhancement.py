"""``/functions/v1/enhance-prompt`` in the requirement document's shapes, and ``/v1/enhance``: the same under one roof.

All spellings of the document's fields are read: ``jobType`` and ``job_type``, ``prompt`` and ``original_prompt``,
``selectedModel`` and ``enhancement_model`` (dynamic-prompting reference 11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.routing import BaseRoute, Route

from innkeeper.library.tier import Ceilings
from innkeeper.operations.tasks.enhancement import COPY, MODIFY, Enhancement, enhance, enhancement_reply
from innkeeper.operations.tasks.scene_texts import SCENE_TEXTS, scene_text, scene_text_reply
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.service.tasks.calls import Opened, TaskCall, flag_of, function, service, text_of


def enhancement_routes(opened: Opened) -> list[BaseRoute]:
    """The routes."""
    return [
        Route("/functions/v1/enhance-prompt", function(opened, "enhance", enhanced), methods=["POST"]),
        Route("/v1/enhance", service(opened, "enhance", enhanced), methods=["POST"]),
    ]


async def enhanced(call: TaskCall) -> Mapping[str, Any]:
    """``enhance-prompt``. Raises what `enhance` raises, and `UsageError` for a body that does not fit."""
    wanted = enhancement_fields(call.body, owner=call.owner, ceilings=call.ceilings, number=call.number)
    scene = wanted.job_type in SCENE_TEXTS
    answer = await (scene_text if scene else enhance)(call.tasks, wanted, **call.terms())
    return (scene_text_reply if scene else enhancement_reply)(wanted, answer)


_COPIES: Final = ("exact_copy", "exact_copy_mode", "exactCopyMode")
_BASES: Final = ("base_prompt", "original_prompt", "originalPrompt", "original_enhanced_prompt")
_OVERLAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "shot": ("shot_type", "shotType"),
    "angle": ("camera_angle", "cameraAngle"),
    "style": ("style", "style_prompt", "styles"),
    "suffix": ("suffix", "trigger_words"),
}
"""What a screen adds to the prompt afterwards: room is kept for it."""


def enhancement_fields(
    body: Mapping[str, Any], *, owner: str = "", ceilings: Ceilings | None = None, number: str = ""
) -> Enhancement:
    """What a body asks for. Raises `UsageError` for a field of another type."""
    more = body.get("metadata")
    if not isinstance(more, (Mapping, type(None))):
        raise UsageError("metadata must be an object", where=Where(path="metadata"))
    more = more or EMPTY
    both = {**more, **{name: value for name, value in body.items() if value is not None}}
    reference = _reference(both)
    base = text_of(both, *_BASES)
    return Enhancement(
        text=text_of(body, "prompt") or ("" if reference else text_of(body, "original_prompt", "originalPrompt")),
        base=base,
        job_type=text_of(both, "jobType", "job_type") or "sdxl_image",
        target=text_of(both, "model_id", "modelId", "target_model") or None,
        enhancer=text_of(both, "selectedModel", "enhancement_model", "enhancer_model") or None,
        content_mode=next((both[name] for name in _TIERS if both.get(name) is not None), None),
        ceilings=ceilings or Ceilings(),
        negative=text_of(both, "negative_prompt", "negativePrompt"),
        overlays={name: text for name, names in _OVERLAYS.items() if (text := text_of(both, *names))},
        reference=reference,
        generation_mode="i2i" if _has_picture(both) else "txt2img",
        quality=text_of(both, "quality"),
        format=text_of(both, "format"),
        user_id=owner or None,
        request_id=number or None,
    )


_TIERS: Final = ("contentType", "content_mode", "contentMode", "content_tier", "contentRating")
_PICTURES: Final = ("reference_image_url", "referenceImageUrl", "image_url", "image")


def _reference(both: Mapping[str, Any]) -> Any:
    if any(flag_of(both, name) for name in _COPIES):
        return COPY
    said = text_of(both, "reference_mode", "referenceMode")
    return said if said in {COPY, MODIFY} else ""


def _has_picture(both: Mapping[str, Any]) -> bool:
    said = text_of(both, "generation_mode", "generationMode")
    return said == "i2i" or (not said and any(both.get(name) for name in _PICTURES))
