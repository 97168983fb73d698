"""What OpenAI's surface takes and answers: chat completions, Responses, completions, embeddings, models.

The schemas name what is read here. What else a provider's own API takes may stand beside it: it is passed on to a provider who
speaks the same protocol, and noted for any other.
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.inference.requests.request import MAX_CHOICES
from innkeeper.service.openapi.document import (
    FLAG,
    MAYBE_OBJECT,
    MAYBE_TEXT,
    NUMBER,
    OBJECT,
    TEXT,
    constant,
    listed,
    named,
    record,
)

COUNT: Final = {"type": ["integer", "null"], "minimum": 1}
_ANY: Final[dict[str, Any]] = {}
_STOP: Final = {"description": "a text or texts"}
MODEL: Final = {"type": "string", "minLength": 1, "description": "a route or a profile"}
_CHOICES: Final = {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_CHOICES, "description": "how many answers"}
_AS_MANY: Final = {"type": "null", "description": "what n is, where it is said: all that are made are given"}


_SAMPLING: Final[dict[str, dict[str, Any]]] = {
    "temperature": NUMBER,
    "top_p": NUMBER,
    "frequency_penalty": NUMBER,
    "presence_penalty": NUMBER,
    "seed": NUMBER,
    "user": MAYBE_TEXT,
}
_STREAMING: Final[dict[str, dict[str, Any]]] = {
    "stream": FLAG,
    "stream_options": {"type": ["object", "null"], "properties": {"include_usage": FLAG}},
}

TEXT_PART: Final = record(("type", "text"), type=constant("text"), text=TEXT)
IMAGE_PART: Final = record(("type", "image_url"), type=constant("image_url"), image_url=record(("url",), url=TEXT))
FUNCTION: Final = record(("name",), name={"type": "string", "pattern": "\\S"}, description=TEXT, parameters=OBJECT)

SCHEMAS: Final[dict[str, Any]] = {
    "ChatRequest": record(
        ("model", "messages"),
        model=MODEL,
        messages=listed(named("ChatMessage"), least=1),
        tools=listed(record(("type", "function"), type=constant("function"), function=FUNCTION)),
        tool_choice=_ANY,
        response_format=MAYBE_OBJECT,
        max_tokens=COUNT,
        max_completion_tokens=COUNT,
        n=_CHOICES,
        stop=_STOP,
        metadata=MAYBE_OBJECT,
        **_SAMPLING,
        **_STREAMING,
    ),
    "ChatMessage": record(
        ("role", "content"),
        role={"type": "string", "enum": ["system", "developer", "user", "assistant"]},
        content={"anyOf": [TEXT, listed({"anyOf": [TEXT_PART, IMAGE_PART]}, least=1)]},
    ),
    "ChatCompletion": record(
        ("id", "object", "created", "model", "choices"),
        id=TEXT,
        object=constant("chat.completion"),
        created={"type": "integer"},
        model=TEXT,
        choices=listed(
            record(
                ("index", "message", "finish_reason"),
                index={"type": "integer"},
                message=record(("role", "content"), role=constant("assistant"), content=MAYBE_TEXT),
                finish_reason=MAYBE_TEXT,
            ),
            least=1,
        ),
        usage=MAYBE_OBJECT,
    ),
    "CompletionRequest": record(
        ("model", "prompt"),
        model=MODEL,
        prompt=TEXT,
        max_tokens=COUNT,
        n=_CHOICES,
        best_of=_AS_MANY,
        stop=_STOP,
        **_SAMPLING,
        **_STREAMING,
    ),
    "Completion": record(
        ("id", "object", "created", "model", "choices"),
        id=TEXT,
        object=constant("text_completion"),
        created={"type": "integer"},
        model=TEXT,
        choices=listed(record(("index", "text", "finish_reason"), index={"type": "integer"}, text=TEXT), least=1),
        usage=MAYBE_OBJECT,
    ),
    "ResponsesRequest": record(
        ("model", "input"),
        model=MODEL,
        input={"anyOf": [TEXT, listed(named("InputMessage"), least=1)]},
        instructions=MAYBE_TEXT,
        previous_response_id=MAYBE_TEXT,
        store=FLAG,
        stream=FLAG,
        background={"enum": [False, None]},
        tools=listed({"allOf": [FUNCTION, record(("type",), type=constant("function"))]}),
        tool_choice=_ANY,
        text=MAYBE_OBJECT,
        reasoning=MAYBE_OBJECT,
        max_output_tokens=COUNT,
        metadata=MAYBE_OBJECT,
        temperature=NUMBER,
        top_p=NUMBER,
        user=MAYBE_TEXT,
    ),
    "InputMessage": record(
        ("role", "content"),
        type=constant("message"),
        role={"type": "string", "enum": ["system", "developer", "user", "assistant"]},
        content={
            "anyOf": [TEXT, listed(record(("type", "text"), type=constant("input_text"), text=MAYBE_TEXT), least=1)]
        },
    ),
    "Response": record(
        ("id", "object", "created_at", "created", "status", "model", "output", "usage", "error"),
        id=TEXT,
        object=constant("response"),
        created_at={"type": "integer"},
        created={"type": "integer"},
        status={"enum": ["completed", "incomplete", "failed", "in_progress", "cancelled", "queued"]},
        model=TEXT,
        output=listed(OBJECT),
        usage=MAYBE_OBJECT,
        error=MAYBE_OBJECT,
    ),
    "DeletedResponse": record(
        ("id", "object", "deleted"), id=TEXT, object=constant("response"), deleted={"const": True}
    ),
    "InputItems": record(
        ("object", "data", "has_more"), object=constant("list"), data=listed(OBJECT), has_more={"type": "boolean"}
    ),
    "EmbeddingsRequest": record(("model", "input"), model=MODEL, input={"description": "a text or texts"}),
    "Embeddings": record(("data",), data=listed(OBJECT), usage=MAYBE_OBJECT),
    "Model": record(("id", "object", "owned_by"), id=TEXT, object=constant("model"), owned_by=TEXT),
    "ModelList": record(("object", "data"), object=constant("list"), data=listed(named("Model"))),
    "OpenAIError": record(
        ("error",),
        error=record(("message", "type", "code", "param"), message=TEXT, type=TEXT, code=MAYBE_TEXT, param=MAYBE_TEXT),
    ),
}
