"""PromptRunRequest: what the prompt service is asked, over any of its surfaces (5-prompt-sequence-flow).

``input`` is a text, or a list of blocks and messages. Blocks that stand beside one another are one user message; messages keep
their roles, their media and their calls. Tools come flat, as Responses have them, or nested, as chat completions have them. A
number that is 0 counts as given; None is what nobody said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, thaw
from innkeeper.prompt.errors import FormatError, InnkeeperError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.payload.dialect import Tool
from innkeeper.prompt.text import kind_of

_ASSET: Final = "request"


class PromptRunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request, read. An empty ``model`` is the tool's own; ``tools`` are further ones beside the tool's own."""

    tool_name: str
    model: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    top_p: float | None = None
    instructions: str = ""
    tool_choice: Any = None
    metadata: FrozenDict = EMPTY

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> PromptRunRequest:
        """A request from JSON data. Raises `FormatError`, which names the field; an unknown one is refused, too."""
        unknown = value.keys() - _FIELDS
        if unknown:
            hint = f"fields: {', '.join(sorted(_FIELDS))}"
            raise _error(str(min(unknown)), "there is no such field", hint=hint)
        name = _text(value, "tool_name")
        if not name.strip():
            raise _error("tool_name", "tool_name is required")
        if value.get("input") is None:
            raise _error("input", "input is required", hint="a text, or a list of blocks and messages")
        return cls(
            tool_name=name,
            model=_text(value, "model"),
            messages=messages_of_input(value.get("input")),
            tools=tools_of(value.get("tools")),
            temperature=_number(value, "temperature"),
            max_output_tokens=_count(value, "max_output_tokens"),
            top_p=_number(value, "top_p"),
            instructions=_text(value, "instructions"),
            tool_choice=freeze(value.get("tool_choice")),
            metadata=freeze(value.get("metadata") or {}),
        )


_FIELDS: Final = frozenset(
    {"tool_name", "input", *(field for field in PromptRunRequest.__struct_fields__ if field != "messages")}
)


def messages_of_input(value: Any) -> tuple[Message, ...]:
    """The messages of an ``input``. Raises `FormatError`, which names the place in it.

    Null is an empty text, which is sent; a value that is neither text, block nor message is sent as its JSON.
    """
    if not isinstance(value, (list, tuple)):
        whole = _message(value, "input") if _is_message(value) else Message("user", _words(value))
        return (whole,)
    return tuple(_joined(value)) or (Message("user", ""),)


def _joined(items: list[Any] | tuple[Any, ...]) -> Iterator[Message]:
    blocks: list[tuple[int, Any]] = []
    for index, item in enumerate(items):
        if _is_message(item):
            yield from _user(blocks)
            blocks = []
            yield _message(item, f"input[{index}]")
        else:
            blocks.append((index, item))
    yield from _user(blocks)


def _user(blocks: list[tuple[int, Any]]) -> Iterator[Message]:
    """The one user message of blocks that stand together: their texts, a line each, and media in their places."""
    parts: list[Any] = []
    for is_media, group in groupby([block for _, block in blocks], key=_is_media):
        together = list(group)
        parts += together if is_media else [{"type": "text", "text": "\n".join(map(_words, together)).strip()}]
    if any(map(_is_media, parts)):
        yield _message({"role": "user", "content": parts}, f"input[{blocks[0][0]}]")
    else:
        yield from [Message("user", part["text"]) for part in parts]


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and (isinstance(item.get("role"), str) or item.get("type") in _ITEMS)


def _is_media(block: Any) -> bool:
    kind = block.get("type") if isinstance(block, Mapping) else None
    return isinstance(kind, str) and kind not in _TEXTS and any(name in block for name in (kind, *_MEDIA))


_TEXTS: Final = ("text", "input_text", "output_text")
_MEDIA: Final = ("image_url", "file_data", "file_url", "file_id", "input_audio", "source")
_ITEMS: Final = ("message", "function_call", "function_call_output")


def _words(value: Any) -> str:
    """A block as text: a text itself, what a text block or a bare content says, anything else as JSON with sorted keys."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        text = value.get("text") if value.get("type") in _TEXTS else value.get("content")
        if isinstance(text, str) and text:
            return text.strip()
    return json.dumps(thaw(freeze(value)), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _message(item: Mapping[str, Any], path: str) -> Message:
    """A message, or one of Responses' items as the message that it is."""
    kind = item.get("type")
    if kind == "function_call":
        function = {"name": item.get("name") or "", "arguments": item.get("arguments") or "{}"}
        call = {"id": item.get("call_id") or item.get("id") or "", "type": "function", "function": function}
        item = {"role": "assistant", "content": "", "tool_calls": [call]}
    elif kind == "function_call_output":
        item = {"role": "tool", "content": _words(item.get("output")), "tool_call_id": item.get("call_id") or ""}
    try:
        return Message.of({name: part for name, part in item.items() if name != "type"})
    except InnkeeperError as error:
        raise _error(path, error.message) from error


def tools_of(value: Any, path: str = "tools") -> tuple[Tool, ...]:
    """Function definitions of both shapes. Raises `FormatError` for what is none; a tool without a name is one of these."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise _error(path, "tools must be a list of function definitions")
    return tuple([_tool(item, f"{path}[{index}]") for index, item in enumerate(value)])


def _tool(item: Any, path: str) -> Tool:
    if not isinstance(item, Mapping):
        raise _error(path, f"a tool is an object, not {kind_of(item)}")
    kind = str(item.get("type") or "function").strip().lower()
    inner = item.get("function") or item
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if kind != "function":
        raise _error(path, f"tools of the type {kind!r} are not supported", hint='"type": "function"')
    if not isinstance(name, str) or not name.strip():
        raise _error(path, "a tool has a name", hint='{"type": "function", "name": "sum", "parameters": {...}}')
    parameters, strict = inner.get("parameters"), inner.get("strict")
    if not isinstance(parameters or {}, Mapping):
        raise _error(f"{path}.parameters", "parameters are a JSON Schema")
    return Tool(
        name=name.strip(),
        description=str(inner.get("description") or ""),
        parameters=freeze(parameters or {}),
        strict=strict if isinstance(strict, bool) else None,
    )


def _text(value: Mapping[str, Any], field: str) -> str:
    text = value.get(field)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise _error(field, f"{field} is a text, not {kind_of(text)}")
    return text


def _number(value: Mapping[str, Any], field: str) -> float | None:
    """A number; a whole one as such, so that 0 and 0.0 are sent as the same bytes."""
    number = value.get(field)
    if isinstance(number, float):
        return int(number) if number.is_integer() else number
    if number is None or (isinstance(number, int) and not isinstance(number, bool)):
        return number
    raise _error(field, f"{field} is a number, not {kind_of(number)}")


def _count(value: Mapping[str, Any], field: str) -> int | None:
    number = _number(value, field)
    if number is None or (float(number).is_integer() and number >= 0):
        return None if number is None else int(number)
    raise _error(field, f"{field} is a whole number, at least 0")


def _error(path: str, message: str, hint: str | None = None) -> FormatError:
    return FormatError(message, where=Where(asset=_ASSET, path=path), hint=hint)
