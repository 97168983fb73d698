"""Google's Gemini API: user and model with lists of parts, leading system text apart.

Neighbours of one role are one message, whose texts join in its first text part. (sillytavern.md 72; vectors ``converters``,
function ``google``.) Unlike SillyTavern, a text with a signature of its own stays a part of its own.
"""

from __future__ import annotations

import re
from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, arguments_of, call_name
from innkeeper.dialects.sillytavern.json_schema import google_schema
from innkeeper.dialects.sillytavern.messages import EXAMPLE_ASSISTANT, EXAMPLE_USER, lead, part_text
from innkeeper.dialects.sillytavern.request import ProviderRequest

_HARMS: Final = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT", "CIVIC_INTEGRITY")
_VERTEX_HARMS: Final = (
    "IMAGE_HATE", "IMAGE_DANGEROUS_CONTENT", "IMAGE_HARASSMENT", "IMAGE_SEXUALLY_EXPLICIT", "JAILBREAK",
)  # fmt: skip
_SHARES: Final = {"low": 0.1, "medium": 0.25, "high": 0.5, "max": 1.0}
_FLASH_LEVELS: Final = {"min": "minimal", "low": "low", "medium": "medium", "high": "high", "max": "high"}
_LATE_FLASH_LEVELS: Final = {**_FLASH_LEVELS, "min": "low"}
_PRO_LEVELS: Final = {"min": "low", "low": "low", "medium": "low", "high": "high", "max": "high"}
_LEVELS_BY_MODEL: Final = (
    (re.compile(r"gemini-3\.7-flash"), _LATE_FLASH_LEVELS),
    (re.compile(r"gemini-3[.\d]*-flash"), _FLASH_LEVELS),
    (re.compile(r"gemini-3[.\d]*-pro"), _PRO_LEVELS),
)
_BUDGETS: Final = (
    ("gemini-2.5-flash-lite", 0, 512, 24576),
    ("gemini-2.5-flash", 0, 0, 24576),
    ("gemini-2.5-pro", 128, 128, 32768),
)
"""Tokens of thought by model: for the effort ``min``, the least otherwise, the most."""
_NO_SYSTEM: Final = re.compile(r"gemma-3")
"""Models that know neither system text nor tools."""
_NO_SAMPLING: Final = re.compile(r"gemini-3\.[67]-flash|gemini-3\.5-flash-lite")
_NO_SEARCH: Final = re.compile(r"gemma-3|learnlm|gemini-2\.0-flash-lite|gemini-robotics-er-1\.5")
_DRAWS: Final = re.compile(
    r"gemini-2\.0-flash-exp(-image-generation)?|gemini-2\.0-flash-preview-image-generation|gemini-2\.5-flash-image(-preview)?"
    r"|gemini-3-pro-image|gemini-3\.1-flash-image"
)
"""The models that draw, by their whole names."""


def google_body(request: ProviderRequest) -> dict[str, Any]:
    """Contents, system text apart where the preset says so, generation settings, tools."""
    draws = _draws(request)
    use_sysprompt = request.use_sysprompt and not draws and not _NO_SYSTEM.search(request.model)
    converted = convert_google(
        request.conversion,
        model=request.model,
        use_sysprompt=use_sysprompt,
        signatures=request.server.gemini.thought_signatures,
    )
    system = converted["system_instruction"]
    harms = _HARMS + (_VERTEX_HARMS if request.source == "vertexai" else ())
    return {
        "contents": converted["contents"],
        "safetySettings": [{"category": f"HARM_CATEGORY_{harm}", "threshold": "OFF"} for harm in harms],
        "generationConfig": _generation(request),
        **({"systemInstruction": system} if use_sysprompt and system["parts"] else {}),
        **({} if draws or _NO_SYSTEM.search(request.model) else _tools(request)),
    }


def _draws(request: ProviderRequest) -> bool:
    """Whether pictures are asked for, of a model that makes some."""
    return bool(request.options.get("request_images")) and bool(_DRAWS.fullmatch(request.model))


def _generation(request: ProviderRequest) -> dict[str, Any]:
    config: dict[str, Any] = {"stopSequences": request.stop} if request.stop else {}
    config |= {_NAMES[name]: value for name, value in request.fields(*_NAMES).items() if value or name != "top_k"}
    if _NO_SAMPLING.search(request.model):
        config = {name: value for name, value in config.items() if name not in ("temperature", "topP", "topK")}
    else:
        config["candidateCount"] = 1
    if request.schema:
        schema = google_schema(request.schema["value"])
        config |= {"responseMimeType": "application/json", "responseSchema": schema}
    if _draws(request):
        config |= _pictures(request)
    thinking = _thinking(request)
    return {**config, "thinkingConfig": thinking} if thinking else config


