"""Replies: a scene as its owner gets it, with the document's names and without internal names of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from innkeeper.prompt.data import thaw

if TYPE_CHECKING:
    from innkeeper.library.rows import SceneRow, SceneTemplateRow
    from innkeeper.operations.scenes.composing import ComposedScene
    from innkeeper.operations.scenes.scenes import MadeScene

_FIELDS: Final = (
    *("id", "number", "conversation_id", "character_id", "user_character_id", "template_id", "scene_name"),
    *("scene_description", "scene_text", "text_source", "scene_prompt", "scene_type", "scene_mode", "generation_mode"),
    *("previous_scene_id", "job_id", "status", "error_kind", "seed", "tier", "state", "context", "figures"),
    *("generation_metadata", "created_at", "updated_at"),
)


def scene_facts(row: SceneRow) -> dict[str, Any]:
    """Return a stored scene as JSON-ready data, with the path of its picture."""
    columns = row.to_dict()
    fields = {name: columns[name] for name in _FIELDS}
    return {
        **fields,
        "object": "scene",
        "image_url": None if row.image_url is None else f"/v1/scenes/{row.id}/image",
        "negative_prompt": row.request.get("negative_prompt", ""),
    }


def template_facts(row: SceneTemplateRow) -> dict[str, Any]:
    """Return a template as JSON-ready data."""
    hidden = {"tenant", "user_id"}
    return {**{name: value for name, value in row.to_dict().items() if name not in hidden}, "object": "scene_template"}


def composed_reply(scene: ComposedScene) -> dict[str, Any]:
    """Return the reply for a scene that was only composed."""
    return {"success": True, **thaw(scene.to_dict())}


def made_reply(made: MadeScene) -> dict[str, Any]:
    """Return a scene with its job, under all names that the document's clients use; a repeated request gets the same reply."""
    row, job = made.scene, made.job
    facts = scene_facts(row)
    metadata, context = facts.pop("generation_metadata"), facts.pop("context")
    return {
        **facts,
        **metadata,
        "object": "scene",
        "success": job.error_kind is None,
        "scene_id": row.id,
        "scene_context": context,
        "jobId": job.id,
        "job_id": job.id,
        "id": job.id,
        "status": _STATUS.get(job.state.value, job.state.value),
        "imageUrl": facts["image_url"],
        "model": job.model_key,
        "seed": job.request.get("seed"),
        "contentType": job.tier,
        "notes": thaw(job.notes),
        "degraded": bool(metadata.get("reasons")),
        "route_trace": job.to_dict()["route_trace"],
        "error": job.error_message,
        "statusUrl": f"/v1/scenes/{row.id}",
        "message": f"the scene's job is {job.state}",
    }


_STATUS: Final = {
    "succeeded": "completed",
    "dispatched": "processing",
    "running": "processing",
    "storing": "processing",
}
"""The document's words for the states of a job."""
