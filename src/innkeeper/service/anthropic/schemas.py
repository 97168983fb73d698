"""What Anthropic's surface takes and answers: messages, and how many tokens they are."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.service.openai.schemas import COUNT, MODEL, TEXT_PART
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

SCHEMAS: Final[dict[str, Any]] = {
    "MessagesRequest": record(
        ("model", "messages"),
        model=MODEL,
        messages=listed(named("AnthropicMessage"), least=1),
        max_tokens=COUNT,
        system={"anyOf": [TEXT, listed(TEXT_PART)]},
        tools=listed(record(("name", "input_schema"), name={"type": "string", "pattern": "\\S"}, input_schema=OBJECT)),
        tool_choice=MAYBE_OBJECT,
        stop_sequences={"type": ["array", "null"]},
        temperature=NUMBER,
        top_p=NUMBER,
        top_k=NUMBER,
        metadata=MAYBE_OBJECT,
        stream=FLAG,
    ),
    "CountRequest": record(
        ("model", "messages"),
        model=MODEL,
        messages=listed(named("AnthropicMessage"), least=1),
        system={"anyOf": [TEXT, listed(TEXT_PART)]},
    ),
    "AnthropicMessage": record(
        ("role", "content"),
        role={"type": "string", "enum": ["user", "assistant"]},
        content={"anyOf": [TEXT, listed(TEXT_PART, least=1)]},
    ),
    "AnthropicAnswer": record(
        ("id", "type", "role", "model", "content", "stop_reason", "usage"),
        id=TEXT,
        type=constant("message"),
        role=constant("assistant"),
        model=TEXT,
        content=listed(OBJECT),
        stop_reason=MAYBE_TEXT,
        usage=OBJECT,
    ),
    "TokenCount": record(("input_tokens",), input_tokens={"type": "integer"}),
    "AnthropicError": record(
        ("type", "error"), type=constant("error"), error=record(("type", "message"), type=TEXT, message=TEXT)
    ),
}
