"""Message: one turn of a conversation as every tavern and dialect sees it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.prompt.errors import FormatError, UsageError, Where
from innkeeper.prompt.frozen import EMPTY, FrozenDict, freeze
from innkeeper.prompt.text import scalar_text

__all__ = ["ROLES", "STANDARD_METADATA", "Attachment", "Message", "messages_of"]

ROLES: Final = ("system", "user", "assistant", "tool", "function")
"""Roles every dialect knows. Others are allowed; a dialect reports what it does with them."""

STANDARD_METADATA: Final = ("tool_calls", "tool_call_id", "signature")
"""Metadata keys all dialects read (2-wave4-contracts, *Standard metadata keys*)."""

_T = TypeVar("_T")

_FIELDS: Final = frozenset({"role", "content", "name", "swipes", "swipe_id", "send_date", "attachments", "metadata"})
_CAMEL: Final = {
    "swipeId": "swipe_id",
    "sendDate": "send_date",
    "toolCalls": "tool_calls",
    "toolCallId": "tool_call_id",
}
_KINDS: Final = {"image_url": "image", "input_image": "image", "input_audio": "audio", "input_file": "file"}
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,(?P<data>.*)", re.DOTALL)


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Media beside a message's text: an image, audio, video or file, by URL or as base64 ``data``.

    ``media_type`` is a MIME type (``image/png``); ``detail`` is a provider's fidelity hint (``low``, ``high``, ``auto``).
    """

    kind: str
    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    name: str | None = None
    detail: str | None = None
    extra: FrozenDict = EMPTY

    @classmethod
    def of(cls, value: Any) -> Attachment:
        """An attachment from itself or a mapping: ours, or an OpenAI content part. Raises `FormatError`."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            msg = f"an attachment must be a mapping, not {type(value).__name__}"
            raise FormatError(msg)
        kind = str(value.get("kind") or value.get("type") or "file")
        body = value.get(kind)
        part = {**value, **body} if isinstance(body, Mapping) else value
        url = part.get("url") or (body if isinstance(body, str) else None)
        found = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
        return cls(
            kind=_KINDS.get(kind, kind),
            url=None if found else url,
            data=found["data"] if found else part.get("data") or part.get("file_data"),
            media_type=(found["type"] if found else None) or part.get("media_type") or _media_type(part),
            name=part.get("name") or part.get("filename"),
            detail=part.get("detail"),
        )

    @property
    def data_url(self) -> str | None:
        """``url``, or the data as a ``data:`` URL."""
        return (
            self.url
            if self.data is None
            else f"data:{self.media_type or 'application/octet-stream'};base64,{self.data}"
        )

    def decode(self) -> bytes:
        """The bytes of ``data``. Raises `FormatError` when there are none or they are not base64."""
        try:
            return base64.b64decode(self.data or "", validate=True)
        except (binascii.Error, ValueError) as error:
            msg = "attachment data is not base64"
            raise FormatError(msg) from error


def _media_type(part: Mapping[str, Any]) -> str | None:
    form = part.get("format")
    return f"audio/{form}" if isinstance(form, str) else None


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn. ``content`` is always text; media are ``attachments``; tool calls live in ``metadata``.

    Standard metadata keys are `STANDARD_METADATA`; others pass through to the dialects that know them. ``swipes`` are the
    alternatives of an assistant message and ``swipe_id`` the one shown (from 0); ``send_date`` is as it was found.
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

        Mappings may be ours, camelCase, or the OpenAI shape (content parts, top-level ``tool_calls``). Roles are
        lower-cased, lone surrogates become U+FFFD. Raises `FormatError` naming the field and ``where``.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            value = _attributes(value, where)
        fields = {_CAMEL.get(key, key): item for key, item in value.items()}
        role = fields.get("role")
        if not isinstance(role, str) or not role.strip():
            msg = "a message needs a role (text)"
            raise FormatError(msg, where=where, hint=f"use one of {', '.join(ROLES)}")
        if "content" not in fields:
            msg = "a message needs content"
            raise FormatError(msg, where=where, hint='use "content": "" for a message without text')
        text, parts = _content(fields["content"], where)
        attachments = (*parts, *(Attachment.of(item) for item in fields.get("attachments") or ()))
        return cls(
            role=role.strip().lower(),
            content=text,
            name=_optional(fields, "name", str, where),
            attachments=attachments,
            metadata=_metadata(fields, where),
            swipes=tuple(scalar_text(str(swipe)) for swipe in fields.get("swipes") or ()),
            swipe_id=_optional(fields, "swipe_id", int, where),
            send_date=_date(fields.get("send_date")),
        )

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The calls of ``metadata["tool_calls"]``, or none."""
        return tuple(self.metadata.get("tool_calls") or ())

    @property
    def tool_call_id(self) -> str | None:
        """The call this tool message answers."""
        return self.metadata.get("tool_call_id")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready fields, without those at their default. `Message.of` reads it back."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        return facts


