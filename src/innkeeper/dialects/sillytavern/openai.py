"""Sources that speak Chat Completions: OpenAI, custom servers, DeepSeek, xAI; and flat text.

For xAI only user messages have names. Flat text is a line for each message, with its role; parts are written as JavaScript
writes them. (sillytavern.md 72; vectors ``converters``, ``end-to-end`` and ``provider``.)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, text_of, unnamed
from innkeeper.dialects.sillytavern.request import ProviderRequest

__all__ = ["chat_body", "convert_text", "convert_xai", "deepseek_body", "mark_prefix", "openai_body", "xai_body"]

_MOST_STOPS: Final = 4
_PENALTIES: Final = ("presence_penalty", "frequency_penalty")
_REASONING: Final = re.compile(r"^(o1|o3|o4|gpt-5)")
_CHATTING: Final = "gpt-5-chat"
_FIRST: Final = "o1"
_EFFORTS: Final = {"min": "low", "max": "high"}
_DEEPSEEK_EFFORTS: Final = {"min": "low", "low": "low", "medium": "high", "high": "high", "max": "max"}


def chat_body(request: ProviderRequest, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The common body: model, messages, sampling, stop strings, tools."""
    return {
        "messages": [_sent(message) for message in messages],
        "model": request.model,
        **request.sampling("temperature", "max_tokens", *_PENALTIES, "top_p"),
        "stream": request.stream,
        **({"stop": request.stop[:_MOST_STOPS]} if request.stop else {}),
        **({"tools": list(request.tools), "tool_choice": "auto"} if request.tools else {}),
    }


def _sent(message: dict[str, Any]) -> dict[str, Any]:
    """The message; without content where it only calls tools."""
    if message["content"] is None and "tool_calls" in message:
        return {key: value for key, value in message.items() if key != "content"}
    return message


def openai_body(request: ProviderRequest) -> dict[str, Any]:
    """OpenAI's own API and servers that copy it. Models that reason take no sampling settings."""
    body = chat_body(request, request.messages)
    if request.seed is not None:
        body["seed"] = request.seed
    if (count := request.options.get("n") or 1) > 1:
        body["n"] = count
    if request.source != "openai" or not _REASONING.match(request.model):
        return body
    kept = {key: value for key, value in body.items() if key not in _not_taken(request.model)}
    if request.model.startswith(_FIRST):
        kept["messages"] = _without_system(request, kept["messages"])
    return {**kept, "max_completion_tokens": request.max_tokens, **_effort(request)}


def _not_taken(model: str) -> tuple[str, ...]:
    if model.startswith(_CHATTING):
        return ("max_tokens",)
    first = ("n", "tools", "tool_choice") if model.startswith(_FIRST) else ()
    return ("max_tokens", "temperature", "top_p", "stop", *_PENALTIES, *first)


def _without_system(request: ProviderRequest, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages for the first models that reason, which take no system messages."""
    if any(message["role"] == "system" for message in messages):
        request.conversion.report.repair("system messages were sent as the user's: the model takes none")
    return [{**message, "role": "user"} if message["role"] == "system" else message for message in messages]


def _effort(request: ProviderRequest) -> dict[str, Any]:
    newer = request.model.startswith("gpt-5")
    words = {**_EFFORTS, "min": "minimal"} if newer else _EFFORTS
    silent = request.effort == "auto" or request.model.startswith(_CHATTING)
    effort = {} if silent else {"reasoning_effort": words.get(request.effort, request.effort)}
    verbosity = request.options.get("verbosity")
    return {**effort, **({"verbosity": verbosity} if newer and verbosity not in (None, "auto") else {})}


def deepseek_body(request: ProviderRequest) -> dict[str, Any]:
    """DeepSeek: always in the order of mode ``semi_tools``, the beginning of the reply marked."""
    messages = mark_prefix(request.conversion.by_mode("semi_tools"), request.tools)
    messages = [{**one, "reasoning_content": ""} if "tool_calls" in one else one for one in messages]
    thinking = {"type": "enabled" if request.shows_thoughts else "disabled"}
    effort = _DEEPSEEK_EFFORTS.get(request.effort) if request.shows_thoughts else None
    body = chat_body(request, messages)
    body["top_p"] = body["top_p"] or sys.float_info.epsilon
    return {**body, "thinking": thinking, **({"reasoning_effort": effort} if effort else {})}


def mark_prefix(messages: list[RawMessage], tools: Sequence[Any] = (), field: str = "prefix") -> list[RawMessage]:
    """The messages with ``field`` true on the last one where it is the assistant's; as they are where tools play a part."""
    if tools or not messages or messages[-1]["role"] != "assistant":
        return messages
    if any(message["role"] == "tool" for message in messages):
        return messages
    return [*messages[:-1], {**messages[-1], field: True}]


def xai_body(request: ProviderRequest) -> dict[str, Any]:
    """XAI's messages under the settings of Chat Completions: nobody has recorded its own."""
    return chat_body(request, convert_xai(request.conversion)["messages"])


def convert_xai(conversion: ChatConversion) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    return {"messages": [_xai_named(conversion, index) for index in range(len(conversion.messages))]}


def _xai_named(conversion: ChatConversion, index: int) -> RawMessage:
    message = conversion.messages[index]
    name, role = message.get("name"), message["role"]
    if not name or role == "user":
        return message
    if role == "assistant":
        text = text_of(message, index)
        return {**unnamed(message), "content": conversion.named(conversion.speakers.lead_char(text), text, index)}
    if role == "system" and name.startswith("example_"):
        text = text_of(message, index)
        return {
            **unnamed(message),
            "content": conversion.named(conversion.speakers.lead_example(name, text), text, index),
        }
    return unnamed(message)


def convert_text(conversion: ChatConversion) -> dict[str, Any]:
    """``{prompt}``."""
    lines = [
        f"{_speaker(message)}: {_content(conversion, message, at)}" for at, message in enumerate(conversion.messages)
    ]
    return {"prompt": "\n".join(lines) + "\nassistant:"}


def _speaker(message: RawMessage) -> str:
    if message["role"] != "system":
        return str(message["role"])
    return message.get("name") or "System"


def _content(conversion: ChatConversion, message: RawMessage, index: int) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    conversion.report.loss("content that is no text is not sent", index)
    return "null" if content is None else ",".join("[object Object]" for _ in content)
