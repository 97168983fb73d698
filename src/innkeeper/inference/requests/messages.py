"""Reading a request of Anthropic's messages: blocks to messages, results of tools to messages of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.requests.request import Fields, GenerationRequest, option_fields, read_message, read_tools
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import FormatError, UsageError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.parts import ANTHROPIC, read_content, without_results

_OPTIONS: Final = ("temperature", "top_p", "top_k", "max_tokens", "service_tier")


def read_messages(body: Mapping[str, Any]) -> GenerationRequest:
    """The request that a body of ``/v1/messages`` is. Raises `UsageError` for a field of the wrong type, or no messages."""
    fields = Fields(body)
    model, stream = fields.model(), bool(fields.flag("stream"))
    notes: list[Note] = []
    messages = _system(fields.take("system"))
    for index, raw in enumerate(items := fields.items("messages")):
        messages += _messages(raw, f"messages[{index}]", notes)
    if not items:
        raise UsageError("the request has no messages", where=Where(path="messages"), hint="send at least one")
    tools = read_tools(fields.items("tools"), own="custom", schema="input_schema")
    metadata = fields.mapping("metadata")
    user = metadata.get("user_id") if isinstance(metadata.get("user_id"), str) else None
    options = _options(fields) | ({} if user is None else {"user": user})
    return GenerationRequest(
        surface="anthropic-messages",
        model=model,
        messages=tuple(messages),
        options=freeze(options),
        **tools._asdict(),
        stream=stream,
        include_usage=True,
        user=user,
        metadata=freeze(metadata),
        extra=fields.rest(),
        notes=tuple(notes),
    )


def _options(fields: Fields) -> dict[str, Any]:
    options = option_fields(fields, _OPTIONS)
    output, choice = fields.fields("output_config"), fields.mapping("tool_choice")
    stops = fields.texts("stop_sequences")
    if isinstance(stops, str):
        raise fields.wrong("stop_sequences", "a list of texts")
    chosen = {
        "stop": stops or None,
        "response_format": output.take("format"),
        "reasoning_effort": output.take("effort"),
        "tool_choice": {key: value for key, value in choice.items() if key in ("type", "name")} or None,
        "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") else None,
    }
    fields.restore("output_config", output.rest())
    return options | {name: value for name, value in chosen.items() if value is not None}


def _system(value: Any) -> list[Message]:
    """The text at the top, each block a message, so that marks stay where they are."""
    if value is None:
        return []
    if isinstance(value, str):
        return [read_message({"role": "system", "content": value}, "system")]
    messages = []
    for block in _list(value, "system"):
        if not isinstance(block, Mapping) or not isinstance(block.get("text"), str):
            raise UsageError("system must be a text or blocks of text", where=Where(path="system"))
        own = {name: item for name, item in block.items() if name not in ("text", "cache_control") and item}
        mark = {"cache_control": block["cache_control"]} if block.get("cache_control") else {}
        part = {"type": "text", "text": block["text"], **own}
        messages.append(read_message({"role": "system", "content": block["text"], **mark, "parts": [part]}, "system"))
    return messages


def _messages(raw: Any, path: str, notes: list[Note]) -> list[Message]:
    """A message, as one for each tool's result in it, and one of what the speaker says."""
    if not isinstance(raw, Mapping):
        raise UsageError("a message must be an object", where=Where(path=path))
    content = raw.get("content")
    if isinstance(content, str):
        return [read_message(raw, path)]
    blocks = _list(content, f"{path}.content")
    _check(blocks, f"{path}.content")
    results = [block.get("type") == "tool_result" for block in blocks]
    if results != sorted(results, reverse=True):
        notes.append(Note(NoteKind.MOVED, f"{path}: results of tools stand before what came ahead of them"))
    return [_message(message, path) for message in without_results(raw)]


def _message(fields: Mapping[str, Any], path: str) -> Message:
    content = fields.get("content")
    if not isinstance(content, (list, tuple)):
        return read_message(fields, path)
    try:
        read = read_content(content, Where(path=path), shape=ANTHROPIC, mark=fields.get("role") != "tool")
    except FormatError as error:
        raise UsageError(error.message, where=error.where, hint=error.hint) from error
    return read_message({**read.metadata, **fields, "content": read.text, "attachments": read.attachments}, path)


def _check(blocks: list[Any], path: str) -> None:
    for index, block in enumerate(blocks):
        where = f"{path}[{index}]"
        if not isinstance(block, Mapping):
            raise UsageError("a block must be an object", where=Where(path=where))
        if block.get("type") in ("image", "document") and not isinstance(block.get("source"), Mapping):
            raise UsageError("an image or a document needs a source", where=Where(path=where))
        if block.get("type") == "tool_result" and not isinstance(block.get("content"), (str, type(None))):
            _check(_list(block["content"], where), f"{where}.content")


def _list(value: Any, path: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise UsageError(f"{path} must be a text or a list of blocks", where=Where(path=path))
