"""Chat: a stored conversation, read from SillyTavern's JSON lines or a JSON list of messages, and written back.

`read_chat` finds out which shape a file has and says what is wrong with which line. A chat that was not edited is written
back byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.chat_message import ChatMessage, read_message
from innkeeper.content.errors import LIMITS, AssetError, Limits, WrongKindError, check_limit, limit_error
from innkeeper.content.finding import Finding, Path, show_path
from innkeeper.content.json import ABSENT
from innkeeper.content.json.document import Document
from innkeeper.content.json.json_asset import kind_of_json
from innkeeper.content.json.record import as_text
from innkeeper.content.json.text import decode_json, decode_text, encode_json
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import FormatError, InputError, LimitError, UsageError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.text import kind_of

if TYPE_CHECKING:
    from innkeeper.prompt.plan import Plan


OURS: Final = "innkeeper"
"""The key of a chat's metadata for everything that SillyTavern has no field for."""


MAX_PROMPT_MESSAGES: Final = 64 * 1024 * 1024
"""Bytes of the messages of chats that a process keeps for the next turn (no error: they are made again)."""


class BadLine(msgspec.Struct, frozen=True):
    """A line that is not a message, preserved unchanged: its number in the file, and the message it precedes."""

    line: int
    before: int
    data: bytes


class ChatLog(msgspec.Struct, frozen=True, kw_only=True):
    """A chat, oldest message first. ``header`` is the object of the first line (``header_data``), or ``None``.

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
    def of(cls, value: Any) -> ChatLog:
        """A chat from itself, a list of messages, an object with ``messages``, or text (JSON or JSON lines).

        Raises:
            AssetError: something in it is not a message.
            FormatError: the text is not JSON.
            LimitError: it is beyond a limit.
        """
        if isinstance(value, ChatLog):
            return value
        if isinstance(value, str):
            return read_chat(value.encode(errors="replace"))
        if isinstance(value, bytes):
            return read_chat(value)
        if isinstance(value, Mapping):
            return read_chat(encode_json(value))
        if isinstance(value, Sequence):
            return read_chat(encode_json([_plain(item) for item in value]))
        raise UsageError(f"a chat is a list, an object or text, not {kind_of(value)}")

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
        """The metadata of this chat: its note, its variables, its lorebook … (``chat_metadata``)."""
        metadata = (self.header or {}).get("chat_metadata")
        return metadata if isinstance(metadata, dict) else {}

    def append(self, *messages: ChatMessage) -> ChatLog:
        """The chat with more messages at its end."""
        return msgspec.structs.replace(self, messages=(*self.messages, *messages), data=None)

    def replace_message(self, index: int, message: ChatMessage) -> ChatLog:
        """Return the chat with another message at an index. Raises `UsageError` if there is none."""
        position = self._message_index(index)
        messages = (*self.messages[:position], message, *self.messages[position + 1 :])
        return msgspec.structs.replace(self, messages=messages, data=None)

    def with_(self, plan: Plan) -> ChatLog:
        """Return the chat with what a build stores for the next one: SillyTavern's keys (``plan.stored``), and ours for the rest.

        The user's message of the build is not added: who sends it knows when. All that does not change keeps its bytes.
        """
        local = {"variables": plan.variables.get("local") or self.metadata.get("variables")}
        if plan.stored is None:
            return self.with_metadata({**local, OURS: None if _is_empty(plan.carry) else {"carry": plan.carry}})
        scans = plan.carry.get("scans") if isinstance(plan.carry, Mapping) else None
        ours = {OURS: {"carry": {"scans": scans}} if scans else None}
        chat = self.with_metadata({**local, **plan.stored.get("chat_metadata", {}), **ours})
        for index, text in plan.stored.get("messages", {}).items():
            chat = chat.replace_message(int(index), chat.messages[int(index)].replace(text=text))
        return chat

    def with_metadata(self, changes: Mapping[str, Any]) -> ChatLog:
        """Return the chat with other values in its metadata; ``None`` removes a key. The rest of the header keeps its bytes."""
        before, header = self.metadata, self.header or dict(EMPTY_HEADER)
        edits: dict[Path, Any] = {
            ("chat_metadata", key): ABSENT if value is None else thaw(value)
            for key, value in changes.items()
            if thaw(before.get(key)) != thaw(value)
        }
        if not edits:
            return self
        if not isinstance(header.get("chat_metadata"), dict):
            edits = {("chat_metadata",): {path[1]: value for path, value in edits.items() if value is not ABSENT}}
        document = Document(header, self.header_data).replace(edits)
        return msgspec.structs.replace(self, header=document.tree, header_data=document.data, data=None)

    def without(self, index: int) -> ChatLog:
        """Return the chat without one message. Raises `UsageError` if there is none."""
        position = self._message_index(index)
        bad = tuple(BadLine(b.line, b.before - (b.before > position), b.data) for b in self.bad_lines)
        messages = (*self.messages[:position], *self.messages[position + 1 :])
        return msgspec.structs.replace(self, messages=messages, bad_lines=bad, data=None)

    def to_messages(self, *, hidden: bool = False) -> tuple[Message, ...]:
        """The messages for a prompt; those that are hidden only on demand."""
        chosen = (message for message in self.messages if hidden or not message.hidden)
        return tuple(part for message in chosen for part in prompt_messages(message))

    @property
    def turns(self) -> tuple[int, ...]:
        """The indexes of the user's messages, but for hidden ones: each began a turn."""
        return tuple([i for i, message in enumerate(self.messages) if message.role == "user" and not message.hidden])

    def to_jsonl(self) -> bytes:
        """The chat as JSON lines: header, then messages, each byte for byte as read unless it was edited."""
        if self.data is not None and self.is_lines:
            return self.data
        lines = [] if self.header is None else [self.header_data or encode_json(self.header)]
        bad = list(self.bad_lines)
        for index, message in enumerate(self.messages):
            while bad and bad[0].before <= index:
                lines.append(bad.pop(0).data)
            line = message.encode()
            lines.append(encode_json(message.raw) if b"\n" in line else line.rstrip(b"\r"))
        return b"".join(line + b"\n" for line in [*lines, *(item.data for item in bad)])

    def _message_index(self, index: int) -> int:
        if not -len(self.messages) <= index < len(self.messages):
            raise UsageError(f"the chat has no message {index}", hint=f"it has {len(self.messages)} messages")
        return index % len(self.messages)


