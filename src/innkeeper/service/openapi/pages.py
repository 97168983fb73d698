"""The pages of the service itself, the prompt service, and prompts without a model."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.service.openapi.document import (
    Description,
    closed,
    listed,
    named,
    operation,
    parameter,
    record,
    text_reply,
)
from innkeeper.service.openapi.models import FUNCTION
from innkeeper.service.telemetry.metrics import CONTENT_TYPE

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_TAG: Final = "service"
_HEALTH: Final = operation("That the service is there.", _TAG, reply=named("Health"), error="Problem", open_to_all=True)
_READY: Final = operation(
    "Whether it can take calls.", _TAG, reply=named("Readiness"), error="Problem", open_to_all=True
)
_READY["responses"]["503"] = {
    "description": "it starts or stops",
    "content": {"application/json": {"schema": named("Readiness")}},
}

PROBLEM: Final = {
    "Refusal": record(("error",)),
    "Problem": record(
        error_code=_TEXT,
        message=_TEXT,
        detail=_TEXT,
        problem=record(("kind", "message"), kind=_TEXT, message=_TEXT, hint=_TEXT, details=_OBJECT),
    ),
}
"""The gateway's errors, and the service's own."""

PAGES: Final = Description(
    {
        "/health": {"get": _HEALTH, "post": _HEALTH},
        "/ready": {"get": _READY},
        "/metrics": {"get": text_reply("What Prometheus reads.", _TAG, CONTENT_TYPE)},
        "/openapi.json": {"get": operation("This document.", _TAG, reply=_OBJECT, error="Problem")},
        "/docs": {"get": text_reply("All operations, to read.", _TAG, "text/html")},
        "/": {"get": text_reply("The same page.", _TAG, "text/html")},
    },
    {
        "Health": record(("status",), status={"const": "ok"}),
        "Readiness": record(("status",), status={"enum": ["ready", "starting", "stopping"]}, waiting_for=listed(_TEXT)),
        **PROBLEM,
    },
)
"""Whether the service is well, and what there is."""

_NUMBER: Final = {"type": ["number", "null"]}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}

_RUN: Final = operation(
    "Run a tool's prompt.", "run", body=named("RunRequest"), reply=named("RunResponse"), error="ConnectError"
)
_RUN["responses"]["415"] = {"description": "a type of body that Connect has not"}

RUN: Final = Description(
    {"/prompt.v1.PromptService/Run": {"post": _RUN}},
    {
        "RunRequest": closed(
            record(
                ("tool_name", "input"),
                tool_name={"type": "string", "pattern": "\\S"},
                input={"type": "string", "minLength": 1},
                instructions=_MAYBE_TEXT,
                model=_MAYBE_TEXT,
                temperature=_NUMBER,
                top_p=_NUMBER,
                max_output_tokens={"type": ["integer", "null"], "minimum": 1},
                tools=listed(FUNCTION),
                tool_choice={},
                metadata={"type": ["object", "null"]},
            )
        ),
        "RunResponse": record(("id", "model", "output"), id=_TEXT, model=_TEXT, output={"type": "array"}),
        "ConnectError": record(("code",), code=_TEXT, message=_TEXT),
    },
)
"""The prompt service over Connect, in JSON; its streams, and protobuf, are described by ``prompt.proto``."""

_TURN: Final = record(
    request=_OBJECT,
    profile=_TEXT,
    messages=listed(_OBJECT),
    dialect={"type": ["string", "null"]},
    model={"type": ["string", "null"]},
)


def _made(summary: str, reply: dict[str, Any], body: dict[str, Any] = _TURN) -> dict[str, Any]:
    return {"post": operation(summary, "prompts", body=body, reply=reply, error="OpenAIError")}


PROMPTS: Final = Description(
    {
        "/v1/prompts/build": _made("The prompt of a request, or of a turn over a profile.", _OBJECT),
        "/v1/prompts/explain": _made("What is in a prompt, and why.", _OBJECT),
        "/v1/prompts/diff": _made(
            "What one prompt has that another has not.", _OBJECT, record(("a", "b"), a=_TURN, b=_TURN)
        ),
        "/v1/prompts/count": _made(
            "Tokens of a text, of messages, or of a prompt.",
            _OBJECT,
            {**_TURN, "properties": {**_TURN["properties"], "text": {"type": ["string", "null"]}}},
        ),
        "/v1/prompts/plans/{number}": {
            "get": operation(
                "The plan behind an answer.",
                "prompts",
                reply=_OBJECT,
                error="OpenAIError",
                parameters=[parameter("number", "what `x-innkeeper-plan` says")],
            )
        },
    }
)
"""Prompts alone."""
