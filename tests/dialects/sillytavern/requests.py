"""Small requests for the tests of SillyTavern's bodies."""

from __future__ import annotations

from typing import Any

from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage
from innkeeper.dialects.sillytavern.messages import Speakers
from innkeeper.dialects.sillytavern.page import page_options
from innkeeper.dialects.sillytavern.request import SAMPLING, ProviderRequest, ServerConfig
from innkeeper.dialects.sillytavern.source_bodies import source_body
from innkeeper.prompt.note import NoteKind

PICTURE: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CALL: dict[str, Any] = {"id": "k1", "type": "function", "function": {"name": "look", "arguments": '{"x":1}'}}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
}


def said(role: str, content: Any, **fields: Any) -> RawMessage:
    """One message."""
    return {"role": role, "content": content, **fields}


CALLED = [
    said("user", "Look."),
    said("assistant", None, tool_calls=[CALL]),
    said("tool", "A ferry.", tool_call_id="k1"),
]
"""A question, a call and its result."""


def conversion(*messages: RawMessage, group: tuple[str, ...] = ()) -> ChatConversion:
    """A conversion of these messages between Mira and Tomas."""
    return ChatConversion.of(list(messages), Speakers("Mira", "Tomas", group))


def provider_request(
    *messages: RawMessage,
    source: str = "custom",
    model: str = "m",
    tools: tuple[Any, ...] = (),
    server: dict[str, Any] | None = None,
    **options: Any,
) -> ProviderRequest:
    """What the page asks ``source`` for with SillyTavern's defaults and these options."""
    talk = conversion(*(messages or (said("user", "Hi"),)))
    asked = page_options({**SAMPLING, **options}, source, model, talk.report)
    return ProviderRequest(
        conversion=talk,
        source=source,
        model=model,
        options={**asked, **({"tool_choice": "auto"} if tools else {})},
        tools=tools,
        server=ServerConfig.of(server, "test"),
    )


def body_of(*messages: RawMessage, source: str = "custom", **options: Any) -> dict[str, Any]:
    """The body that ``source`` is sent."""
    return source_body(provider_request(*messages, source=source, **options))


def kinds(report: Report) -> list[NoteKind]:
    """The kinds of a report's notes."""
    return [note.kind for note in report.notes()]
