"""Chat: a stored conversation: SillyTavern's JSON lines, or a JSON list of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.errors import ChatError
from innkeeper.content.finding import Finding
from innkeeper.content.jsontext import encode_json
from innkeeper.content.record import as_text
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.message import Message

__all__ = ["BadLine", "Chat"]


class BadLine(msgspec.Struct, frozen=True):
    """A line that is no message, kept as it is: its number in the file, and before which message it stands."""

    line: int
    before: int
    data: bytes


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """A chat, oldest message first. ``header`` is the object of the first line (``header_data``), ``None`` where there is none.

    ``data`` are the bytes it was read from, JSON lines if ``is_lines``; a chat that was not edited is written back byte for
    byte.
    """

    messages: tuple[ChatMessage, ...] = ()
    header: dict[str, Any] | None = None
    header_data: bytes | None = None
    findings: tuple[Finding, ...] = ()
    bad_lines: tuple[BadLine, ...] = ()
    data: bytes | None = None
    is_lines: bool = False

    @classmethod
    def of(cls, value: Any) -> Chat:
        """A chat from itself, a list of messages, an object with ``messages``, or text (JSON or JSON lines).

        Raises:
            ChatError: something in it is no message.
            FormatError: the text is not JSON.
            ContentLimitError: it is beyond a limit.
        """
        from innkeeper.content.chat_reading import read_chat

        if isinstance(value, Chat):
            return value
        if isinstance(value, str):
            return read_chat(value.encode(errors="replace"))
        if isinstance(value, bytes):
            return read_chat(value)
        if isinstance(value, Mapping):
            return read_chat(encode_json(value))
        if isinstance(value, Sequence):
            return read_chat(encode_json([_plain(item) for item in value]))
        raise UsageError(f"a chat is a list, an object or text, not {type(value).__name__}")

    @property
    def user_name(self) -> str | None:
        """The user's name in the header."""
        return as_text((self.header or {}).get("user_name"))

    @property
    def character_name(self) -> str | None:
        """The character's name in the header."""
        return as_text((self.header or {}).get("character_name"))

    @property
    def create_date(self) -> str | None:
        """When the chat began, as the header has it."""
        return as_text((self.header or {}).get("create_date"))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What belongs to this chat alone: its note, its variables, its lorebook … (``chat_metadata``)."""
        metadata = (self.header or {}).get("chat_metadata")
        return metadata if isinstance(metadata, dict) else {}

    def append(self, *messages: ChatMessage) -> Chat:
        """The chat with more messages at its end."""
        return msgspec.structs.replace(self, messages=(*self.messages, *messages), data=None)

    def replace_message(self, index: int, message: ChatMessage) -> Chat:
        """The chat with another message at a place. Raises `UsageError` where there is none."""
        place = self._place(index)
        messages = (*self.messages[:place], message, *self.messages[place + 1 :])
        return msgspec.structs.replace(self, messages=messages, data=None)

    def without(self, index: int) -> Chat:
        """The chat without one message. Raises `UsageError` where there is none."""
        place = self._place(index)
        bad = tuple(BadLine(b.line, b.before - (b.before > place), b.data) for b in self.bad_lines)
        messages = (*self.messages[:place], *self.messages[place + 1 :])
        return msgspec.structs.replace(self, messages=messages, bad_lines=bad, data=None)

    def to_messages(self, *, hidden: bool = False) -> tuple[Message, ...]:
        """The messages for a prompt; those that are hidden only on demand."""
        chosen = (message for message in self.messages if hidden or not message.hidden)
        return tuple(part for message in chosen for part in message.to_messages())

    def to_jsonl(self) -> bytes:
        """The chat as JSON lines: header, then messages, each byte for byte as read unless it was edited."""
        if self.data is not None and self.is_lines:
            return self.data
        lines = [] if self.header is None else [self.header_data or encode_json(self.header)]
        bad = list(self.bad_lines)
        for index, message in enumerate(self.messages):
            while bad and bad[0].before <= index:
                lines.append(bad.pop(0).data)
            lines.append(_one_line(message))
        return b"".join(line + b"\n" for line in [*lines, *(item.data for item in bad)])

    def _place(self, index: int) -> int:
        if not -len(self.messages) <= index < len(self.messages):
            raise UsageError(f"the chat has no message {index}", hint=f"it has {len(self.messages)} messages")
        return index % len(self.messages)


def _one_line(message: ChatMessage) -> bytes:
    line = message.encode()
    return encode_json(message.raw) if b"\n" in line else line.rstrip(b"\r")


def _plain(item: Any) -> Any:
    if isinstance(item, ChatMessage):
        return item.raw
    if isinstance(item, Message):
        return item.to_dict()
    if not isinstance(item, Mapping):
        raise ChatError(f"a message is an object, not {type(item).__name__}")
    return item


EMPTY_HEADER: Final[Mapping[str, Any]] = {"user_name": "unused", "character_name": "unused", "chat_metadata": {}}
"""The header of a chat that has none: SillyTavern needs one, and does not read the names in it."""