_PROMPT_MESSAGES: Final[BoundedCache[int, tuple[Message, ...]]] = BoundedCache(items=65_536, size=MAX_PROMPT_MESSAGES)


def prompt_messages(message: ChatMessage) -> tuple[Message, ...]:
    """Return what `ChatMessage.to_messages` makes of a message, which most turns of a chat have in common."""
    cached = _PROMPT_MESSAGES.get(id(message))
    if cached is not None:
        return cached
    return _PROMPT_MESSAGES.put(id(message), message.to_messages(), 2 * len(message.text), alive=message)


def _is_empty(value: Any) -> bool:
    """Whether there is nothing in ``value``, however deep."""
    return not value or (isinstance(value, Mapping) and all(map(_is_empty, value.values())))


def _plain(item: Any) -> Any:
    if isinstance(item, ChatMessage):
        return item.raw
    if isinstance(item, Message):
        return item.to_dict()
    if not isinstance(item, Mapping):
        raise AssetError(f"a message is an object, not {kind_of(item)}")
    return item


EMPTY_HEADER: Final[Mapping[str, Any]] = {"user_name": "unused", "character_name": "unused", "chat_metadata": {}}
"""The header of a chat without one: SillyTavern needs one, and does not read the names in it."""


LINE_FACTOR = 8
"""A line may have so many times the bytes of a message's text: alternatives and extras are on it."""


def read_chat(data: bytes, *, limits: Limits = LIMITS, name: str | None = None, lenient: bool = False) -> ChatLog:
    """A chat from the bytes of a file.

    Args:
        data: JSON lines, or JSON: a list of messages, or an object with ``messages``.
        limits: the limits to hold.
        name: what errors call the file.
        lenient: keep a line that is not a message as it is, with a finding, instead of refusing the file.

    Raises:
        AssetError: something in it is not a message; ``where`` has its line or its place in the list.
        WrongKindError: it is something else that is read elsewhere.
        LimitError: too many messages, or one that is too long.
    """
    check_limit(limits, "chat_bytes", len(data), "the chat", asset=name)
    findings: list[Finding] = []
    text = data if _is_utf8(data) else decode_text(data, name, findings).encode()
    if text.lstrip().startswith(b"["):
        return _read_list(decode_json(text, limits, name=name, findings=findings), data, findings, limits, name)
    whole = _whole(text, limits)
    if isinstance(whole, dict):
        return _read_object(whole, data, findings, limits, name)
    return _JsonLines(limits, name, lenient=lenient).read(text, data, findings)


def _is_utf8(data: bytes) -> bool:
    return not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))


def _whole(text: bytes, limits: Limits) -> Any:
    """Return the one JSON object that the whole text is, if it is one; JSON lines have several."""
    first, _, rest = text.strip().partition(b"\n")
    if first.rstrip().endswith(b"}") and rest:
        return None
    try:
        return decode_json(text, limits)
    except InputError:
        return None


def _read_object(
    tree: dict[str, Any], data: bytes, findings: list[Finding], limits: Limits, name: str | None
) -> ChatLog:
    if isinstance(tree.get("messages"), list):
        chat = _read_list(tree["messages"], data, findings, limits, name)
        system = tree.get("system")
        if isinstance(system, str) and system:
            return chat_with_system(chat, system)
        return chat
    kind = kind_of_json(tree)
    if kind == "chat header":
        line = data.strip() if _is_utf8(data) and b"\n" not in data.strip() else None
        return ChatLog(header=tree, header_data=line, findings=tuple(findings), data=data, is_lines=True)
    if kind == "chat message" or "mes" in tree or "role" in tree:
        return ChatLog(
            messages=(_message(tree, data.strip(), limits, Where(asset=name, line=1)),), data=data, is_lines=True
        )
    if kind == "unknown":
        raise AssetError(
            "this JSON is not a chat", where=Where(asset=name), hint="a chat is a list of messages, or JSON lines"
        )
    raise WrongKindError(f"this is not a chat but a {kind}", found=kind, where=Where(asset=name))


