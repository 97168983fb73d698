"""What the paths of scenes are, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.service.openapi.document import Description, listed, named, operation, parameter, record
from innkeeper.service.tasks.description import function_path, service_path

_TAG: Final = "scenes"
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_MAYBE: Final[dict[str, Any]] = {"type": ["string", "null"]}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_HELD: Final[dict[str, Any]] = {"type": ["object", "null"]}
_ANY: Final[dict[str, Any]] = {}

_ASKED: Final = record(
    **dict.fromkeys(("conversation_id", "character_id", "user_character_id", "scene_template_id"), _MAYBE),
    **dict.fromkeys(("message", "scene_name", "scene_description", "scene_context"), _MAYBE),
    **dict.fromkeys(("scene_prompt_override", "scene_default_clothing", "negative_prompt"), _MAYBE),
    **dict.fromkeys(("previous_scene_id", "current_scene_id", "current_scene_image_url"), _MAYBE),
    **dict.fromkeys(("scene_preview_image_url", "selected_image_model", "selected_i2i_model"), _MAYBE),
    **dict.fromkeys(("character", "user_character", "scene_clothing_overrides", "consistency_settings"), _HELD),
    scene_style={"enum": ["character_only", "pov", "both_characters", None]},
    scene_continuity_enabled={"type": ["boolean", "null"]},
    content_tier=_ANY,
    strict={"type": ["boolean", "null"]},
    max_cost={"type": ["number", "null"], "minimum": 0},
)
_TEMPLATE: Final = record(("name", "scene_prompt"), name=_TEXT, scene_prompt=_TEXT)


def _one(what: str) -> dict[str, Any]:
    return parameter(f"{what}_id", f"the id of a {what}")


def _page(summary: str, reply: dict[str, Any], what: str = "", body: dict[str, Any] | None = None) -> dict[str, Any]:
    named_ones = [_one(what)] if what else []
    return operation(summary, _TAG, reply=reply, error="OpenAIError", parameters=named_ones, body=body)


def _created(made: dict[str, Any]) -> dict[str, Any]:
    made["responses"]["201"] = made["responses"].pop("200")
    return made


def _picture() -> dict[str, Any]:
    made = _page("A scene's picture.", _ANY, "scene")
    made["responses"]["200"]["content"] = {"image/*": {"schema": {"type": "string", "contentMediaType": "image/*"}}}
    return made


_LIST: Final = record(("data",), object={"const": "list"}, data=listed(_OBJECT))
_DELETED: Final = record(("id", "deleted"), id=_TEXT, deleted={"const": True})

SCENES: Final = Description(
    {
        "/functions/v1/generate-scene": function_path("Have a scene's picture made.", _ASKED, named("MadeScene")),
        "/v1/scenes": {
            **service_path("Have a scene's picture made.", _ASKED, named("MadeScene")),
            "get": _page("The scenes of this key.", _LIST),
        },
        "/v1/scenes:compose": service_path(
            "Compose a scene's prompt with its figures.", _ASKED, named("ComposedScene")
        ),
        "/v1/scenes/{scene_id}": {"get": _page("A scene.", named("Scene"), "scene")},
        "/v1/scenes/{scene_id}/image": {"get": _picture()},
        "/v1/scenes/states/{conversation_id}": {
            "get": _page("What the scene of a conversation is like.", named("SceneState"), "conversation"),
            "post": _page("Change or pin what it is like.", named("SceneState"), "conversation", _OBJECT),
        },
        "/v1/scenes/templates": {
            "get": _page("The templates of scenes that this key sees.", _LIST),
            "post": _created(_page("Make a template of scenes.", _OBJECT, body=_TEMPLATE)),
        },
        "/v1/scenes/templates/{template_id}": {
            "get": _page("A template of scenes.", _OBJECT, "template"),
            "post": _page("Change a template of scenes.", _OBJECT, "template", _OBJECT),
            "delete": _page("Take out a template of scenes.", _DELETED, "template"),
        },
    },
    {
        "Scene": record(
            ("id", "status", "scene_prompt", "scene_mode"),
            id=_TEXT,
            object={"const": "scene"},
            status=_TEXT,
            scene_prompt=_TEXT,
            scene_mode=_TEXT,
            image_url=_MAYBE,
            figures=listed(_OBJECT),
            state=_OBJECT,
        ),
        "ComposedScene": record(
            ("success", "scene_prompt", "figures", "scene_mode"),
            success={"type": "boolean"},
            scene_prompt=_TEXT,
            negative_prompt=_TEXT,
            figures=listed(_OBJECT),
            scene_mode=_TEXT,
            generation_mode=_TEXT,
            scene_context=_OBJECT,
            state=_OBJECT,
            dropped=listed(_OBJECT),
            degraded={"type": "boolean"},
            reasons=listed(_TEXT),
        ),
        "MadeScene": record(
            ("success", "scene_id", "jobId", "status", "scene_prompt"),
            success={"type": "boolean"},
            scene_id=_TEXT,
            jobId=_TEXT,
            status=_TEXT,
            scene_prompt=_TEXT,
            imageUrl=_MAYBE,
            figures=listed(_OBJECT),
        ),
        "SceneState": record(
            ("state", "version"), object={"const": "scene_state"}, state=_OBJECT, version={"type": "integer"}
        ),
    },
)
"""Scenes, their states and templates."""
