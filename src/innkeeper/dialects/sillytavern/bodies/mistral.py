"""Mistral: its own message rules.

Ids have nine characters; there is no system message after an assistant's, no user message after a tool's. (sillytavern.md 72;
vectors ``converters``, function ``mistral``.) Unlike SillyTavern, joined parts stay parts.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, text_of, unnamed
from innkeeper.dialects.sillytavern.messages import lead

_ID_CHARS: Final = 9


def convert_mistral(conversion: ChatConversion) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    messages = [_with_ids(_named(conversion, index)) for index in range(len(conversion.messages))]
    return {"messages": _interrupted(conversion, _tools_answered(conversion, messages))}


def _interrupted(conversion: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    """System messages right after an assistant's as the user's."""
    sent = list(messages)
    for index in range(1, len(sent)):
        if sent[index]["role"] == "system" and sent[index - 1]["role"] == "assistant":
            conversion.report.repair("a system message after an assistant's was sent as the user's", index)
            sent[index] = {**sent[index], "role": "user"}
    return sent


def _named(conversion: ChatConversion, index: int) -> RawMessage:
    """With the name in front of the text; a name that stands there already stays in its field."""
    message = conversion.messages[index]
    name = message.get("name")
    if not name or (message["role"] == "system" and not name.startswith("example_")):
        return message
    if message["role"] == "system":
        return {**unnamed(message), "content": conversion.example_text(message, index)}
    text = text_of(message, index)
    prefix = lead(name, text)
    return {**unnamed(message), "content": conversion.named(prefix, text, index)} if prefix else message


def _with_ids(message: RawMessage) -> RawMessage:
    ids: dict[str, Any] = {}
    if "tool_calls" in message:
        ids["tool_calls"] = [{**call, "id": _id(call.get("id"))} for call in message["tool_calls"]]
    if message["role"] == "tool":
        ids["tool_call_id"] = _id(message.get("tool_call_id"))
    return {**message, **ids}


def _id(call_id: Any) -> str:
    """An id as the provider wants one: the same for the same."""
    return hashlib.sha512(str(call_id).encode("utf-8", "replace")).hexdigest()[:_ID_CHARS]


def _tools_answered(conversion: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    """User messages right after a tool's, joined to the user's last message before."""
    merged: list[RawMessage] = []
    for index, message in enumerate(messages):
        after_tool = bool(merged) and merged[-1]["role"] == "tool" and message["role"] == "user"
        position = _last_user(merged) if after_tool else None
        if position is None:
            merged.append(message)
            continue
        conversion.report.repair("a user message after a tool's was joined to the user's last one", index)
        merged[position] = {**merged[position], "content": _joined(merged[position]["content"], message["content"])}
    return merged


def _last_user(messages: list[RawMessage]) -> int | None:
    """The index of the user's last message with text."""
    indices = range(len(messages) - 1, -1, -1)
    return next((index for index in indices if messages[index]["role"] == "user" and messages[index]["content"]), None)


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, list) or isinstance(second, list):
        return [*_parts(first), *_parts(second)]
    return f"{first or ''}\n\n{second or ''}"


def _parts(content: Any) -> list[RawMessage]:
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