def _attributes(value: Any, where: Where | None) -> Mapping[str, Any]:
    if not (hasattr(value, "role") and hasattr(value, "content")):
        msg = f"a message must have role and content; {type(value).__name__} has not"
        raise FormatError(msg, where=where)
    return {name: getattr(value, name) for name in _FIELDS if hasattr(value, name)}


def _content(value: Any, where: Where | None) -> tuple[str, tuple[Attachment, ...]]:
    if isinstance(value, str):
        return scalar_text(value), ()
    if value is None:
        return "", ()
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _parts(value, where)
    msg = f"content must be text or a list of parts, not {type(value).__name__}"
    raise FormatError(msg, where=where)


def _parts(parts: Sequence[Any], where: Where | None) -> tuple[str, tuple[Attachment, ...]]:
    texts, media = [], []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, Mapping):
            media.append(Attachment.of(part))
        else:
            msg = f"a content part must be a mapping or text, not {type(part).__name__}"
            raise FormatError(msg, where=where)
    return scalar_text("\n".join(texts)), tuple(media)


def _metadata(fields: Mapping[str, Any], where: Where | None) -> FrozenDict:
    given = fields.get("metadata") or {}
    if not isinstance(given, Mapping):
        msg = f"metadata must be a mapping, not {type(given).__name__}"
        raise FormatError(msg, where=where)
    extra = {key: item for key, item in fields.items() if key not in _FIELDS and item is not None}
    return freeze({**extra, **given}) if extra or given else EMPTY


def _optional(fields: Mapping[str, Any], key: str, kind: type[_T], where: Where | None) -> _T | None:
    value = fields.get(key)
    if value is None or value == "" or (isinstance(value, kind) and not isinstance(value, bool)):
        return value or (None if value == "" else value)
    msg = f"{key} must be {kind.__name__}, not {type(value).__name__}"
    raise FormatError(msg, where=where)


def _date(value: Any) -> str | int | float | None:
    if value is None or isinstance(value, (str, int, float)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def messages_of(values: Any, *, asset: str = "history") -> tuple[Message, ...]:
    """Any iterable of messages (oldest first) as a tuple; ``None`` is empty.

    An object with a ``messages`` attribute or a ``to_messages()`` method is asked for them. Raises `UsageError` for
    what is not iterable and `FormatError` for a bad element, with its index.
    """
    if values is None:
        return ()
    if type(values) is tuple and all(type(item) is Message for item in values):
        return values
    source = values.to_messages() if hasattr(values, "to_messages") else values
    if isinstance(source, (str, bytes, Mapping)) or not hasattr(source, "__iter__"):
        msg = f"{asset} must be a list of messages, not {type(values).__name__}"
        raise UsageError(msg)
    return tuple(
        item if type(item) is Message else Message.of(item, where=Where(asset=asset, path=f"[{index}]"))
        for index, item in enumerate(source)
    )
