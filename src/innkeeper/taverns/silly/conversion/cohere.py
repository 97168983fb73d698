"""Cohere: names in front of texts; a message that calls tools says so.

(Vectors ``converters``, function ``cohere``.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innkeeper.dialects.speakers import lead
from innkeeper.taverns.silly.conversion.talk import Message, Talk, text_of, unnamed

__all__ = ["convert_cohere"]


def convert_cohere(talk: Talk) -> dict[str, Any]:
    """``{chatHistory}``. Raises `FormatError`."""
    history: list[Message] = []
    for index, message in enumerate(talk.messages):
        said = _caller(talk, history, message, index) if "tool_calls" in message else message
        history.append(_named(talk, said, index))
    return {"chatHistory": history or [talk.placeholder()]}


def _caller(talk: Talk, history: list[Message], message: Message, index: int) -> Message:
    """The calling message with the text of the assistant's message before it, whose place it takes, or one of its own."""
    if message["content"]:
        talk.report.loss("the text of a message that calls tools is not sent", index)
    if history and history[-1]["role"] == "assistant":
        before = history.pop()
        talk.report.repair("a message that calls tools was joined to the one before", index)
        if before.get("tool_calls"):
            talk.report.loss("the tool calls of a message that was joined to another are not sent", index - 1)
        return {**message, "content": before["content"]}
    talk.report.repair("a message that calls tools was given a text", index)
    return {**message, "content": talk.texts.tool_call + ", ".join(map(_name, message["tool_calls"]))}


def _name(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    return str(function.get("name") or "") if isinstance(function, Mapping) else ""


def _named(talk: Talk, message: Message, index: int) -> Message:
    name = message.get("name")
    if not name:
        return unnamed(message)
    if message["role"] == "system" and not name.startswith("example_"):
        return unnamed(message)
    text = text_of(message, index)
    prefix = talk.speakers.lead_example(name, text) if message["role"] == "system" else lead(name, text)
    return {**unnamed(message), "content": talk.named(prefix, text, index)}
