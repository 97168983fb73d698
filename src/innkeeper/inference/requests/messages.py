"""Reading a request of Anthropic's messages: blocks to messages, results of tools to messages of their own."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.requests.request import Fields, GenerationRequest, option_fields, read_message, read_tool
from innkeeper.prompt.data import freeze
from innkeeper.prompt.dialect import Tool
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind

_OPTIONS: Final = ("temperature", "top_p", "top_k", "max_tokens", "service_tier")


def read_messages(body: Mapping[str, Any]) -> GenerationRequest:
    """The request that a body of ``/v1/messages`` is. Raises `UsageError` for a field of the wrong type, or no messages."""
    fields = Fields(body)
    model, stream = fields.model(), bool(fields.flag("stream"))
    reader = _Blocks()
    reader.system(fields.take("system"))
    for index, raw in enumerate(items := fields.items("messages")):
        reader.message(raw, f"messages[{index}]")
    if not items:
        raise UsageError("the request has no messages", where=Where(path="messages"), hint="send at least one")
    tools, hosted = _tools(fields.items("tools"))
    metadata = fields.mapping("metadata")
    user = metadata.get("user_id") if isinstance(metadata.get("user_id"), str) else None
    options = _options(fields) | ({} if user is None else {"user": user})
    return GenerationRequest(
        surface="anthropic-messages",
        model=model,
        messages=tuple(reader.messages),
        options=freeze(options),
        tools=tools,
        hosted=hosted,
        stream=stream,
        include_usage=True,
        user=user,
        metadata=freeze(metadata),
        extra=fields.rest(),
        notes=tuple(reader.notes),
    )


def _options(fields: Fields) -> dict[str, Any]:
    options = option_fields(fields, _OPTIONS)
    output, choice = fields.fields("output_config"), fields.mapping("tool_choice")
    chosen = {
        "stop": fields.items("stop_sequences") or None,
        "response_format": output.take("format"),
        "reasoning_effort": output.take("effort"),
        "tool_choice": {key: value for key, value in choice.items() if key in ("type", "name")} or None,
        "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") else None,
    }
    return options | {name: value for name, value in chosen.items() if value is not None}


def _tools(items: list[Any]) -> tuple[tuple[Tool, ...], tuple[Any, ...]]:
    tools, hosted = [], []
    for index, raw in enumerate(items):
        where = Where(path=f"tools[{index}]")
        if not isinstance(raw, Mapping):
            raise UsageError("a tool must be an object", where=where)
        if raw.get("type", "custom") == "custom":
            tools.append(read_tool(raw, where, "input_schema"))
        else:
            hosted.append(freeze(raw))
    return tuple(tools), tuple(hosted)


class _Blocks:
    """Messages as they come, read block by block."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.notes: list[Note] = []

    def system(self, value: Any) -> None:
        """The text at the top, each block a message, so that cache marks stay where they are."""
        if value is None:
            return
        for block in [value] if isinstance(value, str) else _list(value, "system"):
            self._add(_system(block), "system")

    def message(self, raw: Any, path: str) -> None:
        """One message: results of tools first, then what the speaker says."""
        if not isinstance(raw, Mapping):
            raise UsageError("a message must be an object", where=Where(path=path))
        content, role = raw.get("content"), raw.get("role")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _list(content, f"{path}.content")
        message: dict[str, Any] = {"role": role, "content": []}
        results = 0
        for index, block in enumerate(blocks):
            where = f"{path}.content[{index}]"
            if not isinstance(block, Mapping):
                raise UsageError("a block must be an object", where=Where(path=where))
            if block.get("type") == "tool_result":
                results += 1
                self._add(self._result(block, where), where)
            else:
                self._block(block, message, where)
        if len(message) > 2 or message["content"] or not results:  # noqa: PLR2004 - more than role and content
            self._add(message, path)

    def _block(self, block: Mapping[str, Any], message: dict[str, Any], where: str) -> None:
        kind = block.get("type")
        if block.get("cache_control"):
            message["cache_control"] = block["cache_control"]
        if kind == "text":
            message["content"].append({"type": "text", "text": block.get("text")})
        elif kind in ("image", "document"):
            message["content"].append(_media(block, where))
        elif kind == "tool_use":
            function = {"name": block.get("name"), "arguments": block.get("input") or {}}
            message.setdefault("tool_calls", []).append(
                {"id": block.get("id"), "type": "function", "function": function}
            )
        elif kind == "thinking":
            thought = {"text": block.get("thinking") or "", "signature": block.get("signature")}
            message.setdefault("reasoning", []).append({name: value for name, value in thought.items() if value})
        elif kind == "redacted_thinking":
            message.setdefault("reasoning", []).append({"data": block.get("data")})
        else:
            self.notes.append(Note(NoteKind.LOSS, f"{where}: a block of type {kind!r:.60} is not carried"))

    def _result(self, block: Mapping[str, Any], where: str) -> dict[str, Any]:
        inside: dict[str, Any] = {"content": []}
        content = block.get("content")
        for part in [] if content is None or isinstance(content, str) else _list(content, where):
            if isinstance(part, Mapping):
                self._block(part, inside, where)
        result = content if isinstance(content, str) else inside["content"]
        marks = {name: block[name] for name in ("is_error", "cache_control") if block.get(name)}
        return {"role": "tool", "content": result, "tool_call_id": block.get("tool_use_id"), **marks}

    def _add(self, fields: dict[str, Any], path: str) -> None:
        self.messages.append(read_message(fields, path))


def _system(block: Any) -> dict[str, Any]:
    if isinstance(block, str):
        return {"role": "system", "content": block}
    if not isinstance(block, Mapping) or not isinstance(block.get("text"), str):
        raise UsageError("system must be a text or blocks of text", where=Where(path="system"))
    mark = {"cache_control": block["cache_control"]} if block.get("cache_control") else {}
    return {"role": "system", "content": block["text"], **mark}


def _list(value: Any, path: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise UsageError(f"{path} must be a text or a list of blocks", where=Where(path=path))


def _media(block: Mapping[str, Any], where: str) -> dict[str, Any]:
    source = block.get("source")
    if not isinstance(source, Mapping):
        raise UsageError("an image or a document needs a source", where=Where(path=where))
    facts: dict[str, Any] = {"kind": "image" if block["type"] == "image" else "file", "name": block.get("title")}
    match source.get("type"):
        case "url":
            facts["url"] = source.get("url")
        case "file":
            facts["file_id"] = source.get("file_id")
        case "text":
            data = base64.b64encode(str(source.get("data") or "").encode("utf-8", "replace")).decode()
            facts |= {"data": data, "media_type": "text/plain"}
        case _:
            facts |= {"data": source.get("data"), "media_type": source.get("media_type")}
    return {name: value for name, value in facts.items() if value is not None}
