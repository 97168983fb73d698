"""Post-processing: a prompt's messages brought into an order that a strict provider takes. SillyTavern's modes, as data.

- ``merge``, whose old name is ``claude``: neighbours of one role become one message;
- ``semi``: also, system messages after the first message become user messages;
- ``strict``: also, the user speaks first, with a placeholder where nobody did;
- ``single``: everything is one user message, each line with its speaker's name.

Each but the last with ``_tools`` keeps tool calls and results; without, results become user messages and calls are dropped.
Texts that are joined stand a blank line apart. (sillytavern.md 70, 71; vectors ``converters``, function ``postProcess``.)

Unlike SillyTavern, a picture stays a picture where a name is put in front of it, and so do parts of unknown kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.dialects.report import Report, option_error
from innkeeper.dialects.sillytavern.messages import Speakers, lead, part_text, read_chat_messages

PLACEHOLDER: Final = "Begin."
"""The text of a user's turn that is inserted where the provider requires one."""

_BLANK_LINE: Final = "\n\n"
_CALL_KEYS: Final = ("tool_calls", "tool_call_id")

Item = str | dict[str, Any]


class MergeMode(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a mode besides merging."""

    name: str
    tools: bool = False
    """Tool calls and results stay."""
    one_system: bool = False
    """Only the first message may be a system message; then neighbours are merged again."""
    user_first: bool = False
    """After the system message the user speaks."""
    one_voice: bool = False
    """Every message is a user message, with its speaker's name in front."""


MODES: Final = MappingProxyType(
    {
        mode.name: mode
        for mode in (
            MergeMode(name="merge"),
            MergeMode(name="claude"),
            MergeMode(name="merge_tools", tools=True),
            MergeMode(name="semi", one_system=True),
            MergeMode(name="semi_tools", one_system=True, tools=True),
            MergeMode(name="strict", one_system=True, user_first=True),
            MergeMode(name="strict_tools", one_system=True, user_first=True, tools=True),
            MergeMode(name="single", one_system=True, one_voice=True),
        )
    }
)
"""The modes by SillyTavern's names."""

TOOLLESS_TYPES: Final = ("impersonate", "quiet", "continue")
"""Generations that no tool call may break into."""


def mode_named(name: str, dialect: str = "openai") -> MergeMode:
    """The mode called ``name``. Raises `ConfigError`."""
    try:
        return MODES[name]
    except (KeyError, TypeError):
        raise option_error(dialect, "post_processing", name, MODES) from None


class _Line(msgspec.Struct, frozen=True):
    """A message on its way: its content as texts and media in order, and its other fields."""

    index: int
    role: str
    items: tuple[Item, ...]
    rest: Mapping[str, Any]

    @property
    def empty(self) -> bool:
        """Whether it has no text: such a message is not joined to the one before."""
        return not self.items or self.items == ("",)

    def message(self) -> dict[str, Any]:
        return {"role": self.role, **self.rest, "content": _content(self.items)}


def post_process(
    messages: Sequence[Mapping[str, Any]],
    mode: MergeMode,
    speakers: Speakers | None = None,
    *,
    placeholder: str = PLACEHOLDER,
    report: Report | None = None,
) -> list[dict[str, Any]]:
    """Messages in the shape of Chat Completions, by ``mode``. Changes go to ``report``. Raises `FormatError`."""
    notes = report or Report("post-processing")
    names = speakers or Speakers()
    read = [_line(raw, index, mode, names, notes) for index, raw in enumerate(read_chat_messages(messages))]
    lines = _merged(read, notes)
    if not lines:
        return [_placeholder(placeholder, notes).message()]
    if mode.one_system:
        lines = [lines[0], *(_as_user(line, notes) for line in lines[1:])]
        if mode.user_first:
            lines = _user_first(lines, placeholder, notes)
        lines = _merged(lines, notes)
    return [line.message() for line in lines]


def _line(message: dict[str, Any], index: int, mode: MergeMode, speakers: Speakers, report: Report) -> _Line:
    role, items = message["role"], _items(message["content"], index, report)
    rest = {key: value for key, value in message.items() if key not in ("role", "content", "name")}
    if not mode.tools:
        role, rest = _without_tools(role, rest, index, report)
    items = _named(items, _lead(message, items, speakers), index, report)
    if mode.one_voice:
        items = _named(items, _voice(role, _text(items), speakers), index, report)
        if role != "user":
            report.repair("a message was sent as the user's", index)
        role = "user"
    return _Line(index, role, items, rest)


def _items(content: Any, index: int, report: Report) -> tuple[Item, ...]:
    if content is None or isinstance(content, str):
        return (content or "",)
    items: list[Item] = []
    for part in content:
        text = part_text(part)
        if text is not None and part.keys() - {"type", "text"}:
            report.loss("what a text part says besides its text is not sent", index)
        items.append(part if text is None else text)
    plain = [item for item in items if isinstance(item, str)]
    return tuple(items) if len(plain) < len(items) else (_BLANK_LINE.join(plain),)


def _text(items: tuple[Item, ...]) -> str:
    return items[0] if items and isinstance(items[0], str) else ""


def _lead(message: Mapping[str, Any], items: tuple[Item, ...], speakers: Speakers) -> str:
    name = message.get("name")
    if message["role"] == "system":
        return speakers.lead_example(name, _text(items))
    return lead(name, _text(items))


def _voice(role: str, text: str, speakers: Speakers) -> str:
    if role == "assistant":
        return speakers.lead_char(text)
    return speakers.lead_user(text) if role == "user" else ""


def _named(items: tuple[Item, ...], prefix: str, index: int, report: Report) -> tuple[Item, ...]:
    if not prefix:
        return items
    report.repair("the speaker's name was put in front of the text", index)
    if items and isinstance(items[0], str):
        return (prefix + items[0], *items[1:])
    return (prefix, *items)


def _without_tools(role: str, rest: dict[str, Any], index: int, report: Report) -> tuple[str, dict[str, Any]]:
    if rest.get("tool_calls"):
        report.loss("tool calls are not sent in this mode", index)
    if role == "tool":
        report.repair("a tool's result was sent as the user's", index)
        role = "user"
    return role, {key: value for key, value in rest.items() if key not in _CALL_KEYS}


def _merged(lines: Sequence[_Line], report: Report) -> list[_Line]:
    """Merge neighbours of one role. Empty messages and those of tools stay apart."""
    groups: list[list[_Line]] = []
    for line in lines:
        if groups and groups[-1][0].role == line.role and not line.empty and line.role != "tool":
            groups[-1].append(line)
            report.repair("a message was joined to the one before, which has the same role", line.index)
            _note_lost(line, report)
        else:
            groups.append([line])
    return [_together(group) if len(group) > 1 else group[0] for group in groups]


def _note_lost(line: _Line, report: Report) -> None:
    if line.rest.get("tool_calls"):
        report.loss("the tool calls of a message that was joined to another are not sent", line.index)
    elif line.rest:
        report.loss("the further fields of a message that was joined to another are not sent", line.index)


def _together(group: list[_Line]) -> _Line:
    first = group[0]
    return _Line(first.index, first.role, tuple(item for line in group for item in line.items or ("",)), first.rest)


def _content(items: tuple[Item, ...]) -> str | list[dict[str, Any]]:
    """Text if there is only text, else parts, neighbouring texts merged."""
    parts: list[dict[str, Any]] = []
    for item in items:
        if not isinstance(item, str):
            parts.append(item)
        elif parts and parts[-1].get("type") == "text":
            parts[-1] = {"type": "text", "text": parts[-1]["text"] + _BLANK_LINE + item}
        else:
            parts.append({"type": "text", "text": item})
    if all(isinstance(item, str) for item in items):
        return str(parts[0]["text"]) if parts else ""
    return parts


def _as_user(line: _Line, report: Report) -> _Line:
    if line.role != "system":
        return line
    report.repair("a system message was sent as the user's", line.index)
    return msgspec.structs.replace(line, role="user")


def _user_first(lines: list[_Line], placeholder: str, report: Report) -> list[_Line]:
    """With a placeholder after the system message, or at the top, where the user does not speak first."""
    first = 1 if lines[0].role == "system" else 0
    if first < len(lines) and lines[first].role == "user":
        return lines
    return [*lines[:first], _placeholder(placeholder, report), *lines[first:]]


def _placeholder(text: str, report: Report) -> _Line:
    report.repair("a placeholder was put in where the user has to speak")
    return _Line(-1, "user", (text,), {})