_NAMES: Final = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
}


def _pictures(request: ProviderRequest) -> dict[str, Any]:
    """The request for pictures, with the shape and size that are asked for as far as the model takes them."""
    shape = request.options.get("request_image_aspect_ratio")
    size = request.options.get("request_image_resolution")
    image_config = {"aspectRatio": shape, "imageSize": size if "gemini-3" in request.model else None}
    config = {"imageConfig": {name: value for name, value in image_config.items() if value}} if shape or size else {}
    return {"responseModalities": ["text", "image"], **config}


def _thinking(request: ProviderRequest) -> dict[str, Any]:
    thoughts: dict[str, Any] = {"includeThoughts": request.shows_thoughts}
    levels = next((levels for model, levels in _LEVELS_BY_MODEL if model.match(request.model)), None)
    if levels is not None:
        level = levels.get(request.effort or "")
        return {**thoughts, **({"thinkingLevel": level} if level else {})}
    row = next((row for row in _BUDGETS if request.model.startswith(row[0])), None)
    if row is None or "-image" in request.model:
        return {}
    budget = _budget(request, *row[1:])
    if budget == 0 and request.source == "vertexai":
        thoughts["includeThoughts"] = False
    return {**thoughts, "thinkingBudget": budget}


def _budget(request: ProviderRequest, none: int, least: int, most: int) -> int:
    if request.effort == "auto":
        return -1
    if request.effort == "min":
        return none
    return min(max(int((request.max_tokens or 0) * _SHARES.get(request.effort or "", 0)), least), most)


_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def _tools(request: ProviderRequest) -> dict[str, Any]:
    """The request's functions, or else a search where it is asked for."""
    if request.tools:
        mode = _MODES.get(str(request.options.get("tool_choice") or "auto"), "AUTO")
        declared = [_declared(tool["function"]) for tool in request.tools]
        return {"tools": [{"function_declarations": declared}], "toolConfig": {"functionCallingConfig": {"mode": mode}}}
    searches = request.searches and not _NO_SEARCH.search(request.model)
    return {"tools": [{"google_search": {}}]} if searches else {}


def _declared(function: dict[str, Any]) -> dict[str, Any]:
    """The function; without parameters where it has none."""
    if function["parameters"].get("properties"):
        return function
    return {key: value for key, value in function.items() if key != "parameters"}


_ROLES: Final = {"system": "user", "tool": "user", "assistant": "model"}
_LEVELS: Final = ("low", "medium", "high")
_MEDIA: Final = ("image_url", "video_url", "audio_url")
_UNSIGNED: Final = "skip_thought_signature_validator"
"""Google's own word for a call whose signature is not known."""
_APART: Final = ("inlineData", "functionCall", "functionResponse", "thoughtSignature")


def convert_google(
    conversion: ChatConversion, *, model: str = "", use_sysprompt: bool = False, signatures: bool = True
) -> dict[str, Any]:
    """``{contents, system_instruction}``. Raises `FormatError`."""
    count = _leading(conversion.messages) if use_sysprompt else 0
    system = [part for index in range(count) for part in _system(conversion, index)]
    names = _call_names(conversion.messages)
    contents: list[RawMessage] = []
    for index in range(count, len(conversion.messages)):
        role = _role(conversion, index, model)
        parts = _parts(conversion, index, names, model, signatures=signatures)
        _add(conversion, contents, role, parts, index)
    return {"contents": contents, "system_instruction": {"parts": system}}


def _role(conversion: ChatConversion, index: int, model: str) -> str:
    role: str = conversion.messages[index]["role"]
    if role == "system":
        conversion.report.repair("a system message was sent as the user's", index)
    if role == "assistant" and index == len(conversion.messages) - 1 and _NO_SAMPLING.search(model):
        conversion.report.repair("the beginning of the reply was sent as the user's: the model takes none")
        return "user"
    return _ROLES.get(role, role)


def _leading(messages: list[RawMessage]) -> int:
    """The number of system messages that go apart: the leading ones, but never the last message."""
    last = len(messages) - 1
    return next((index for index, message in enumerate(messages) if message["role"] != "system" or index == last), 0)


def _system(conversion: ChatConversion, index: int) -> list[RawMessage]:
    message = conversion.messages[index]
    if isinstance(message["content"], list) and "name" not in message:
        texts = [part_text(part) for part in message["content"]]
        if None in texts:
            conversion.report.loss("media of a system message are not sent", index)
        return [{"text": text} for text in texts if text is not None]
    return [{"text": conversion.example_text(message, index)}]


