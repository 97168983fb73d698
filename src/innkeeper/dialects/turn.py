"""Turn: a message as the dialects read it, its metadata sorted into the fields that providers have.

Metadata keys that are read (2-wave4-contracts, *Standard metadata keys*, and three more):

- ``tool_calls``: ``[{id, type: "function", function: {name, arguments}}]``, arguments as JSON text or an object;
- ``tool_call_id``: on a tool message, the call it answers; ``is_error`` says that it failed;
- ``signature``: a provider's proof of where thoughts or tool calls came from;
- ``reasoning``: the thoughts behind an answer: text, or a list of ``{text, signature, id, encrypted_content, data}``;
- ``cache_control``: a mark that the prompt may be cached up to here: ``True``, a lifetime (``"1h"``), or the provider's object;
- ``parts``: the order in which its parts stand, and what is each one's own (`innkeeper.prompt.parts`);
- ``item``: what an item of Responses says of itself: ``id``, ``status``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.dialects.report import Report, compact, jsonable, object_of
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.message import Message
from innkeeper.prompt.parts import Attachment
from innkeeper.prompt.text import scalar_text

SYSTEM, USER, ASSISTANT, TOOL, FUNCTION = "system", "user", "assistant", "tool", "function"
_KNOWN: Final = frozenset({SYSTEM, USER, ASSISTANT, TOOL, FUNCTION})
RESULTS: Final = frozenset({TOOL, FUNCTION})
"""Roles whose messages are results of tool calls."""

_TALK: Final = frozenset({SYSTEM, USER, ASSISTANT})
_SAME: Final = {"developer": SYSTEM, "model": ASSISTANT, "thinking": ASSISTANT}
_READ: Final = frozenset(
    {"tool_calls", "tool_call_id", "is_error", "signature", "reasoning", "cache_control", "parts", "item"}
)

replace = msgspec.structs.replace


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A tool call of the model. ``arguments`` is as received; ``raw`` is the whole mapping."""

    id: str
    name: str
    arguments: Any = None
    signature: str | None = None
    raw: Mapping[str, Any] = EMPTY
    renamed: str | None = None
    """The id it came with, where another call had it too."""

    def text(self) -> str:
        """The arguments as JSON text, unchanged if they are text already; an empty object without any."""
        if isinstance(self.arguments, str):
            return scalar_text(self.arguments) if self.arguments.strip() else "{}"
        return "{}" if self.arguments is None else compact(self.arguments)

    def parsed(self) -> Any:
        """The arguments as a JSON object where they are one, else their text."""
        arguments = object_of(self.arguments)
        return self.text() if arguments is None else arguments

    def object(self, report: Report, index: int) -> dict[str, Any]:
        """The arguments as a JSON object; anything else is put into one, and reported."""
        arguments = object_of(self.arguments)
        if arguments is None:
            report.repair("tool arguments that are not a JSON object were sent as {'arguments': ...}", index)
            return {"arguments": jsonable(self.arguments)}
        return arguments


