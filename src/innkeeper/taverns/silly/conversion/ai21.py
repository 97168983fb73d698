"""AI21: one system message at the top, neighbours of one role as one message. Text only.

(Vectors ``converters``, function ``ai21``.) Unlike SillyTavern, joined parts give their texts.
"""

from __future__ import annotations

from typing import Any

from innkeeper.dialects.chat_message import part_text
from innkeeper.dialects.speakers import lead
from innkeeper.taverns.silly.conversion.talk import Message, Talk, text_of, unnamed

__all__ = ["convert_ai21"]


def convert_ai21(talk: Talk) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    messages = talk.messages
    count = next((place for place, message in enumerate(messages) if message["role"] != "system"), len(messages))
    found = [_named(talk, index) for index in range(count, len(messages))] or [talk.placeholder()]
    if count:
        joined = "\n\n".join(_system(talk, index) for index in range(count)).strip()
        found.insert(0, {"role": "system", "content": joined})
    return {"messages": _merged(talk, found)}


def _system(talk: Talk, index: int) -> str:
    message = talk.messages[index]
    text = text_of(message, index) if "name" in message else _text(talk, message["content"])
    return talk.named(talk.speakers.lead_example(message.get("name"), text), text, index)


def _named(talk: Talk, index: int) -> Message:
    message = talk.messages[index]
    if message["role"] == "system" or not message.get("name"):
        return unnamed(message)
    text = text_of(message, index)
    return {**unnamed(message), "content": talk.named(lead(message["name"], text), text, index)}


def _text(talk: Talk, content: Any) -> str:
    if not isinstance(content, list):
        return content or ""
    texts = [text for text in map(part_text, content) if text is not None]
    if len(texts) < len(content):
        talk.report.loss("media of joined messages are not sent")
    return "\n\n".join(texts)


def _merged(talk: Talk, messages: list[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        if not merged or merged[-1]["role"] != message["role"]:
            merged.append(message)
            continue
        talk.report.repair("neighbouring messages of one role were joined")
        if message.get("tool_calls"):
            talk.report.loss("the tool calls of a message that was joined to another are not sent")
        joined = f"{_text(talk, merged[-1]['content'])}\n\n{_text(talk, message['content'])}"
        merged[-1] = {**merged[-1], "content": joined}
    return merged
