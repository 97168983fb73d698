"""ChatMessage: one message of a stored chat, as SillyTavern stores it or in the shape of a provider's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Self
from urllib.parse import quote

import msgspec

from innkeeper.content.errors import AssetError
from innkeeper.content.finding import Path
from innkeeper.content.json import ABSENT
from innkeeper.content.json.document import Document
from innkeeper.content.json.record import as_flag, as_integer, as_text
from innkeeper.content.json.text import encode_json
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.message import Message
from innkeeper.prompt.parts import Attachment

NARRATOR: Final = "narrator"
"""The ``extra.type`` of a narrator's message."""

EDITABLE: Final[Mapping[str, str]] = {
    "text": "mes",
    "name": "name",
    "hidden": "is_system",
    "send_date": "send_date",
    "extra": "extra",
    "swipes": "swipes",
    "swipe_id": "swipe_id",
}
"""The fields that can be replaced in a SillyTavern message, and their keys."""


class ToolInvocation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call and its result; ``parameters`` is JSON text as the model wrote it."""

    id: str
    name: str
    parameters: str = "{}"
    result: str = ""
    display_name: str = ""


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message. ``raw`` is the object it was read from, which must not be changed.

    ``role`` is ``user``, ``assistant``, ``system`` (a narrator) or what an API message says. ``hidden`` messages are not
    for prompts. ``data`` is the line as read, if there was one.
    """

    role: str
    text: str
    name: str | None = None
    hidden: bool = False
    send_date: str | float | None = None
    raw: dict[str, Any] = {}
    data: bytes | None = None

    @classmethod
    def create(
        cls,
        role: str,
        text: str,
        *,
        name: str | None = None,
        send_date: str | float | None = None,
        extra: Mapping[str, Any] | None = None,
        avatar: str | None = None,
    ) -> ChatMessage:
        """A new message in SillyTavern's shape. The time is the caller's to give.

        ``avatar`` is the file of the card that speaks in a group, which SillyTavern tells the members apart by.
        """
        own = {} if role in {"user", "assistant"} else {"type": NARRATOR}
        raw: dict[str, Any] = {"name": name or role.capitalize(), "is_user": role == "user", "is_system": False}
        raw |= {} if send_date is None else {"send_date": send_date}
        if avatar is not None:
            raw |= {"original_avatar": avatar, "force_avatar": f"/thumbnail?type=avatar&file={quote(avatar)}"}
        return read_message({**raw, "mes": text, "extra": own | dict(extra or {})})

    @property
    def is_silly(self) -> bool:
        """Whether the message is in SillyTavern's shape."""
        return "mes" in self.raw

    @property
    def extra(self) -> Mapping[str, Any]:
        """The data that SillyTavern and its extensions store beside the text."""
        extra = self.raw.get("extra")
        return extra if isinstance(extra, dict) else {}

    @property
    def swipes(self) -> tuple[str, ...]:
        """The alternatives of the message, itself included."""
        swipes = self.raw.get("swipes")
        return tuple(as_text(item) or "" for item in swipes) if isinstance(swipes, list) else ()

    @property
    def swipe_id(self) -> int | None:
        """Which of the alternatives the message is."""
        return as_integer(self.raw.get("swipe_id"))

    @property
    def is_narrator(self) -> bool:
        """Whether it is a narrator's message."""
        return self.extra.get("type") == NARRATOR

    @property
    def is_small(self) -> bool:
        """Whether the application shows the message as a small note."""
        return bool(as_flag(self.extra.get("isSmallSys")))

    @property
    def force_avatar(self) -> str | None:
        """The picture of a speaker other than the chat's character, if the message has one."""
        value = self.raw.get("force_avatar")
        return value if isinstance(value, str) and value else None

    @property
    def reasoning(self) -> str:
        """The model's reasoning before the message."""
        return as_text(self.extra.get("reasoning", self.raw.get("reasoning_content"))) or ""

    @property
    def tool_invocations(self) -> tuple[ToolInvocation, ...]:
        """The tool calls that the message stands for."""
        calls = self.extra.get("tool_invocations")
        return tuple(_invocation(call) for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()

    @property
    def media(self) -> tuple[Attachment, ...]:
        """Pictures, videos, sounds and files that belong to the message, by their addresses in the application."""
        return tuple(_media(self.extra)) if self.is_silly else _api_message(self.raw).attachments

    def replace(self, **fields: Any) -> Self:
        """The message with other values; the alternative that is shown follows the text. Raises `UnknownNameError`."""
        edits: dict[Path, Any] = {}
        for name, value in fields.items():
            if name not in EDITABLE:
                raise UnknownNameError("field of a chat message", name, EDITABLE)
            key = EDITABLE[name] if self.is_silly else {"text": "content"}.get(name, name)
            edits[key,] = ABSENT if value is None else list(value) if isinstance(value, tuple) else value
        shown = self.swipe_id
        if "text" in fields and shown is not None and 0 <= shown < len(self.swipes):
            edits["swipes", shown] = fields["text"]
        document = Document(self.raw, self.data).replace(edits)
        return read_message(document.tree, document.data)  # type: ignore[return-value]

    def encode(self) -> bytes:
        """The message as one line of JSON, byte for byte as read unless it was edited."""
        return encode_json(self.raw) if self.data is None else self.data

    def to_messages(self) -> tuple[Message, ...]:
        """The message for a prompt: itself, or a call and its results where it stands for tool calls."""
        if not self.is_silly:
            return (_api_message(self.raw),)
        if self.tool_invocations:
            return tuple(_tool_messages(self.tool_invocations, self.text))
        facts: dict[str, Any] = {"hidden": True} if self.hidden else {}
        facts |= {"force_avatar": self.force_avatar} if self.force_avatar else {}
        avatar = self.raw.get("original_avatar")
        facts |= {"original_avatar": avatar} if avatar and isinstance(avatar, str) else {}
        facts |= {"name": ""} if self.name == "" else {}
        facts |= {"is_user": True} if self.is_narrator and as_flag(self.raw.get("is_user")) else {}
        metadata = facts | ({"extra": dict(self.extra)} if self.extra else {})
        message = {
            "role": self.role,
            "content": self.text,
            "name": self.name,
            "attachments": self.media,
            "metadata": metadata,
            "swipes": self.swipes,
            "swipe_id": self.swipe_id,
            "send_date": self.send_date,
        }
        return (Message.of(message),)


def read_message(raw: dict[str, Any], data: bytes | None = None) -> ChatMessage:
    """A message from its JSON object: SillyTavern's (``mes``) or an API's (``role`` and ``content``).

    Raises:
        AssetError: it is neither.
    """
    if "mes" in raw:
        return _read_silly(raw, data)
    if "role" not in raw:
        hint = "a message has `mes`, or `role` and `content`"
        raise AssetError("this JSON object is not a message", hint=hint)
    message = _api_message(raw)
    return ChatMessage(
        role=message.role,
        text=message.content,
        name=message.name,
        hidden=bool(as_flag(raw.get("hidden"))),
        send_date=message.send_date,
        raw=raw,
        data=data,
    )


def _api_message(raw: Mapping[str, Any]) -> Message:
    """A message in the shape of an API, which may leave out the content of one that only calls tools."""
    return Message.of(raw if "content" in raw else {**raw, "content": None})


def _read_silly(raw: dict[str, Any], data: bytes | None) -> ChatMessage:
    text, name, date, extra = raw["mes"], raw.get("name"), raw.get("send_date"), raw.get("extra")
    own = extra if isinstance(extra, dict) else {}
    calls, narrator = own.get("tool_invocations"), own.get("type") == NARRATOR
    return ChatMessage(
        role="system" if narrator else "user" if as_flag(raw.get("is_user")) else "assistant",
        text=text if type(text) is str else as_text(text) or "",
        name=name if type(name) is str else as_text(name),
        hidden=bool(as_flag(raw.get("is_system"))) and not calls,
        send_date=date if isinstance(date, (str, int, float)) and not isinstance(date, bool) else None,
        raw=raw,
        data=data,
    )


def _invocation(call: Mapping[str, Any]) -> ToolInvocation:
    parameters, result = call.get("parameters"), call.get("result")
    return ToolInvocation(
        id=as_text(call.get("id")) or "",
        name=as_text(call.get("name")) or "",
        parameters=_as_json(parameters) or "{}",
        result=_as_json(result),
        display_name=as_text(call.get("displayName")) or "",
    )


def _as_json(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else encode_json(value).decode()


def _tool_messages(calls: tuple[ToolInvocation, ...], shown: str) -> Iterator[Message]:
    """The calls, then each result. SillyTavern's text of the message is for people: no content, but a fact about it."""
    fields = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.parameters}}
        for call in calls
    ]
    facts = {"shown": shown} if shown else {}
    yield Message.of({"role": "assistant", "content": "", "tool_calls": fields, "metadata": facts})
    for call in calls:
        yield Message.of({"role": "tool", "content": call.result, "tool_call_id": call.id, "name": call.name or None})


def _media(extra: Mapping[str, Any]) -> Iterator[Attachment]:
    """Media in today's list, and in the single fields there were before it."""
    listed = extra.get("media")
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(item.get("url"), str):
            yield Attachment(as_text(item.get("type")) or "image", item["url"], name=as_text(item.get("title")))
    for kind in () if isinstance(listed, list) else ("image", "video", "audio"):
        if isinstance(extra.get(kind), str) and extra[kind]:
            yield Attachment(kind, extra[kind], name=as_text(extra.get("title")))
    files = extra.get("files")
    for item in files if isinstance(files, list) else (extra.get("file"),):
        if isinstance(item, dict):
            yield Attachment("file", as_text(item.get("url")), name=as_text(item.get("name")))
