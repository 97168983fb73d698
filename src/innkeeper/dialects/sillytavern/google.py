"""Google's Gemini API: user and model with lists of parts, leading system text apart.

Neighbours of one role are one message, whose texts join in its first text part. (sillytavern.md 72; vectors ``converters``,
function ``google``.) Unlike SillyTavern, a text with a signature of its own stays a part of its own.
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, arguments_of, call_name, text_of
from innkeeper.dialects.sillytavern.messages import EXAMPLE_ASSISTANT, EXAMPLE_USER, lead, part_text

__all__ = ["convert_google"]

_ROLES: Final = {"system": "user", "tool": "user", "assistant": "model"}
_LEVELS: Final = ("low", "medium", "high")
_MEDIA: Final = ("image_url", "video_url", "audio_url")
_UNSIGNED: Final = "skip_thought_signature_validator"
"""Google's own word for a call whose signature is not known."""
_APART: Final = ("inlineData", "functionCall", "functionResponse", "thoughtSignature")


def convert_google(talk: ChatConversion, *, model: str = "", use_sysprompt: bool = False) -> dict[str, Any]:
    """``{contents, system_instruction}``. Raises `FormatError`."""
    count = _leading(talk.messages) if use_sysprompt else 0
    system = [part for index in range(count) for part in _system(talk, index)]
    names = _call_names(talk.messages)
    contents: list[RawMessage] = []
    for index in range(count, len(talk.messages)):
        role: str = talk.messages[index]["role"]
        if role == "system":
            talk.report.repair("a system message was sent as the user's", index)
        parts = _parts(talk, index, names, model)
        _add(talk, contents, _ROLES.get(role, role), parts, index)
    return {"contents": contents, "system_instruction": {"parts": system}}


def _leading(messages: list[RawMessage]) -> int:
    """How many system messages go apart: the leading ones, but never the last message."""
    last = len(messages) - 1
    return next((place for place, message in enumerate(messages) if message["role"] != "system" or place == last), 0)


def _system(talk: ChatConversion, index: int) -> list[RawMessage]:
    message = talk.messages[index]
    if isinstance(message["content"], list) and "name" not in message:
        found = [part_text(part) for part in message["content"]]
        if None in found:
            talk.report.loss("media of a system message are not sent", index)
        return [{"text": text} for text in found if text is not None]
    text = text_of(message, index)
    return [{"text": talk.named(talk.speakers.lead_example(message.get("name"), text), text, index)}]


def _call_names(messages: list[RawMessage]) -> dict[Any, str]:
    """The functions' names by the ids of their calls."""
    return {
        str(call.get("id")): call_name(call, index)
        for index, message in enumerate(messages)
        for call in message.get("tool_calls", ())
    }


def _parts(talk: ChatConversion, index: int, names: dict[Any, str], model: str) -> list[RawMessage]:
    message = talk.messages[index]
    content = message["content"]
    if isinstance(content, list):
        if message.get("tool_calls"):
            talk.report.loss("the tool calls of a message of parts are not sent", index)
        return _with_name(talk, index, [part for raw in content for part in _part(talk, raw, index, model)])
    if message.get("tool_calls"):
        if content:
            talk.report.loss("the text of a message that calls tools is not sent", index)
        return [_call(call, index, signed=_signs(model)) for call in message["tool_calls"]]
    if isinstance(message.get("tool_call_id"), str):
        name = names.get(message["tool_call_id"], "unknown")
        return [{"functionResponse": {"name": name, "response": {"name": name, "content": content or ""}}}]
    return _with_name(talk, index, [{"text": content or "", **_signature(message, model)}])


def _signs(model: str) -> bool:
    """Whether the model wants signatures with its calls."""
    return "gemini-3" in model


def _signature(message: RawMessage, model: str) -> RawMessage:
    """The signature of a text; models that draw want one with every text of theirs."""
    wanted = _signs(model) and "image" in model and message["role"] == "assistant"
    signature = message.get("signature") or (_UNSIGNED if wanted else None)
    return {"thoughtSignature": signature} if signature else {}


def _part(talk: ChatConversion, part: RawMessage, index: int, model: str) -> list[RawMessage]:
    text = part_text(part)
    if text is not None:
        return [{"text": text}]
    found = part.get(str(part.get("type"))) if part.get("type") in _MEDIA else None
    url = found.get("url") if isinstance(found, dict) else found
    if not isinstance(url, str) or not url.startswith("data:"):
        talk.report.loss("a part that is neither text nor the data of a medium is not sent", index)
        return []
    kind, _, data = url.removeprefix("data:").partition(",")
    detail = found.get("detail") if isinstance(found, dict) and _signs(model) else None
    level = {"mediaResolution": {"level": f"media_resolution_{detail}"}} if detail in _LEVELS else {}
    return [{"inlineData": {"mimeType": kind.partition(";")[0], "data": data}, **level}]


def _call(call: RawMessage, index: int, *, signed: bool) -> RawMessage:
    name = call_name(call, index)
    signature = call.get("signature") or (_UNSIGNED if signed else None)
    made = {"functionCall": {"name": name, "args": arguments_of(call, index, strict=False)}}
    return {**made, "thoughtSignature": signature} if signature else made


def _with_name(talk: ChatConversion, index: int, parts: list[RawMessage]) -> list[RawMessage]:
    name = talk.messages[index].get("name")
    return [
        {**part, "text": talk.named(_prefix(talk, name, part["text"]), part["text"], index)} if "text" in part else part
        for part in parts
    ]


def _prefix(talk: ChatConversion, name: str | None, text: str) -> str:
    if name in (EXAMPLE_USER, EXAMPLE_ASSISTANT):
        return talk.speakers.lead_example(name, text)
    return lead(name, text)


def _add(talk: ChatConversion, contents: list[RawMessage], role: str, parts: list[RawMessage], index: int) -> None:
    if not contents or contents[-1]["role"] != role:
        contents.append({"role": role, "parts": parts})
        return
    talk.report.repair("a message was joined to the one before, which has the same role", index)
    for part in parts:
        _join(contents[-1]["parts"], part)


def _join(parts: list[RawMessage], part: RawMessage) -> None:
    if any(key in part for key in _APART):
        parts.append(part)
    elif part["text"]:
        place = next((place for place, other in enumerate(parts) if "text" in other), None)
        if place is None:
            parts.append(part)
        else:
            parts[place] = {**parts[place], "text": f"{parts[place]['text']}\n\n{part['text']}"}
