"""Cohere: names in front of texts, a text for each message that calls tools.

(sillytavern.md 72; vectors ``converters``, function ``cohere``.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, text_of, unnamed
from innkeeper.dialects.sillytavern.json_schema import schema_fields
from innkeeper.dialects.sillytavern.messages import lead
from innkeeper.dialects.sillytavern.request import ProviderRequest

_LESS_SAFE: Final = "08-2024"
"""The models whose safety instructions can be switched off."""


def cohere_body(request: ProviderRequest) -> dict[str, Any]:
    """The history and settings by Cohere's names; tools and documents even without any."""
    safety = {"safety_mode": "OFF"} if request.model.endswith(_LESS_SAFE) else {}
    sampling = request.fields("stream", "temperature", "max_tokens", "frequency_penalty", "presence_penalty", "seed")
    renamed = {"top_p": "p", "top_k": "k", "stop": "stop_sequences"}
    return {
        "messages": convert_cohere(request.conversion)["chatHistory"],
        "model": request.model,
        "documents": [],
        "tools": list(request.tools),
        **sampling,
        **{renamed[name]: value for name, value in request.fields(*renamed).items()},
        **safety,
        **schema_fields(request, "cohere"),
    }


def convert_cohere(conversion: ChatConversion) -> dict[str, Any]:
    """``{chatHistory}``. Raises `FormatError`."""
    history: list[RawMessage] = []
    for index, message in enumerate(conversion.messages):
        spoken = _caller(conversion, history, message, index) if "tool_calls" in message else message
        history.append(_cohere_named(conversion, spoken, index))
    return {"chatHistory": history or [conversion.placeholder()]}


def _caller(conversion: ChatConversion, history: list[RawMessage], message: RawMessage, index: int) -> RawMessage:
    """The calling message, merged with the assistant's message before it, or one of its own."""
    if message["content"]:
        conversion.report.loss("the text of a message that calls tools is not sent", index)
    if history and history[-1]["role"] == "assistant":
        before = history.pop()
        conversion.report.repair("a message that calls tools was joined to the one before", index)
        if before.get("tool_calls"):
            conversion.report.loss("the tool calls of a message that was joined to another are not sent", index - 1)
        return {**message, "content": before["content"]}
    conversion.report.repair("a message that calls tools was given a text", index)
    return {**message, "content": conversion.texts.tool_call + ", ".join(map(_name, message["tool_calls"]))}


def _name(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    return str(function.get("name") or "") if isinstance(function, Mapping) else ""


def _cohere_named(conversion: ChatConversion, message: RawMessage, index: int) -> RawMessage:
    name = message.get("name")
    system = message["role"] == "system"
    if not name or (system and not name.startswith("example_")):
        return unnamed(message)
    if system:
        return {**unnamed(message), "content": conversion.example_text(message, index)}
    text = text_of(message, index)
    return {**unnamed(message), "content": conversion.named(lead(name, text), text, index)}
