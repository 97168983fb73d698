"""Messages in the shape of Chat Completions, checked, and the names of their speakers.

Everything that reworks such messages reads them with `read_chat_messages`. `Speakers` has the rule for putting a name in front
of a text that does not begin with it yet; example messages carry the names ``example_user`` and ``example_assistant``.
(sillytavern.md 71.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from innkeeper.dialects.report import option_error
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.typed.once import convert


def bad_message(index: int, path: str, why: str, hint: str | None = None) -> FormatError:
    """The error for message ``index``; ``path`` is the place in it."""
    return FormatError(why, where=Where(asset="messages", path=f"[{index}]{path}"), hint=hint)


def read_chat_messages(messages: Any) -> list[dict[str, Any]]:
    """Copies of the messages, each ``{role, content, name?, tool_calls?, tool_call_id?, …}``; without ``None`` fields.

    Content is text, a list of parts, or ``None`` where there is none. Raises `FormatError` naming the message.
    """
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        msg = "messages must be a list"
        raise FormatError(msg, where=Where(asset="messages"))
    return [_message(raw, index) for index, raw in enumerate(messages)]


def _message(raw: Any, index: int) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise bad_message(index, "", "a message is an object with a role and content")
    message = {str(key): value for key, value in raw.items() if value is not None or key == "content"}
    if not (isinstance(message.get("role"), str) and message["role"]):
        raise bad_message(index, ".role", "a message needs a role", "one of system, user, assistant, tool")
    if not isinstance(message.get("name", ""), str):
        raise bad_message(index, ".name", "a name is text")
    message["content"] = _content(message.get("content"), index)
    if "tool_calls" in message:
        calls = message["tool_calls"]
        if not isinstance(calls, (list, tuple)) or not all(isinstance(call, Mapping) for call in calls):
            raise bad_message(index, ".tool_calls", "tool calls are a list of objects")
        message["tool_calls"] = [dict(call) for call in calls]
    return message


def _content(content: Any, index: int) -> str | list[dict[str, Any]] | None:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return [_part(part, index, part_index) for part_index, part in enumerate(content)]
    raise bad_message(index, ".content", "content is text, a list of parts, or nothing")


def _part(part: Any, index: int, part_index: int) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        raise bad_message(index, f".content[{part_index}]", "a part is an object with a type")
    if part.get("type") == "text" and not isinstance(part.get("text") or "", str):
        raise bad_message(index, f".content[{part_index}].text", "the text of a part is text")
    return dict(part)


def part_text(part: Mapping[str, Any]) -> str | None:
    """The text of a text part; ``None`` for media."""
    return str(part.get("text") or "") if part.get("type") == "text" else None


EXAMPLE_USER = "example_user"
EXAMPLE_ASSISTANT = "example_assistant"


def lead(name: str | None, text: str) -> str:
    """``Name: `` where ``text`` does not begin with it, else nothing; nothing for no name."""
    return f"{name}: " if name and not text.startswith(f"{name}: ") else ""


class Speakers(msgspec.Struct, frozen=True):
    """The names in a chat; ``group`` are the members' where it is a group."""

    char: str = ""
    user: str = ""
    group: tuple[str, ...] = ()

    def is_member(self, text: str) -> bool:
        """Whether ``text`` begins with the name of a member of the group."""
        return any(text.startswith(f"{name}: ") for name in self.group)

    def lead_user(self, text: str) -> str:
        """The user's name for a text that does not begin with it."""
        return lead(self.user, text)

    def lead_char(self, text: str) -> str:
        """The character's name for a text that begins with no name of the group."""
        return "" if self.is_member(text) else lead(self.char, text)

    def lead_example(self, name: str | None, text: str) -> str:
        """The name for a message that is an example; nothing for any other."""
        if name == EXAMPLE_USER:
            return self.lead_user(text)
        return self.lead_char(text) if name == EXAMPLE_ASSISTANT else ""


def speakers_of(value: Any, dialect: str) -> Speakers:
    """The option ``speakers`` of a dialect: `Speakers`, or ``{char, user, group}``. Raises `ConfigError`."""
    if isinstance(value, Speakers):
        return value
    try:
        fields = dict(value or {}) if isinstance(value, Mapping) or not value else value
        return convert(fields, Speakers, strict=True)
    except msgspec.ValidationError:
        raise option_error(dialect, "speakers", value, ("an object with char, user and group",)) from None
