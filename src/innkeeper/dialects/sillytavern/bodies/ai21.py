"""AI21: one system message at the top, neighbours of one role joined, text only.

(sillytavern.md 72; vectors ``converters``, function ``ai21``.) Unlike SillyTavern, joined parts give their texts.
"""

from __future__ import annotations

from typing import Any

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, leading_system, text_of, unnamed
from innkeeper.dialects.sillytavern.messages import lead, part_text
from innkeeper.text.javascript.values import strip


def convert_ai21(conversion: ChatConversion) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    messages = conversion.messages
    count = leading_system(messages)
    converted = [_ai21_named(conversion, index) for index in range(count, len(messages))] or [conversion.placeholder()]
    if count:
        joined = strip("\n\n".join(_system(conversion, index) for index in range(count)))
        converted.insert(0, {"role": "system", "content": joined})
    return {"messages": _merged(conversion, converted)}


def _system(conversion: ChatConversion, index: int) -> str:
    message = conversion.messages[index]
    return conversion.example_text(message, index) if "name" in message else _text(conversion, message["content"])


def _ai21_named(conversion: ChatConversion, index: int) -> RawMessage:
    message = conversion.messages[index]
    if message["role"] == "system" or not message.get("name"):
        return unnamed(message)
    text = text_of(message, index)
    return {**unnamed(message), "content": conversion.named(lead(message["name"], text), text, index)}


def _text(conversion: ChatConversion, content: Any) -> str:
    if not isinstance(content, list):
        return content or ""
    texts = [text for text in map(part_text, content) if text is not None]
    if len(texts) < len(content):
        conversion.report.loss("media of joined messages are not sent")
    return "\n\n".join(texts)


def _merged(conversion: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    merged: list[RawMessage] = []
    for message in messages:
        if not merged or merged[-1]["role"] != message["role"]:
            merged.append(message)
            continue
        conversion.report.repair("neighbouring messages of one role were joined")
        if message.get("tool_calls"):
            conversion.report.loss("the tool calls of a message that was joined to another are not sent")
        joined = f"{_text(conversion, merged[-1]['content'])}\n\n{_text(conversion, message['content'])}"
        merged[-1] = {**merged[-1], "content": joined}
    return merged
