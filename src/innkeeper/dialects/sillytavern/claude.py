"""Claude's Messages API: leading system text apart, everybody else user or assistant, contents as lists of blocks.

Neighbours of one role are one message with a block each. Without tools their calls and results are sent as text. Pictures
of the assistant move to the next user message. (sillytavern.md 72; vectors ``converters``, function ``claude``.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import (
    ChatConversion,
    RawMessage,
    arguments_of,
    call_name,
    js_json,
    text_of,
    unnamed,
)
from innkeeper.dialects.sillytavern.messages import bad_message, part_text

__all__ = ["convert_claude"]

_INVISIBLE: Final = "\u200b"
"""What stands for an empty text part: the provider refuses empty blocks."""


def convert_claude(
    talk: ChatConversion, *, prefill: str = "", use_sysprompt: bool = False, use_tools: bool = False
) -> dict[str, Any]:
    """``{messages, systemPrompt}``; ``prefill`` is how the reply begins. Raises `FormatError`."""
    count = _leading(talk.messages) if use_sysprompt else 0
    system = [block for index in range(count) for block in _system_blocks(talk, index)]
    messages = [_converted(talk, index) for index in range(count, len(talk.messages))]
    if use_sysprompt and not messages:
        messages.append(_blocks_of(talk.placeholder()))
    messages = _with_moved_images(talk, messages)
    if prefill:
        messages.append({"role": "assistant", "content": [_text(prefill.rstrip())]})
    if not use_tools:
        messages = [_without_tools(talk, message) for message in messages]
    return {"messages": _merged(talk, messages), "systemPrompt": system}


def _leading(messages: list[RawMessage]) -> int:
    return next((place for place, message in enumerate(messages) if message["role"] != "system"), len(messages))


def _text(text: str) -> RawMessage:
    return {"type": "text", "text": text}


def _blocks_of(message: RawMessage) -> RawMessage:
    return {**message, "content": [_text(message["content"])]}


def _system_blocks(talk: ChatConversion, index: int) -> Iterator[RawMessage]:
    message = talk.messages[index]
    if isinstance(message["content"], list) and "name" not in message:
        yield from _system_parts(talk, message["content"], index)
    else:
        text = text_of(message, index)
        yield _text(talk.named(talk.speakers.lead_example(message.get("name"), text), text, index))


def _system_parts(talk: ChatConversion, parts: list[RawMessage], index: int) -> Iterator[RawMessage]:
    for part in parts:
        text = part_text(part)
        if text is None:
            talk.report.loss("media of a system message are not sent", index)
        else:
            yield _text(text)


def _converted(talk: ChatConversion, index: int) -> RawMessage:
    message = talk.messages[index]
    rest = {key: value for key, value in message.items() if key not in ("name", "tool_calls", "tool_call_id")}
    if "tool_calls" in message:
        return {**rest, "content": _calls(talk, message, index)}
    if message["role"] == "tool":
        return {**rest, "role": "user", "content": [_result(message, index)]}
    if message["role"] == "system":
        talk.report.repair("a system message was sent as the user's", index)
        return {**rest, "role": "user", "content": _example(talk, message, index)}
    return {**rest, "content": _contents(talk, message, index)}


def _calls(talk: ChatConversion, message: RawMessage, index: int) -> list[RawMessage]:
    if message["content"]:
        talk.report.loss("the text of a message that calls tools is not sent", index)
    return [_call(call, index) for call in message["tool_calls"]]


def _call(call: RawMessage, index: int) -> RawMessage:
    name = call_name(call, index)
    return {"type": "tool_use", "id": call.get("id"), "name": name, "input": arguments_of(call, index, strict=True)}


def _result(message: RawMessage, index: int) -> RawMessage:
    if message["content"] is None:
        raise bad_message(index, ".content", "a tool's result needs content", "'' where it says nothing")
    return {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": message["content"]}


def _example(talk: ChatConversion, message: RawMessage, index: int) -> list[RawMessage]:
    prefix_for = message.get("name")
    if isinstance(message["content"], list) and not str(prefix_for or "").startswith("example_"):
        return _contents(talk, unnamed(message), index)
    text = text_of(message, index)
    return [_text(talk.named(talk.speakers.lead_example(prefix_for, text), text, index))]


def _contents(talk: ChatConversion, message: RawMessage, index: int) -> list[RawMessage]:
    name, content = message.get("name"), message["content"]
    prefix = f"{name}: " if name else ""
    if isinstance(content, str):
        return [_text(talk.named(prefix, content, index))]
    if content is None:
        raise bad_message(index, ".content", "a message needs content", "'' where it says nothing")
    return [_part(talk, part, prefix, index) for part in content]


def _part(talk: ChatConversion, part: RawMessage, prefix: str, index: int) -> RawMessage:
    text = part_text(part)
    if text is not None:
        return _text(talk.named(prefix, text, index) or _INVISIBLE)
    return _image(part, index) if part.get("type") == "image_url" else part


def _image(part: RawMessage, index: int) -> RawMessage:
    """A picture as the provider takes it: its data, or its address."""
    found = part.get("image_url")
    url = found.get("url") if isinstance(found, dict) else found
    if not isinstance(url, str):
        raise bad_message(index, ".content", "a picture needs an address")
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url.removeprefix("data:").partition(",")
    return {"type": "image", "source": {"type": "base64", "media_type": kind.partition(";")[0], "data": data}}


def _with_moved_images(talk: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    """Pictures of the assistant at the end of the next user message; of a new one where there is none."""
    moved = [dict(message) for message in messages]
    place = 0
    while place < len(moved):
        message = moved[place]
        images = [part for part in message["content"] if part.get("type") == "image"]
        if message["role"] == "assistant" and images:
            talk.report.repair("a picture of the assistant's was sent as the user's")
            message["content"] = [part for part in message["content"] if part.get("type") != "image"]
            _next_user(moved, place)["content"] += images
        place += 1
    return moved


def _next_user(messages: list[RawMessage], place: int) -> RawMessage:
    found = next((other for other in messages[place + 1 :] if other["role"] == "user"), None)
    if found is None:
        found = {"role": "user", "content": []}
        messages.append(found)
    found["content"] = list(found["content"])
    return found


def _without_tools(talk: ChatConversion, message: RawMessage) -> RawMessage:
    return {**message, "content": [_as_text(talk, part) for part in message["content"]]}


def _as_text(talk: ChatConversion, part: RawMessage) -> RawMessage:
    if part.get("type") == "tool_use":
        talk.report.repair("a tool call was sent as text: its arguments")
        return _text(js_json(part["input"]))
    if part.get("type") == "tool_result":
        talk.report.repair("a tool's result was sent as text")
        return _text(_plain(part["content"]))
    return part


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(text for text in map(part_text, content) if text is not None)


def _merged(talk: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    merged: list[RawMessage] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            talk.report.repair("neighbouring messages of one role were joined")
            merged[-1]["content"] = [*merged[-1]["content"], *message["content"]]
        else:
            merged.append(dict(message))
    return merged
