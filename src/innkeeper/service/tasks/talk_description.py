"""What the paths of conversations, memories and characters are, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from innkeeper.library.memory import SCOPES
from innkeeper.service.openapi.document import Description, listed, named, operation, parameter, record
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


def _stored(summary: str, reply: dict[str, Any], body: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    made = operation(summary, _TAG, reply=reply, error="OpenAIError", body=body, **more)
    made["responses"]["404"]["description"] = "there is no such thing, or it is somebody else's"
    return made


def _made(summary: str, body: dict[str, Any], more: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    made = _stored(summary, _OBJECT, body, parameters=more)
    made["responses"]["201"] = made["responses"].pop("200")
    return made


def _id(name: str) -> list[dict[str, Any]]:
    return [parameter(f"{name}_id", f"the id of the {name}")]


_LIST: Final = record(("object", "data"), object={"const": "list"}, data=listed(_OBJECT))
_LIMIT: Final = [parameter("limit", "how many at most", "query")]
_GONE: Final = record(("id",), id=_TEXT)
_PIN: Final = record(pinned=_FLAG)
_OPENING: Final = record(
    character_id=_MAYBE, user_character_id=_MAYBE, conversation_type=_MAYBE, memory_tier=_MAYBE, title=_MAYBE
)
_KEY: Final = [parameter("idempotency-key", "the same key is the same conversation", "header")]
_REMEMBER: Final = record(
    ("conversation_id", "content"), conversation_id=_TEXT, content=_TEXT, scope=_TIER, kind=_TEXT, pinned=_FLAG
)
_CARD: Final = record(("name",), name=_TEXT, description=_MAYBE)
_TALK: Final = "/v1/conversations/{conversation_id}"

TALK: Final = Description(
    {
        "/functions/v1/playground-chat": _turn(function_path, "Take a turn of a conversation.", "PlaygroundTurn"),
        "/functions/v1/roleplay-chat": _turn(function_path, "Take a turn with a character.", "RoleplayTurn"),
        "/v1/chat": _turn(service_path, "Take a turn of a conversation.", "PlaygroundTurn"),
        "/v1/roleplay": _turn(service_path, "Take a turn with a character.", "RoleplayTurn"),
        "/v1/conversations": {
            "get": _stored("List your conversations, the one used last first.", _LIST, parameters=_LIMIT),
            "post": _made("Begin a conversation.", _OPENING, _KEY),
        },
        _TALK: {
            "get": _stored("Show a conversation.", _OBJECT, parameters=_id("conversation")),
            "post": _stored("Change a conversation.", _OBJECT, record(), parameters=_id("conversation")),
            "delete": _stored("Take a conversation out, for good.", _GONE, parameters=_id("conversation")),
        },
        f"{_TALK}/messages": {
            "get": _stored(
                "List its newest messages.",
                _LIST,
                parameters=[*_id("conversation"), *_LIMIT, parameter("before", "only earlier numbers", "query")],
            )
        },
        f"{_TALK}/messages/{{message_id}}": {
            "post": _stored(
                "Keep a message in every prompt, or no more.",
                _OBJECT,
                _PIN,
                parameters=[*_id("conversation"), *_id("message")],
            ),
            "delete": _stored("Delete a message.", _GONE, parameters=[*_id("conversation"), *_id("message")]),
        },
        "/v1/memories": {
            "get": _stored(
                "List what is remembered.",
                _LIST,
                parameters=[
                    *_LIMIT,
                    parameter("scope", f"one of {', '.join(SCOPES)}", "query"),
                    parameter("scope_id", "the conversation or the character", "query"),
                ],
            ),
            "post": _made("Remember something.", _REMEMBER),
        },
        "/v1/memories/{memory_id}": {
            "post": _stored("Keep a memory before others, or no more.", _OBJECT, _PIN, parameters=_id("memory")),
            "delete": _stored("Forget something.", _GONE, parameters=_id("memory")),
        },
        "/v1/characters": {
            "get": _stored("List your characters.", _LIST, parameters=_LIMIT),
            "post": _made("Store a character.", _CARD),
        },
        "/v1/characters/{character_id}": {
            "get": _stored("Show a character.", _OBJECT, parameters=_id("character")),
            "post": _stored("Change a character.", _OBJECT, record(), parameters=_id("character")),
            "delete": _stored("Take a character out.", _GONE, parameters=_id("character")),
        },
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
