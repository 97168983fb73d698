"""Converters: what SillyTavern's server makes of a prompt's messages for each family of providers, by name.

Each takes a `ChatConversion` and reports its changes; `convert` runs one by its name in the vectors (``converters``). Claude
and Google have modules of their own. Mistral: ids of nine characters, no system message after an assistant's, no user message
after a tool's. Cohere: names in front of texts, a text for each message that calls tools. AI21: one system message at the top,
neighbours of one role joined, text only. xAI: only user messages have names. Flat text: a line for each message, with its
role; parts are written as JavaScript writes them. Assistant prefix: a last assistant message begins the reply.

Unlike SillyTavern, joined parts stay parts for Mistral and give their texts for AI21.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from innkeeper.dialects.sillytavern.claude import convert_claude
from innkeeper.dialects.sillytavern.conversion import ChatConversion, RawMessage, Texts, text_of, unnamed
from innkeeper.dialects.sillytavern.google import convert_google
from innkeeper.dialects.sillytavern.messages import Speakers, lead, part_text
from innkeeper.dialects.sillytavern.post_processing import MODES, post_process
from innkeeper.prompt.errors import UnknownNameError

__all__ = [
    "CONVERSIONS",
    "ChatConversion",
    "Texts",
    "convert",
    "convert_ai21",
    "convert_claude",
    "convert_cohere",
    "convert_google",
    "convert_mistral",
    "convert_text",
    "convert_xai",
    "mark_prefix",
    "post_processed",
]

_DEFAULT_GOOGLE: Final = "gemini-2.5-pro"


def post_processed(talk: ChatConversion, mode: str) -> list[dict[str, Any]]:
    """The messages by a mode of `MODES`; as they are for a name that is none, as SillyTavern leaves them."""
    if mode not in MODES:
        return talk.messages
    return post_process(
        talk.messages, MODES[mode], talk.speakers, placeholder=talk.texts.placeholder, report=talk.report
    )


def _claude(talk: ChatConversion, given: Mapping[str, Any]) -> dict[str, Any]:
    return convert_claude(
        talk,
        prefill=str(given.get("prefill") or ""),
        use_sysprompt=bool(given.get("use_sysprompt")),
        use_tools=bool(given.get("use_tools")),
    )


def _google(talk: ChatConversion, given: Mapping[str, Any]) -> dict[str, Any]:
    model = str(given.get("model") or _DEFAULT_GOOGLE)
    return convert_google(talk, model=model, use_sysprompt=bool(given.get("use_sysprompt")))


def _prefixed(talk: ChatConversion, given: Mapping[str, Any]) -> dict[str, Any]:
    field = str(given.get("property") or "prefix")
    return {"messages": mark_prefix(talk.messages, given.get("tools") or (), field)}


CONVERSIONS: Final[Mapping[str, Callable[[ChatConversion, Mapping[str, Any]], dict[str, Any]]]] = MappingProxyType(
    {
        "postProcess": lambda talk, given: {"messages": post_processed(talk, str(given.get("type") or ""))},
        "claude": _claude,
        "google": _google,
        "cohere": lambda talk, _: convert_cohere(talk),
        "ai21": lambda talk, _: convert_ai21(talk),
        "mistral": lambda talk, _: convert_mistral(talk),
        "xai": lambda talk, _: convert_xai(talk),
        "text": lambda talk, _: convert_text(talk),
        "assistant_prefix": _prefixed,
    }
)
"""The conversions by the names of the vectors."""


def convert(given: Mapping[str, Any], texts: Texts | None = None) -> dict[str, Any]:
    """Run one conversion: ``{fn, messages, names: {charName, userName, groupNames}, …}`` as the vectors have it.

    Raises `FormatError` for messages that cannot be converted, `UnknownNameError` for a conversion there is not.
    """
    name = str(given.get("fn"))
    if name not in CONVERSIONS:
        what = "conversion"
        raise UnknownNameError(what, name, CONVERSIONS)
    return CONVERSIONS[name](ChatConversion.of(given.get("messages"), _speakers(given.get("names")), texts), given)


def _speakers(names: Any) -> Speakers:
    found = names if isinstance(names, Mapping) else {}
    return Speakers(
        char=str(found.get("charName") or ""),
        user=str(found.get("userName") or ""),
        group=tuple(name for name in found.get("groupNames") or () if isinstance(name, str)),
    )


_ID_CHARS: Final = 9


def convert_mistral(talk: ChatConversion) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    messages: list[RawMessage] = []
    for index in range(len(talk.messages)):
        message = _with_ids(_named(talk, index))
        if message["role"] == "system" and messages and messages[-1]["role"] == "assistant":
            talk.report.repair("a system message after an assistant's was sent as the user's", index)
            message = {**message, "role": "user"}
        messages.append(message)
    return {"messages": _tools_answered(talk, messages)}


def _named(talk: ChatConversion, index: int) -> RawMessage:
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


def _with_ids(message: RawMessage) -> RawMessage:
    made = dict(message)
    if "tool_calls" in made:
        made["tool_calls"] = [{**call, "id": _id(call.get("id"))} for call in made["tool_calls"]]
    if made["role"] == "tool":
        made["tool_call_id"] = _id(made.get("tool_call_id"))
    return made


def _id(found: Any) -> str:
    """An id as the provider wants one: the same for the same."""
    return hashlib.sha512(str(found).encode("utf-8", "replace")).hexdigest()[:_ID_CHARS]


def _tools_answered(talk: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    """User messages right after a tool's, joined to the user's last message before."""
    kept: list[RawMessage] = []
    for index, message in enumerate(messages):
        after_tool = bool(kept) and kept[-1]["role"] == "tool" and message["role"] == "user"
        place = _last_user(kept) if after_tool else None
        if place is None:
            kept.append(message)
            continue
        talk.report.repair("a user message after a tool's was joined to the user's last one", index)
        kept[place] = {**kept[place], "content": _joined(kept[place]["content"], message["content"])}
    return kept


def _last_user(messages: list[RawMessage]) -> int | None:
    return next((place for place in range(len(messages) - 1, -1, -1) if messages[place]["role"] == "user"), None)


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, list) or isinstance(second, list):
        return [*_parts(first), *_parts(second)]
    return f"{first or ''}\n\n{second or ''}"


def _parts(content: Any) -> list[RawMessage]:
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]


def convert_cohere(talk: ChatConversion) -> dict[str, Any]:
    """``{chatHistory}``. Raises `FormatError`."""
    history: list[RawMessage] = []
    for index, message in enumerate(talk.messages):
        said = _caller(talk, history, message, index) if "tool_calls" in message else message
        history.append(_cohere_named(talk, said, index))
    return {"chatHistory": history or [talk.placeholder()]}


def _caller(talk: ChatConversion, history: list[RawMessage], message: RawMessage, index: int) -> RawMessage:
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


def _cohere_named(talk: ChatConversion, message: RawMessage, index: int) -> RawMessage:
    name = message.get("name")
    if not name:
        return unnamed(message)
    if message["role"] == "system" and not name.startswith("example_"):
        return unnamed(message)
    text = text_of(message, index)
    prefix = talk.speakers.lead_example(name, text) if message["role"] == "system" else lead(name, text)
    return {**unnamed(message), "content": talk.named(prefix, text, index)}


def convert_ai21(talk: ChatConversion) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    messages = talk.messages
    count = next((place for place, message in enumerate(messages) if message["role"] != "system"), len(messages))
    found = [_ai21_named(talk, index) for index in range(count, len(messages))] or [talk.placeholder()]
    if count:
        joined = "\n\n".join(_system(talk, index) for index in range(count)).strip()
        found.insert(0, {"role": "system", "content": joined})
    return {"messages": _merged(talk, found)}


def _system(talk: ChatConversion, index: int) -> str:
    message = talk.messages[index]
    text = text_of(message, index) if "name" in message else _text(talk, message["content"])
    return talk.named(talk.speakers.lead_example(message.get("name"), text), text, index)


def _ai21_named(talk: ChatConversion, index: int) -> RawMessage:
    message = talk.messages[index]
    if message["role"] == "system" or not message.get("name"):
        return unnamed(message)
    text = text_of(message, index)
    return {**unnamed(message), "content": talk.named(lead(message["name"], text), text, index)}


def _text(talk: ChatConversion, content: Any) -> str:
    if not isinstance(content, list):
        return content or ""
    texts = [text for text in map(part_text, content) if text is not None]
    if len(texts) < len(content):
        talk.report.loss("media of joined messages are not sent")
    return "\n\n".join(texts)


def _merged(talk: ChatConversion, messages: list[RawMessage]) -> list[RawMessage]:
    merged: list[RawMessage] = []
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


def convert_xai(talk: ChatConversion) -> dict[str, Any]:
    """``{messages}``. Raises `FormatError`."""
    return {"messages": [_xai_named(talk, index) for index in range(len(talk.messages))]}


def _xai_named(talk: ChatConversion, index: int) -> RawMessage:
    message = talk.messages[index]
    name, role = message.get("name"), message["role"]
    if not name or role == "user":
        return message
    if role == "assistant":
        text = text_of(message, index)
        return {**unnamed(message), "content": talk.named(talk.speakers.lead_char(text), text, index)}
    if role == "system" and name.startswith("example_"):
        text = text_of(message, index)
        return {**unnamed(message), "content": talk.named(talk.speakers.lead_example(name, text), text, index)}
    return unnamed(message)


def convert_text(talk: ChatConversion) -> dict[str, Any]:
    """``{prompt}``."""
    lines = [f"{_speaker(message)}: {_content(talk, message, at)}" for at, message in enumerate(talk.messages)]
    return {"prompt": "\n".join(lines) + "\nassistant:"}


def _speaker(message: RawMessage) -> str:
    if message["role"] != "system":
        return str(message["role"])
    return message.get("name") or "System"


def _content(talk: ChatConversion, message: RawMessage, index: int) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    talk.report.loss("content that is no text is not sent", index)
    return "null" if content is None else ",".join("[object Object]" for _ in content)


def mark_prefix(messages: list[RawMessage], tools: Sequence[Any] = (), field: str = "prefix") -> list[RawMessage]:
    """The messages with ``field`` true on the last one where it is the assistant's; as they are where tools play a part."""
    if tools or not messages or messages[-1]["role"] != "assistant":
        return messages
    if any(message["role"] == "tool" for message in messages):
        return messages
    return [*messages[:-1], {**messages[-1], field: True}]
