"""What the paths of tasks are, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.service.openapi.document import operation
from innkeeper.service.paths import REFUSED

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}

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


def _described(summary: str, body: dict[str, Any], reply: dict[str, Any], error: str) -> dict[str, Any]:
    made = operation(summary, "tasks", body=body, reply=reply, error=error)
    for status, words in REFUSED.items():
        made["responses"].setdefault(status, {"description": words})
    return {"post": made}


def function_path(summary: str, body: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """A function of the document."""
    return _described(summary, body, reply, "FunctionRefusal")


def service_path(summary: str, body: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """A service of ours."""
    return _described(summary, body, reply, "OpenAIError")
