"""The body of Chat Completions, which most sources speak: messages and settings as the page sends them.

`innkeeper.dialects.sillytavern.source_bodies` names what single sources add or change; what several of them change alike is
here. Models that complete text get one text in place of messages and tools. (sillytavern-bodies.md 7.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage
from innkeeper.dialects.sillytavern.request import ProviderRequest

PENALTIES: Final = ("presence_penalty", "frequency_penalty")
FIELDS: Final = (
    "temperature", "max_tokens", "max_completion_tokens", "stream", *PENALTIES, "top_p", "top_k", "stop", "logit_bias",
    "seed", "n",
)  # fmt: skip
"""The fields that the server copies for most sources."""


def chat_body(request: ProviderRequest, fields: Sequence[str] = FIELDS) -> dict[str, Any]:
    """Messages, model, the settings of these names that are set, tools."""
    tools = {"tools": list(request.tools), **request.fields("tool_choice")} if request.tools else {}
    return {
        "messages": list(map(_sent, request.messages)),
        "model": request.model or None,
        **request.fields(*fields),
        **tools,
    }


def _sent(message: RawMessage) -> RawMessage:
    """The message; without content where it only calls tools."""
    if message["content"] is None and "tool_calls" in message:
        return {key: value for key, value in message.items() if key != "content"}
    return message


def mark_prefix(messages: list[RawMessage], tools: Sequence[Any] = (), field: str = "prefix") -> list[RawMessage]:
    """The messages with ``field`` true on the last one where it is the assistant's; as they are where tools play a part."""
    if tools or not messages or messages[-1]["role"] != "assistant":
        return messages
    if any(message["role"] == "tool" for message in messages):
        return messages
    return [*messages[:-1], {**messages[-1], field: True}]


def spoken_audio(messages: list[RawMessage]) -> list[RawMessage]:
    """The messages with recordings as OpenAI takes them: data and format apart."""
    if not any(isinstance(message["content"], list) for message in messages):
        return messages
    return [
        {**message, "content": list(map(_audio, message["content"]))}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def _audio(part: RawMessage) -> RawMessage:
    audio = part.get("audio_url") if part.get("type") == "audio_url" else None
    url = audio.get("url") if isinstance(audio, dict) else None
    if not isinstance(url, str) or not url.startswith("data:"):
        return part
    kind, _, data = url.removeprefix("data:").partition(",")
    form = kind.partition(";")[0].rpartition("/")[2]
    return {"type": "input_audio", "input_audio": {"format": {"mpeg": "mp3"}.get(form, form), "data": data}}


def closed_tools(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools without empty lists of required parameters, which DeepSeek refuses."""
    return [_closed(tool) for tool in tools]


def _closed(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function") or {}
    parameters = function.get("parameters")
    if not isinstance(parameters, dict) or parameters.get("required") != []:
        return tool
    schema = {key: value for key, value in parameters.items() if key != "required"}
    return {**tool, "function": {**function, "parameters": schema}}


_TEXT_MODELS: Final = re.compile(
    r"gpt-3\.5-turbo-instruct(-0914)?|text-(davinci|curie|babbage|ada)-00\d|code-(davinci|cushman)-00\d"
)


def is_text_model(model: str) -> bool:
    """Whether the model completes text and knows no messages."""
    return bool(_TEXT_MODELS.fullmatch(model))


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
    conversion.report.loss('content other than text is sent as "[object Object]" for each part, none as "null"', index)
    return "null" if content is None else ",".join("[object Object]" for _ in content)
