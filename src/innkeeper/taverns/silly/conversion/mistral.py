"""Mistral: ids of nine characters, no system message after an assistant's, no user message after a tool's.

(Vectors ``converters``, function ``mistral``.) Unlike SillyTavern, joined parts stay parts.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from innkeeper.dialects.speakers import lead
from innkeeper.taverns.silly.conversion.talk import Message, Talk, text_of, unnamed

__all__ = ["convert_mistral"]

_ID_CHARS: Final = 9


def convert_mistral(talk: Talk) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    messages: list[Message] = []
    for index in range(len(talk.messages)):
        message = _with_ids(_named(talk, index))
        if message["role"] == "system" and messages and messages[-1]["role"] == "assistant":
            talk.report.repair("a system message after an assistant's was sent as the user's", index)
            message = {**message, "role": "user"}
        messages.append(message)
    return {"messages": _tools_answered(talk, messages)}


def _named(talk: Talk, index: int) -> Message:
    """With the name in front of the text; a name that stands there already stays in its field."""
    message = talk.messages[index]
    name = message.get("name")
    if not name or (message["role"] == "system" and not name.startswith("example_")):
        return message
    text = text_of(message, index)
    if message["role"] == "system":
        return {**unnamed(message), "content": talk.named(talk.speakers.lead_example(name, text), text, index)}
    prefix = lead(name, text)
    return {**unnamed(message), "content": talk.named(prefix, text, index)} if prefix else message


def _with_ids(message: Message) -> Message:
    made = dict(message)
    if "tool_calls" in made:
        made["tool_calls"] = [{**call, "id": _id(call.get("id"))} for call in made["tool_calls"]]
    if made["role"] == "tool":
        made["tool_call_id"] = _id(made.get("tool_call_id"))
    return made


def _id(found: Any) -> str:
    """An id as the provider wants one: the same for the same."""
    return hashlib.sha512(str(found).encode("utf-8", "replace")).hexdigest()[:_ID_CHARS]


def _tools_answered(talk: Talk, messages: list[Message]) -> list[Message]:
    """User messages right after a tool's, joined to the user's last message before."""
    kept: list[Message] = []
    for index, message in enumerate(messages):
        after_tool = bool(kept) and kept[-1]["role"] == "tool" and message["role"] == "user"
        place = _last_user(kept) if after_tool else None
        if place is None:
            kept.append(message)
            continue
        talk.report.repair("a user message after a tool's was joined to the user's last one", index)
        kept[place] = {**kept[place], "content": _joined(kept[place]["content"], message["content"])}
    return kept


def _last_user(messages: list[Message]) -> int | None:
    return next((place for place in range(len(messages) - 1, -1, -1) if messages[place]["role"] == "user"), None)


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, list) or isinstance(second, list):
        return [*_parts(first), *_parts(second)]
    return f"{first or ''}\n\n{second or ''}"


def _parts(content: Any) -> list[Message]:
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