class Turn(msgspec.Struct, frozen=True, gc=False):
    """One parsed message. ``index`` is its index in the input, -1 for one that a repair inserted."""

    index: int
    role: str
    text: str
    name: str | None = None
    attachments: tuple[Attachment, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    tool: str | None = None
    """The tool whose result it is, once its call is known."""
    failed: bool = False
    signature: str | None = None
    reasoning: tuple[Mapping[str, Any], ...] = ()
    cache: Mapping[str, Any] | None = None
    rest: Mapping[str, Any] = EMPTY
    rich: bool = False
    """Whether there may be more to it than role and text: plain turns take the short ways."""
    annotated: bool = False
    """Whether its message had metadata."""
    parts: tuple[Mapping[str, Any], ...] = ()
    item: Mapping[str, Any] = EMPTY

    @property
    def thoughts(self) -> str:
        """The text of the thoughts behind it."""
        return "\n".join(scalar_text(str(part.get("text") or "")) for part in self.reasoning)


def read_turn(messages: Sequence[Message], report: Report) -> list[Turn]:
    """The messages as turns, text made safe to encode. Roles that no provider has become ``user``, and are reported."""
    turns = []
    for index, message in enumerate(messages):
        text = message.content
        if not text.isascii():
            text = _encodable(text, index, report)
        if message.metadata or message.attachments or message.name or message.role not in _TALK:
            turns.append(_rich(index, message, text, report))
        else:
            turns.append(Turn(index, message.role, text))
    return turns


def _encodable(text: str, index: int, report: Report) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        report.repair("lone surrogates became U+FFFD", index)
        return scalar_text(text)
    return text


def _role(role: str, index: int, report: Report) -> str:
    folded = role.strip().lower()
    known = folded if folded in _KNOWN else _SAME.get(folded, USER)
    report.repair(f"role {scalar_text(role)[:40]!r} was sent as {known}", index)
    return known


def _rich(index: int, message: Message, text: str, report: Report) -> Turn:
    role, data = message.role, message.metadata
    if role not in _KNOWN:
        role = _role(role, index, report)
    name = scalar_text(message.name) if message.name else None
    if not data:
        return Turn(index, role, text, name, message.attachments, rich=True)
    rest = EMPTY if data.keys() <= _READ else {key: it for key, it in data.items() if key not in _READ and it}
    return Turn(  # by position, which is quicker: chats have thousands
        index,
        role,
        text,
        name,
        message.attachments,
        _calls(data["tool_calls"], index, report) if "tool_calls" in data else (),
        _text(data["tool_call_id"]) if "tool_call_id" in data else None,
        None,
        bool(data.get("is_error")),
        _text(data["signature"]) if "signature" in data else None,
        _reasoning(data["reasoning"]) if "reasoning" in data else (),
        _cache(data["cache_control"]) if "cache_control" in data else None,
        rest,
        True,  # noqa: FBT003 - rich
        True,  # noqa: FBT003 - annotated
        tuple(filter(_is_mapping, data["parts"])) if "parts" in data else (),
        data["item"] if "item" in data and _is_mapping(data["item"]) else EMPTY,
    )


def _is_mapping(value: Any) -> bool:
    return isinstance(value, (dict, Mapping))


def _text(value: Any) -> str | None:
    if type(value) is str and value.isascii():
        return value or None
    return None if value is None or value == "" else scalar_text(str(value))


def _calls(raw_calls: Any, index: int, report: Report) -> tuple[ToolCall, ...]:
    if not raw_calls:
        return ()
    listed = raw_calls if isinstance(raw_calls, (list, tuple)) else (raw_calls,)
    calls = [_call(raw, index, call_index, report) for call_index, raw in enumerate(listed)]
    return tuple([call for call in calls if call is not None])


def _call(raw: Any, index: int, call_index: int, report: Report) -> ToolCall | None:
    body = raw.get("function", raw.get("custom", raw)) if isinstance(raw, (dict, Mapping)) else None
    name = body.get("name") if isinstance(body, (dict, Mapping)) else None
    if body is None or not isinstance(name, str) or not name:
        report.loss(f"tool call {call_index} has no name and was left out", index)
        return None
    call_id = _text(raw.get("id"))
    if call_id is None:
        call_id = f"call_{index}_{call_index}"
        report.repair("a tool call without an id was given one", index)
    return ToolCall(call_id, scalar_text(name), _arguments(body), _signature(raw), raw)


def _arguments(body: Mapping[str, Any]) -> Any:
    """The arguments as OpenAI, Anthropic or Gemini call them."""
    if "arguments" in body:
        return body["arguments"]
    return body["input"] if "input" in body else body.get("args")


def _signature(raw: Mapping[str, Any]) -> str | None:
    """The call's own signature: ours, or where Google's OpenAI-compatible endpoint puts it."""
    signature = raw.get("signature")
    if "extra_content" not in raw:
        return _text(signature)
    for key in ("extra_content", "google", "thought_signature"):
        raw = raw.get(key) if isinstance(raw, (dict, Mapping)) else None  # type: ignore[assignment]
    return _text(signature or raw)


def _reasoning(raw: Any) -> tuple[Mapping[str, Any], ...]:
    if not raw:
        return ()
    parts = raw if isinstance(raw, (list, tuple)) else (raw,)
    return tuple(part if isinstance(part, Mapping) else {"text": str(part)} for part in parts)


def _cache(raw: Any) -> dict[str, Any] | None:
    if not raw:
        return None
    if isinstance(raw, Mapping):
        mark: dict[str, Any] = jsonable(raw)
        return mark
    return {"type": "ephemeral", **({"ttl": raw} if isinstance(raw, str) and raw != "ephemeral" else {})}
