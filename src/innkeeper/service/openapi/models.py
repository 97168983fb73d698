"""What the model surfaces take and answer: OpenAI's chat completions, Responses and others, Anthropic's messages.

The schemas name what is read here. What else a provider's own API takes may stand beside it: it is passed on to a provider who
speaks the same protocol, and noted for any other.
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.inference.requests.request import MAX_CHOICES
from innkeeper.service.openapi.document import Description, listed, named, operation, parameter, record

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_FLAG: Final = {"type": ["boolean", "null"]}
_NUMBER: Final = {"type": ["number", "null"]}
_COUNT: Final = {"type": ["integer", "null"], "minimum": 1}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_ANY: Final[dict[str, Any]] = {}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
_MAYBE_OBJECT: Final = {"type": ["object", "null"]}
_STOP: Final = {"description": "a text or texts"}
_MODEL: Final = {"type": "string", "minLength": 1, "description": "a route or a profile"}
_CHOICES: Final = {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_CHOICES, "description": "how many answers"}
_AS_MANY: Final = {"type": "null", "description": "what n is, where it is said: all that are made are given"}


def _known(value: str) -> dict[str, Any]:
    return {"type": "string", "const": value}


_SAMPLING: Final[dict[str, dict[str, Any]]] = {
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "frequency_penalty": _NUMBER,
    "presence_penalty": _NUMBER,
    "seed": _NUMBER,
    "user": _MAYBE_TEXT,
}
_STREAMING: Final[dict[str, dict[str, Any]]] = {
    "stream": _FLAG,
    "stream_options": {"type": ["object", "null"], "properties": {"include_usage": _FLAG}},
}

_TEXT_PART: Final = record(("type", "text"), type=_known("text"), text=_TEXT)
_IMAGE_PART: Final = record(("type", "image_url"), type=_known("image_url"), image_url=record(("url",), url=_TEXT))
FUNCTION: Final = record(("name",), name={"type": "string", "pattern": "\\S"}, description=_TEXT, parameters=_OBJECT)

_SCHEMAS: Final[dict[str, Any]] = {
    "ChatRequest": record(
        ("model", "messages"),
        model=_MODEL,
        messages=listed(named("ChatMessage"), least=1),
        tools=listed(record(("type", "function"), type=_known("function"), function=FUNCTION)),
        tool_choice=_ANY,
        response_format=_MAYBE_OBJECT,
        max_tokens=_COUNT,
        max_completion_tokens=_COUNT,
        n=_CHOICES,
        stop=_STOP,
        metadata=_MAYBE_OBJECT,
        **_SAMPLING,
        **_STREAMING,
    ),
    "ChatMessage": record(
        ("role", "content"),
        role={"type": "string", "enum": ["system", "developer", "user", "assistant"]},
        content={"anyOf": [_TEXT, listed({"anyOf": [_TEXT_PART, _IMAGE_PART]}, least=1)]},
    ),
    "ChatCompletion": record(
        ("id", "object", "created", "model", "choices"),
        id=_TEXT,
        object=_known("chat.completion"),
        created={"type": "integer"},
        model=_TEXT,
        choices=listed(
            record(
                ("index", "message", "finish_reason"),
                index={"type": "integer"},
                message=record(("role", "content"), role=_known("assistant"), content=_MAYBE_TEXT),
                finish_reason=_MAYBE_TEXT,
            ),
            least=1,
        ),
        usage=_MAYBE_OBJECT,
    ),
    "CompletionRequest": record(
        ("model", "prompt"),
        model=_MODEL,
        prompt=_TEXT,
        max_tokens=_COUNT,
        n=_CHOICES,
        best_of=_AS_MANY,
        stop=_STOP,
        **_SAMPLING,
        **_STREAMING,
    ),
    "Completion": record(
        ("id", "object", "created", "model", "choices"),
        id=_TEXT,
        object=_known("text_completion"),
        created={"type": "integer"},
        model=_TEXT,
        choices=listed(record(("index", "text", "finish_reason"), index={"type": "integer"}, text=_TEXT), least=1),
        usage=_MAYBE_OBJECT,
    ),
    "ResponsesRequest": record(
        ("model", "input"),
        model=_MODEL,
        input={"anyOf": [_TEXT, listed(named("InputMessage"), least=1)]},
        instructions=_MAYBE_TEXT,
        previous_response_id=_MAYBE_TEXT,
        store=_FLAG,
        stream=_FLAG,
        background={"enum": [False, None]},
        tools=listed({"allOf": [FUNCTION, record(("type",), type=_known("function"))]}),
        tool_choice=_ANY,
        text=_MAYBE_OBJECT,
        reasoning=_MAYBE_OBJECT,
        max_output_tokens=_COUNT,
        metadata=_MAYBE_OBJECT,
        temperature=_NUMBER,
        top_p=_NUMBER,
        user=_MAYBE_TEXT,
    ),
    "InputMessage": record(
        ("role", "content"),
        type=_known("message"),
        role={"type": "string", "enum": ["system", "developer", "user", "assistant"]},
        content={
            "anyOf": [_TEXT, listed(record(("type", "text"), type=_known("input_text"), text=_MAYBE_TEXT), least=1)]
        },
    ),
    "Response": record(
        ("id", "object", "created_at", "created", "status", "model", "output", "usage", "error"),
        id=_TEXT,
        object=_known("response"),
        created_at={"type": "integer"},
        created={"type": "integer"},
        status={"enum": ["completed", "incomplete", "failed", "in_progress", "cancelled", "queued"]},
        model=_TEXT,
        output=listed(_OBJECT),
        usage=_MAYBE_OBJECT,
        error=_MAYBE_OBJECT,
    ),
    "DeletedResponse": record(
        ("id", "object", "deleted"), id=_TEXT, object=_known("response"), deleted={"const": True}
    ),
    "InputItems": record(
        ("object", "data", "has_more"), object=_known("list"), data=listed(_OBJECT), has_more={"type": "boolean"}
    ),
    "EmbeddingsRequest": record(("model", "input"), model=_MODEL, input={"description": "a text or texts"}),
    "Embeddings": record(("data",), data=listed(_OBJECT), usage=_MAYBE_OBJECT),
    "Model": record(("id", "object", "owned_by"), id=_TEXT, object=_known("model"), owned_by=_TEXT),
    "ModelList": record(("object", "data"), object=_known("list"), data=listed(named("Model"))),
    "MessagesRequest": record(
        ("model", "messages"),
        model=_MODEL,
        messages=listed(named("AnthropicMessage"), least=1),
        max_tokens=_COUNT,
        system={"anyOf": [_TEXT, listed(_TEXT_PART)]},
        tools=listed(record(("name", "input_schema"), name={"type": "string", "pattern": "\\S"}, input_schema=_OBJECT)),
        tool_choice=_MAYBE_OBJECT,
        stop_sequences={"type": ["array", "null"]},
        temperature=_NUMBER,
        top_p=_NUMBER,
        top_k=_NUMBER,
        metadata=_MAYBE_OBJECT,
        stream=_FLAG,
    ),
    "CountRequest": record(
        ("model", "messages"),
        model=_MODEL,
        messages=listed(named("AnthropicMessage"), least=1),
        system={"anyOf": [_TEXT, listed(_TEXT_PART)]},
    ),
    "AnthropicMessage": record(
        ("role", "content"),
        role={"type": "string", "enum": ["user", "assistant"]},
        content={"anyOf": [_TEXT, listed(_TEXT_PART, least=1)]},
    ),
    "AnthropicAnswer": record(
        ("id", "type", "role", "model", "content", "stop_reason", "usage"),
        id=_TEXT,
        type=_known("message"),
        role=_known("assistant"),
        model=_TEXT,
        content=listed(_OBJECT),
        stop_reason=_MAYBE_TEXT,
        usage=_OBJECT,
    ),
    "TokenCount": record(("input_tokens",), input_tokens={"type": "integer"}),
    "OpenAIError": record(
        ("error",),
        error=record(
            ("message", "type", "code", "param"), message=_TEXT, type=_TEXT, code=_MAYBE_TEXT, param=_MAYBE_TEXT
        ),
    ),
    "AnthropicError": record(
        ("type", "error"), type=_known("error"), error=record(("type", "message"), type=_TEXT, message=_TEXT)
    ),
}

_ERROR: Final = "OpenAIError"
_ID: Final = parameter("response_id", "a response's `id`")


def _asked(summary: str, body: str, reply: str, *, error: str = _ERROR, streams: bool = False) -> dict[str, Any]:
    tag = "anthropic" if error == "AnthropicError" else "openai"
    made = operation(summary, tag, body=named(body), reply=named(reply), error=error, streams=streams)
    return {"post": made}


def _looked(summary: str, reply: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return operation(summary, "openai", reply=named(reply), error=_ERROR, parameters=parameters)


MODELS: Final = Description(
    {
        "/v1/chat/completions": _asked("Answer a chat.", "ChatRequest", "ChatCompletion", streams=True),
        "/v1/completions": _asked("Go on with a text.", "CompletionRequest", "Completion", streams=True),
        "/v1/embeddings": _asked("Embed texts, where the model can.", "EmbeddingsRequest", "Embeddings"),
        "/v1/responses": _asked("Answer, and keep the response.", "ResponsesRequest", "Response", streams=True),
        "/v1/responses/{response_id}": {
            "get": _looked("A response that was kept.", "Response", _ID),
            "delete": _looked("Forget a response.", "DeletedResponse", _ID),
        },
        "/v1/responses/{response_id}/cancel": {"post": _looked("Stop a response under way.", "Response", _ID)},
        "/v1/responses/{response_id}/input_items": {"get": _looked("What a response was asked.", "InputItems", _ID)},
        "/v1/models": {"get": _looked("The routes and profiles that this key may use.", "ModelList")},
        "/v1/models/{name}": {"get": _looked("One of them.", "Model", parameter("name", "its name"))},
        "/v1/messages": _asked(
            "Answer a chat, as Anthropic has it.",
            "MessagesRequest",
            "AnthropicAnswer",
            error="AnthropicError",
            streams=True,
        ),
        "/v1/messages/count_tokens": _asked(
            "How many tokens a request has.", "CountRequest", "TokenCount", error="AnthropicError"
        ),
    },
    _SCHEMAS,
)
"""The model surfaces."""