def chat_with_system(chat: ChatLog, system: str) -> ChatLog:
    """Return the chat with a system text that a provider stores apart as its first message."""
    from msgspec.structs import replace

    return replace(chat, messages=(read_message({"role": "system", "content": system}), *chat.messages), data=None)


def _read_list(items: Any, data: bytes, findings: list[Finding], limits: Limits, name: str | None) -> ChatLog:
    check_limit(limits, "chat_messages", len(items), "the number of messages", asset=name)
    messages = []
    for index, item in enumerate(items):
        where = Where(asset=name, path=show_path(("messages", index)))
        if not isinstance(item, dict):
            raise AssetError(f"a message is an object, not {kind_of(item)}", where=where)
        messages.append(_message(item, None, limits, where))
    return ChatLog(messages=tuple(messages), findings=tuple(findings), data=data)


def _message(raw: dict[str, Any], line: bytes | None, limits: Limits, where: Where) -> ChatMessage:
    """A message, held against the limit on its text."""
    try:
        message = read_message(raw, line)
    except FormatError as error:
        raise AssetError(error.message, where=where, hint=error.hint) from error
    if len(message.text) * 4 > limits.message_bytes:
        size = len(message.text.encode(errors="replace"))
        check_limit(limits, "message_bytes", size, f"the text of a message ({where})", asset=where.asset)
    return message


class _JsonLines:
    """Reads JSON lines one after the other."""

    def __init__(self, limits: Limits, name: str | None, *, lenient: bool) -> None:
        self.limits = limits
        self.name = name
        self.lenient = lenient
        self.header: dict[str, Any] | None = None
        self.header_data: bytes | None = None
        self.messages: list[ChatMessage] = []
        self.bad: list[BadLine] = []
        self.findings: list[Finding] = []

    def read(self, text: bytes, data: bytes, findings: list[Finding]) -> ChatLog:
        """The chat that the text is."""
        self.findings = findings
        lines = text.split(b"\n")
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._line(line, number, is_last=number == len(lines))
        if self.header is None and not self.messages:
            raise AssetError("there is no message in this file", where=Where(asset=self.name))
        return ChatLog(
            messages=tuple(self.messages),
            header=self.header,
            header_data=self.header_data,
            findings=tuple(self.findings),
            bad_lines=tuple(self.bad),
            data=data,
            is_lines=True,
        )

    def _line(self, line: bytes, number: int, *, is_last: bool) -> None:
        """Read one line. A last line without its end, the trace of an interrupted write, is preserved in every mode."""
        try:
            self._take(line, number)
        except LimitError as error:
            raise error.at(asset=self.name, line=number) from None
        except InputError as error:
            torn = is_last and (self.header is not None or bool(self.messages))
            if not (self.lenient or torn):
                hint = error.hint or "mend or remove the line; programs pass lenient=True to go on without it"
                raise AssetError(error.message, where=_at_line(error.where, number, self.name), hint=hint) from error
            rule = "torn-line" if torn else "bad-line"
            self.findings.append(Finding(rule, f"kept, but not read: {error.message}", line=number))
            self.bad.append(BadLine(number, len(self.messages), line))

    def _take(self, line: bytes, number: int) -> None:
        allowed = self.limits.message_bytes * LINE_FACTOR
        if len(line) > allowed:
            raise limit_error("message_bytes", f"line {number}", allowed, len(line)).at(asset=self.name, line=number)
        tree = decode_json(line, self.limits)
        if not isinstance(tree, dict):
            raise AssetError(f"a message is an object, not {kind_of(tree)}")
        if "mes" not in tree and "role" not in tree and not self.messages and self.header is None:
            self._take_header(tree, line)
            return
        check_limit(self.limits, "chat_messages", len(self.messages) + 1, "the number of messages", asset=self.name)
        self.messages.append(_message(tree, line, self.limits, Where(asset=self.name, line=number)))

    def _take_header(self, tree: dict[str, Any], line: bytes) -> None:
        kind = kind_of_json(tree)
        is_header = kind == "chat header" or "chat_metadata" in tree or "user_name" in tree
        if not is_header:
            raise AssetError("the first line is neither a header nor a message")
        self.header, self.header_data = tree, line.rstrip(b"\r")


def _at_line(where: Where | None, number: int, name: str | None) -> Where:
    if where is None:
        return Where(asset=name, line=number)
    return Where(name, None, number, where.column, where.excerpt, where.cut)
