"""``prompts.enhance``: make a prompt for an image or video model, in the requirement document's fields and spellings.

For the job types ``scene_creation`` and ``scene_starters`` it gives texts of a scene (dynamic-prompting reference 3.7 and 11).
"""

from __future__ import annotations

from typing import Any, Final, Literal, Required, cast

import msgspec

from innkeeper.gate.judgement import Judgement
from innkeeper.operations.operation import Operation
from innkeeper.operations.scope import Scope, TaskTerms
from innkeeper.operations.tasks.answer import TaskOutcome
from innkeeper.operations.tasks.enhancement import COPY, MODIFY, Enhancement, enhance, enhancement_reply
from innkeeper.operations.tasks.scene_texts import SCENE_TEXTS, scene_text, scene_text_reply

Picture = str | dict[str, Any] | list[Any] | bool | float
"""Whatever a client sends in the place of a picture: only whether there is one counts."""

_NAMES: Final = {
    "base": "base_prompt",
    "job_type": "jobType",
    "target": "model_id",
    "enhancer": "selectedModel",
    "content_mode": "contentType",
    "negative": "negative_prompt",
    "shot": "shot_type",
    "angle": "camera_angle",
    "picture": "reference_image_url",
}


class EnhanceDetails(TaskTerms, frozen=True, kw_only=True, rename=_NAMES):
    """What the prompt is for, and what else there is of it.

    ``shot``, ``angle``, ``style`` and ``suffix`` are added to the prompt afterwards: room is kept for them.
    """

    base: str = ""
    job_type: str = "sdxl_image"
    target: str = ""
    enhancer: str = ""
    content_mode: Any = None
    negative: str = ""
    shot: str = ""
    angle: str = ""
    style: str = ""
    suffix: str = ""
    exact_copy: bool = False
    reference_mode: str = ""
    generation_mode: str = ""
    picture: Picture = False
    quality: str = ""
    format: str = ""

    @property
    def reference(self) -> Literal["", "copy", "modify"]:
        """What is done with a reference."""
        if self.exact_copy or self.reference_mode == COPY:
            return "copy"
        return "modify" if self.reference_mode == MODIFY else ""

    @property
    def mode(self) -> Literal["txt2img", "i2i"]:
        """Whether a picture is made from another one."""
        starts = self.generation_mode == "i2i" or (not self.generation_mode and bool(self.picture))
        return "i2i" if starts else "txt2img"


class EnhancePrompt(EnhanceDetails, frozen=True, kw_only=True):
    """A short idea for an image or video model. ``metadata`` may have the fields that the body has not."""

    prompt: str = ""
    original: str = msgspec.field(default="", name="original_prompt")
    metadata: EnhanceDetails | None = None


class EnhancedPrompt(TaskOutcome, total=False):
    """The prompt, or the texts of a scene, and how it came about."""

    success: Required[bool]
    original_prompt: Required[str]
    enhanced_prompt: Required[str | None]
    enhanced: bool
    enhancement_strategy: str
    enhancement_metadata: dict[str, Any]
    negative_prompt: str | None
    dropped: list[dict[str, Any]]


async def enhance_prompt(request: EnhancePrompt, scope: Scope) -> EnhancedPrompt:
    """Enhance a prompt."""
    overlays = {name: getattr(request, name) for name in ("shot", "angle", "style", "suffix")}
    enhancement = Enhancement(
        text=request.prompt or ("" if request.reference else request.original),
        base=request.base,
        job_type=request.job_type,
        target=request.target or None,
        enhancer=request.enhancer or None,
        content_mode=request.content_mode,
        ceilings=scope.ceilings,
        negative=request.negative,
        overlays={name: text for name, text in overlays.items() if text},
        reference=request.reference,
        generation_mode=request.mode,
        quality=request.quality,
        format=request.format,
        user_id=scope.owner.user or None,
        request_id=scope.number or None,
    )
    tasks, is_scene = await scope.tasks(), request.job_type in SCENE_TEXTS
    answer = await (scene_text if is_scene else enhance)(tasks, enhancement, **scope.terms(request))
    return cast("EnhancedPrompt", (scene_text_reply if is_scene else enhancement_reply)(enhancement, answer))


ENHANCE: Final = Operation(
    "prompts.enhance",
    enhance_prompt,
    {
        "original": ("originalPrompt",),
        "base": ("base_prompt", "original_prompt", "originalPrompt", "original_enhanced_prompt"),
        "job_type": ("job_type",),
        "target": ("modelId", "target_model"),
        "enhancer": ("enhancement_model", "enhancer_model"),
        "content_mode": ("content_mode", "contentMode", "content_tier", "contentRating"),
        "negative": ("negativePrompt",),
        "shot": ("shotType",),
        "angle": ("cameraAngle",),
        "style": ("style_prompt", "styles"),
        "suffix": ("trigger_words",),
        "exact_copy": ("exact_copy_mode", "exactCopyMode"),
        "reference_mode": ("referenceMode",),
        "generation_mode": ("generationMode",),
        "picture": ("referenceImageUrl", "image_url", "image"),
    },
    beneath="metadata",
    examples=(
        {"prompt": "a fox in the snow", "jobType": "sdxl_image", "quality": "high", "selectedModel": "qwen_instruct"},
    ),
    judged=Judgement.TASK,
)
