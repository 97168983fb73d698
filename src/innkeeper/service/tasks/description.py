"""What the paths of tasks are, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.service.openapi.document import Description, named, operation, record

_TAG: Final = "tasks"
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_ANY: Final[dict[str, Any]] = {}

OUTCOME: Final[dict[str, Any]] = {
    "request_id": _TEXT,
    "degraded": {"type": "boolean"},
    "reasons": {"type": "array", "items": _TEXT},
    "execution": {"enum": ["model", "rules", "none"]},
    "resolution": _OBJECT,
    "tier": _OBJECT,
    "tokens": _OBJECT,
    "route_trace": {"type": ["object", "null"]},
    "usage": _OBJECT,
    "cost_usd": {"type": ["number", "null"]},
    "latency_ms": _OBJECT,
}
"""What every answer of a task tells of how it came about."""

_REFUSED: Final = {
    "402": "it would cost more than it may: `estimate` and `left` are in US dollars",
    "403": "the key may not do this, or the texts do not pass in any tier",
    "422": "`strict` was asked for, and only a makeshift answers",
    "502": "no provider answered as it should",
}


def _described(summary: str, body: dict[str, Any], reply: dict[str, Any], error: str) -> dict[str, Any]:
    made = operation(summary, _TAG, body=body, reply=reply, error=error)
    for status, words in _REFUSED.items():
        made["responses"].setdefault(status, {"description": words})
    return {"post": made}


def function_path(summary: str, body: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """A function of the document."""
    return _described(summary, body, reply, "TaskRefusal")


def service_path(summary: str, body: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """A service of ours."""
    return _described(summary, body, reply, "OpenAIError")


_ENHANCE: Final = record(
    ("prompt",),
    prompt={"type": "string", "pattern": r"\S"},
    jobType=_TEXT,
    selectedModel=_TEXT,
    model_id=_TEXT,
    contentType=_ANY,
    quality=_TEXT,
    metadata={"type": ["object", "null"]},
    strict={"type": "boolean"},
    max_cost={"type": ["number", "null"], "minimum": 0},
)

TASKS: Final = Description(
    {
        "/functions/v1/enhance-prompt": function_path("Enhance a prompt.", _ENHANCE, named("EnhancedPrompt")),
        "/v1/enhance": service_path("Enhance a prompt.", _ENHANCE, named("EnhancedPrompt")),
    },
    {
        "EnhancedPrompt": record(
            ("success", "original_prompt", "enhanced_prompt"),
            success={"type": "boolean"},
            original_prompt=_TEXT,
            enhanced_prompt={"type": ["string", "null"]},
            enhanced={"type": "boolean"},
            enhancement_strategy=_TEXT,
            enhancement_metadata=_OBJECT,
            negative_prompt={"type": ["string", "null"]},
            dropped={"type": "array", "items": _OBJECT},
            **OUTCOME,
        ),
        "TaskRefusal": record(
            ("success", "error", "code"), success={"const": False}, error=_TEXT, code=_TEXT, route_trace=_ANY
        ),
    },
)
"""Enhancement, and what the library would decide. Rooms with further tasks have descriptions of their own."""