def _call_names(messages: list[RawMessage]) -> dict[Any, str]:
    """The functions' names by the ids of their calls."""
    return {
        str(call.get("id")): call_name(call, index)
        for index, message in enumerate(messages)
        for call in message.get("tool_calls", ())
    }


def _parts(
    conversion: ChatConversion, index: int, names: dict[Any, str], model: str, *, signatures: bool
) -> list[RawMessage]:
    message = conversion.messages[index]
    if not signatures:
        message = {key: value for key, value in message.items() if key != "signature"}
    content = message["content"]
    if isinstance(content, list):
        if message.get("tool_calls"):
            conversion.report.loss("the tool calls of a message of parts are not sent", index)
        parts = [part for raw in content for part in _part(conversion, raw, index, model)]
        return _with_name(conversion, index, [{**part, **_signature(message, model, part)} for part in parts])
    if message.get("tool_calls"):
        if content:
            conversion.report.loss("the text of a message that calls tools is not sent", index)
        return [_call(call, index, model) for call in message["tool_calls"]]
    if isinstance(message.get("tool_call_id"), str):
        name = names.get(message["tool_call_id"], "unknown")
        return [{"functionResponse": {"name": name, "response": {"name": name, "content": content or ""}}}]
    return _with_name(conversion, index, [{"text": content or "", **_signature(message, model)}])


_SIGNED: Final = re.compile(r"gemini-(2\.5|3)")
"""The models that are sent the signatures of texts."""
_TEXT_PART: Final[RawMessage] = {"text": ""}


def _signs(model: str) -> bool:
    """Whether the model wants signatures with its calls."""
    return "gemini-3" in model


def _signature(message: RawMessage, model: str, part: RawMessage = _TEXT_PART) -> RawMessage:
    """The signature of a text; models that draw require one for each of their texts."""
    if not _SIGNED.search(model):
        return {}
    signed = _signs(model) and "-image" in model and message["role"] == "assistant"
    own = message.get("signature") if "text" in part else None
    signature = own or (_UNSIGNED if signed else None)
    return {"thoughtSignature": signature} if signature else {}


def _part(conversion: ChatConversion, part: RawMessage, index: int, model: str) -> list[RawMessage]:
    text = part_text(part)
    if text is not None:
        return [{"text": text}]
    media = part.get(str(part.get("type"))) if part.get("type") in _MEDIA else None
    url = media.get("url") if isinstance(media, dict) else media
    if not isinstance(url, str) or not url.startswith("data:"):
        conversion.report.loss("a part that is neither text nor the data of a medium is not sent", index)
        return []
    kind, _, data = url.removeprefix("data:").partition(",")
    detail = media.get("detail") if isinstance(media, dict) and _signs(model) else None
    level = {"mediaResolution": {"level": f"media_resolution_{detail}"}} if detail in _LEVELS else {}
    return [{"inlineData": {"mimeType": kind.partition(";")[0], "data": data}, **level}]


def _call(call: RawMessage, index: int, model: str) -> RawMessage:
    name = call_name(call, index)
    signature = call.get("signature") or (_UNSIGNED if _signs(model) else None)
    made = {"functionCall": {"name": name, "args": arguments_of(call, index, strict=False)}}
    return {**made, "thoughtSignature": signature} if signature else made


def _with_name(conversion: ChatConversion, index: int, parts: list[RawMessage]) -> list[RawMessage]:
    name = conversion.messages[index].get("name")
    return [
        {**part, "text": conversion.named(_prefix(conversion, name, part["text"]), part["text"], index)}
        if "text" in part
        else part
        for part in parts
    ]


def _prefix(conversion: ChatConversion, name: str | None, text: str) -> str:
    if name in (EXAMPLE_USER, EXAMPLE_ASSISTANT):
        return conversion.speakers.lead_example(name, text)
    return lead(name, text)


def _add(
    conversion: ChatConversion, contents: list[RawMessage], role: str, parts: list[RawMessage], index: int
) -> None:
    if not contents or contents[-1]["role"] != role:
        contents.append({"role": role, "parts": parts})
        return
    conversion.report.repair("a message was joined to the one before, which has the same role", index)
    for part in parts:
        _join(contents[-1]["parts"], part)


def _join(parts: list[RawMessage], part: RawMessage) -> None:
    if any(key in part for key in _APART):
        parts.append(part)
    elif part["text"]:
        index = next((index for index, other in enumerate(parts) if "text" in other), None)
        if index is None:
            parts.append(part)
        else:
            parts[index] = {**parts[index], "text": f"{parts[index]['text']}\n\n{part['text']}"}
