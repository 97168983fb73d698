"""Message: one turn of a conversation as every tavern and dialect sees it."""

from __future__ import annotations

import marshal
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, plain_data
from innkeeper.prompt.errors import FormatError, InnkeeperError, UsageError, Where
from innkeeper.prompt.parts import Attachment, optional_int, read_content, without_results
from innkeeper.prompt.text import kind_of, scalar_text

ROLES: Final = ("system", "user", "assistant", "tool", "function")
"""Roles every dialect knows. Others are allowed; a dialect reports what it does with them."""

STANDARD_METADATA: Final = ("tool_calls", "tool_call_id", "signature")
"""Metadata keys all dialects read (2-wave4-contracts, *Standard metadata keys*)."""

_FIELDS: Final = frozenset({"role", "content", "name", "swipes", "swipe_id", "send_date", "attachments", "metadata"})
_PLAIN: Final = frozenset({"role", "content", "name"})
_CAMEL: Final = {
    "swipeId": "swipe_id",
    "sendDate": "send_date",
    "toolCalls": "tool_calls",
    "toolCallId": "tool_call_id",
}


class Message(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One turn. ``content`` is always text; media are ``attachments``; tool calls live in ``metadata``.

    Where the order of its parts is another, or one of them has a mark of its own, ``metadata["parts"]`` says so
    (`innkeeper.prompt.parts`). Standard metadata keys are `STANDARD_METADATA`; others pass through to the dialects that know
    them. ``swipes`` are the alternatives of an assistant message and ``swipe_id`` the one shown (from 0); ``send_date`` is as it
    was written.
    """

    role: str
    content: str
    name: str | None = None
    attachments: tuple[Attachment, ...] = ()
    metadata: FrozenDict = EMPTY
    swipes: tuple[str, ...] = ()
    swipe_id: int | None = None
    send_date: str | int | float | None = None

    @classmethod
    def of(cls, value: Any, *, where: Where | None = None) -> Message:
        """A message from itself, a mapping or an object with ``role`` and ``content``.

        Mappings may be ours, camelCase, OpenAI's shape (content parts, top-level ``tool_calls``), or Anthropic's blocks. Roles
        are lower-cased, lone surrogates become U+FFFD. Raises `FormatError` naming the field and ``where``.
        """
        if isinstance(value, cls):
            return value
        if type(value) is dict:
            return (_quick(value) if value.keys() <= _PLAIN else None) or _known(value, where)
        return cls._of_mapping(value if isinstance(value, Mapping) else _attributes(value, where), where)

    @classmethod
    def _of_mapping(cls, value: Mapping[str, Any], where: Where | None) -> Message:
        try:
            return cls._of_fields({_CAMEL.get(key, key): item for key, item in value.items()}, where)
        except InnkeeperError as error:
            raise error.at(**({} if where is None else msgspec.structs.asdict(where))) from error.__cause__

    @classmethod
    def _of_fields(cls, fields: Mapping[str, Any], where: Where | None) -> Message:
        role = _role(fields, where)
        text, attachments, facts = _content(fields, role, where)
        media = tuple(Attachment.of(item, where=where) for item in _list(fields, "attachments", where))
        return cls(
            role=role,
            content=text,
            name=_optional_text(fields, "name", where),
            attachments=attachments + media,
            metadata=_metadata({**facts, **fields} if facts else fields, where),
            swipes=tuple(_swipe(swipe, where) for swipe in _list(fields, "swipes", where)),
            swipe_id=optional_int(fields, "swipe_id", where),
            send_date=_date(fields.get("send_date"), where),
        )

    def __post_init__(self) -> None:
        """Refuse fields of the wrong type at once; freeze metadata."""
        if not (isinstance(self.role, str) and isinstance(self.content, str)):
            raise UsageError("a message's role and content must be text")
        if type(self.metadata) is not FrozenDict:
            msgspec.structs.force_setattr(self, "metadata", freeze(self.metadata))

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The calls in ``metadata["tool_calls"]``; entries that are not mappings are skipped."""
        calls = self.metadata.get("tool_calls") if self.metadata else None
        return tuple(call for call in calls if isinstance(call, Mapping)) if isinstance(calls, (list, tuple)) else ()

    @property
    def tool_call_id(self) -> str | None:
        """The call this tool message answers, when it is text."""
        call = self.metadata.get("tool_call_id") if self.metadata else None
        return call if isinstance(call, str) else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready fields, without those at their default. `Message.of` reads it back.

        Raises `UsageError` when metadata holds what is not data.
        """
        facts: dict[str, Any] = plain_data(self)
        return facts


def _quick(value: dict[str, Any]) -> Message | None:
    """A message that is only role, content and perhaps a name, all text; most are, and chats have thousands."""
    role, content, name = written = value.get("role"), value.get("content"), value.get("name")
    if type(role) is not str or type(content) is not str or not (name is None or type(name) is str):
        return None
    message = _WRITTEN.get(written)
    if message is None:
        lower, text, called = (
            scalar_text(role).strip().lower(),
            scalar_text(content),
            scalar_text(name) if name else None,
        )
        if not lower:
            return None
        message = Message(lower, text, called)
        if text is content and called in (name, None):  # what had to be mended is counted each time
            _WRITTEN.put(written, message, len(content))
    return message


def _known(value: dict[str, Any], where: Where | None) -> Message:
    """Any other message that is plain data, read once for equal data; the bytes of `marshal` tell the types apart."""
    try:
        written = marshal.dumps(value, 0)
    except ValueError:  # not plain data
        return Message._of_mapping(value, where)  # noqa: SLF001 - of the same module
    message = _WRITTEN.get(written)
    if message is None:
        message = Message._of_mapping(value, where)  # noqa: SLF001 - as above
        if not _SURROGATE.search(written):
            _WRITTEN.put(written, message, 2 * len(written))
    return message


_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf]")
_WRITTEN: Final[BoundedCache[Any, Message]] = BoundedCache()
"""Plain messages by role, content and name: a chat that is decoded again reuses the message objects of before, and with
them everything cached for them.
"""


def _attributes(value: Any, where: Where | None) -> Mapping[str, Any]:
    if not (hasattr(value, "role") and hasattr(value, "content")):
        raise FormatError(f"a message must have role and content; {kind_of(value)} does not", where=where)
    return {name: getattr(value, name) for name in _FIELDS if hasattr(value, name)}


def _role(fields: Mapping[str, Any], where: Where | None) -> str:
    role = fields.get("role")
    if not isinstance(role, str) or not role.strip():
        raise FormatError("a message needs a role (text)", where=where, hint=f"use one of {', '.join(ROLES)}")
    return scalar_text(str(role)).strip().lower()


def _content(
    fields: Mapping[str, Any], role: str, where: Where | None
) -> tuple[str, tuple[Attachment, ...], Mapping[str, Any]]:
    """The text, the attachments, and what a list of parts says besides."""
    if "content" not in fields:
        hint = 'use "content": "" for a message without text'
        raise FormatError("a message needs content", where=where, hint=hint)
    value = fields["content"]
    if isinstance(value, str):
        return scalar_text(value), (), EMPTY
    if value is None:
        return "", (), EMPTY
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        content = read_content(value, where, mark=role != "tool")
        return content.text, content.attachments, content.metadata
    raise FormatError(f"content must be text or a list of parts, not {kind_of(value)}", where=where)


def _metadata(fields: Mapping[str, Any], where: Where | None) -> FrozenDict:
    own = fields.get("metadata") or {}
    if not isinstance(own, Mapping):
        raise FormatError(f"metadata must be a mapping, not {kind_of(own)}", where=where)
    if type(own) is FrozenDict and fields.keys() <= _FIELDS:
        return own
    extra = {key: item for key, item in fields.items() if key not in _FIELDS and item is not None}
    return freeze({**extra, **own}) if extra or own else EMPTY


def _list(fields: Mapping[str, Any], key: str, where: Where | None) -> Sequence[Any]:
    value = fields.get(key)
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return value
    raise FormatError(f"{key} must be a list, not {kind_of(value)}", where=where)


def _swipe(value: Any, where: Where | None) -> str:
    if isinstance(value, str):
        return scalar_text(value)
    raise FormatError(f"a swipe must be text, not {kind_of(value)}", where=where)


def _optional_text(fields: Mapping[str, Any], key: str, where: Where | None) -> str | None:
    value = fields.get(key)
    if value is None or isinstance(value, str):
        return scalar_text(value) if value else None
    raise FormatError(f"{key} must be text, not {kind_of(value)}", where=where)


def _date(value: Any, where: Where | None) -> str | int | float | None:
    if isinstance(value, float) and not math.isfinite(value):
        raise FormatError("send_date must be a finite number", where=where)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return scalar_text(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise FormatError(f"send_date must be text, a number or a moment, not {kind_of(value)}", where=where)


def messages_of(values: Any, *, asset: str = "history") -> tuple[Message, ...]:
    """Any iterable of messages (oldest first) as a tuple; ``None`` is empty.

    An object with a ``messages`` attribute or a ``to_messages()`` method is asked for them, a mapping for its ``messages``, with
    its ``system`` before them. A message of Anthropic's with results of tools becomes one for each, and one of the rest. Raises
    `UsageError` for what is not iterable and `FormatError` for a bad element, with its index.
    """
    if values is None:
        return ()
    if type(values) is tuple and all(type(item) is Message for item in values):
        return values
    source = values.to_messages() if hasattr(values, "to_messages") else getattr(values, "messages", values)
    if isinstance(source, Mapping) and isinstance(source.get("messages"), (list, tuple)):
        source = [*_top(source.get("system")), *source["messages"]]
    if isinstance(source, (str, bytes, Mapping)) or not hasattr(source, "__iter__"):
        raise UsageError(f"{asset} must be a list of messages, not {kind_of(values)}")
    return tuple([message for index, item in enumerate(source) for message in _numbered(item, index, asset)])


def _top(system: Any) -> list[Mapping[str, Any]]:
    """The messages that Anthropic's ``system`` is."""
    blocks = system if isinstance(system, (list, tuple)) else [system] if system else []
    return [{"role": "system", "content": [block] if isinstance(block, Mapping) else block} for block in blocks]


def _numbered(item: Any, index: int, asset: str) -> tuple[Message, ...]:
    if type(item) is Message:
        return (item,)
    if type(item) is dict and item.keys() <= _PLAIN and (message := _quick(item)) is not None:
        return (message,)
    try:
        return tuple([Message.of(message) for message in without_results(item)])
    except InnkeeperError as error:
        raise error.at(asset=asset, path=f"[{index}]") from error.__cause__
