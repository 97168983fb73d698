"""What the paths of conversations, memories and characters are, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from innkeeper.library.memory import SCOPES
from innkeeper.service.openapi.document import Description, named, record
from innkeeper.service.tasks.description import OUTCOME, function_path, service_path

_TAG: Final = "conversations"
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_MAYBE: Final[dict[str, Any]] = {"type": ["string", "null"]}
_FLAG: Final[dict[str, Any]] = {"type": ["boolean", "null"]}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_ANY: Final[dict[str, Any]] = {}
_TIER: Final[dict[str, Any]] = {"enum": [*SCOPES]}

_MEMORY: Final = record(("content",), content=_TEXT, scope=_TIER, kind=_TEXT, pinned=_FLAG)
_ASKED: Final = record(
    message=_MAYBE,
    kickoff=_FLAG,
    **{"continue": _FLAG},
    conversation_id=_MAYBE,
    character_id=_MAYBE,
    character={"type": ["object", "null"]},
    user_character_id=_MAYBE,
    conversation_type=_MAYBE,
    client_msg_id=_MAYBE,
    profile=_MAYBE,
    intent=_MAYBE,
    content_tier=_ANY,
    model_key_override=_MAYBE,
    memory_tier=_MAYBE,
    memory_enabled=_FLAG,
    remember={"type": ["array", "null"], "items": {"anyOf": [_TEXT, _MEMORY]}},
    scene_context=_MAYBE,
    scene_system_prompt=_MAYBE,
    scene_starters={"type": ["array", "null"]},
    system_prompt_override=_MAYBE,
    prompt_template_id=_MAYBE,
    scene_generation=_FLAG,
    stream=_FLAG,
    strict=_FLAG,
    max_cost={"type": ["number", "null"], "minimum": 0},
)
_TURN: Final = {
    "success": {"const": True},
    "response": _TEXT,
    "conversation_id": _TEXT,
    "message_id": _TEXT,
    "replayed": {"type": "boolean"},
    "memory": _OBJECT,
    "context": _OBJECT,
    "post_processing": _OBJECT,
    **OUTCOME,
}
_NEEDED: Final = ("success", "response", "conversation_id", "message_id", "replayed", "memory", "context")


def _turn(path: Callable[..., dict[str, Any]], summary: str, reply: str) -> dict[str, Any]:
    """A path that takes turns, whose reply may come as it is written."""
    made = path(summary, _ASKED, named(reply))
    made["post"]["responses"]["200"]["content"]["text/event-stream"] = {}
    return made


TALK: Final = Description(
    {
        "/functions/v1/playground-chat": _turn(function_path, "Take a turn of a conversation.", "PlaygroundTurn"),
        "/functions/v1/roleplay-chat": _turn(function_path, "Take a turn with a character.", "RoleplayTurn"),
        "/v1/chat": _turn(service_path, "Take a turn of a conversation.", "PlaygroundTurn"),
        "/v1/roleplay": _turn(service_path, "Take a turn with a character.", "RoleplayTurn"),
    },
    {
        "PlaygroundTurn": record(
            (*_NEEDED, "context_type", "content_tier", "template_meta"),
            **_TURN,
            context_type=_TEXT,
            content_tier=_TEXT,
            template_meta=_OBJECT,
            enforcement_diagnostics=_OBJECT,
        ),
        "RoleplayTurn": record(
            (*_NEEDED, "memory_updated", "usedFallback"),
            **_TURN,
            memory_updated={"type": "boolean"},
            usedFallback={"type": "boolean"},
        ),
    },
)
"""Conversations with all that belongs to them."""
