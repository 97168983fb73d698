"""Line: one message of the chat as SillyTavern sees it, made from a `Message` and its metadata.

A line with tool calls holds their results too. In prompts that send no calls, the text said beside a call stays, and
a note names the lines whose calls and results are left out (`sillytavern.md` 61).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.prompt.beginnings import Beginnings
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY, freeze
from innkeeper.prompt.errors import Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.parts import Attachment
from innkeeper.taverns.silly.lines.media import MessageMedia, media_of

if TYPE_CHECKING:
    from innkeeper.prompt.run.state import State


BESIDE_CALLS: Final = ("signature", "reasoning_content", "reasoning_details")
"""Facts of a message that calls tools which go to the provider with its calls."""


class Line(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of the chat. ``hidden`` lines are in no prompt; a ``narrator`` line has no speaker; ``index`` counts from 0."""

    index: int
    name: str
    text: str
    is_user: bool = False
    hidden: bool = False
    narrator: bool = False
    reasoning: str = ""
    bias: str = ""
    memory: str = ""
    """The summary of the chat up to here, if one is stored with it."""
    force_avatar: str | None = None
    original_avatar: str = ""
    """The file of the card that speaks the line in a group."""
    send_date: str | int | float | None = None
    swipes: int = 0
    swipe_id: int | None = None
    media: MessageMedia | None = None
    """The message's media, as written."""
    attachments: tuple[Attachment, ...] = ()
    """Those of the media that are sent."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    tool_results: tuple[tuple[str, str], ...] = ()
    is_new: bool = False
    """Whether the user says it now."""
    pieces: tuple[Piece, ...] = ()
    """The text by origin, if macros were replaced in it already."""
    scripts: tuple[str, ...] = ()
    """The titles of the regex scripts that have rewritten the text."""
    beside: Mapping[str, Any] = EMPTY
    """The data that its provider wants back with tool calls, unchanged."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """The order of its parts, and blocks that only their provider reads, where a list of parts says so."""
    shown: str = ""
    """The text that an application shows for tool calls; sent only if the line is continued."""

    @property
    def origin(self) -> Origin:
        """The origin of its text."""
        return Origin(OriginAsset.MESSAGE) if self.is_new else Origin(OriginAsset.HISTORY, entry=str(self.index))

    @property
    def has_tools(self) -> bool:
        """Whether the line stands for tool calls."""
        return bool(self.tool_calls)


def line_of(message: Message, index: int, *, user: str, char: str) -> Line:
    """A line from a message. A message without a name speaks as the user or the character."""
    facts = message.metadata
    noted = facts.get("extra")
    extra = noted if isinstance(noted, Mapping) else EMPTY
    is_user = message.role == "user" or bool(facts.get("is_user"))
    return Line(
        index=index,
        name=str(facts.get("name", message.name or (user if is_user else char))),
        text=message.content,
        is_user=is_user,
        hidden=bool(facts.get("hidden")),
        narrator=message.role == "system" or extra.get("type") == "narrator",
        reasoning=_reasoning(extra.get("reasoning") or facts.get("reasoning") or facts.get("reasoning_content")),
        bias=str(extra.get("bias") or ""),
        memory=str(extra.get("memory") or ""),
        force_avatar=facts.get("force_avatar"),
        original_avatar=str(facts.get("original_avatar") or ""),
        send_date=message.send_date,
        swipes=len(message.swipes),
        swipe_id=message.swipe_id,
        media=media_of(extra, message.attachments) if extra or message.attachments else None,
        tool_calls=message.tool_calls,
        beside=freeze({name: facts[name] for name in BESIDE_CALLS if name in facts}) if message.tool_calls else EMPTY,
        parts=_parts(facts.get("parts")),
        shown=str(facts.get("shown") or ""),
    )


def _parts(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The parts of a message without thoughts, which stand in its text or beside its calls."""
    listed = value if isinstance(value, (list, tuple)) else ()
    return tuple(part for part in listed if isinstance(part, Mapping) and part.get("type") != "reasoning")


def _reasoning(value: Any) -> str:
    """The thoughts behind a message: a text, or the texts of a list of thoughts."""
    if isinstance(value, (list, tuple)):
        return "\n".join(str(part.get("text") or "") for part in value if isinstance(part, Mapping))
    return str(value or "")


class ChatLines(NamedTuple):
    """The lines of a chat, and those of `RARE` that any of them has."""

    lines: tuple[Line, ...] = ()
    rare: frozenset[str] = frozenset()


RARE: Final = ("hidden", "media", "tool_calls", "reasoning", "memory")
"""Fields of lines that most chats leave empty: then no step looks for them."""

_LINES: Final[BoundedCache[tuple[int, int, str, str], Line]] = BoundedCache(items=128 * 1024)
"""The lines made of messages, by their identity: a message is frozen, and a chat grows by one a turn."""


def lines_of(messages: tuple[Message, ...], *, user: str, char: str) -> ChatLines:
    """The lines of a chat. Tool results join the line of their calls."""
    return _CHATS.of(messages, (user, char))


def _with_more(chat: ChatLines, messages: tuple[Message, ...], names: tuple[str, str]) -> ChatLines:
    lines, (user, char) = list(chat.lines), names
    for message in messages:
        if message.role == "tool" and lines and lines[-1].tool_calls:
            answer = (message.tool_call_id or "", message.content)
            lines[-1] = msgspec.structs.replace(lines[-1], tool_results=(*lines[-1].tool_results, answer))
        else:
            key = (id(message), len(lines), user, char)
            line = _LINES.get(key)
            if line is None:
                line = line_of(message, len(lines), user=user, char=char)
                _LINES.put(key, line, len(line.text), alive=message)
            lines.append(line)
    rare = [name for name in RARE if any(map(attrgetter(name), lines[len(chat.lines) :]))]
    return ChatLines(tuple(lines), chat.rare.union(rare))


_CHATS: Final = Beginnings(ChatLines(), _with_more)


def without_calls(line: Line) -> Line:
    """A line of tool calls as a line of text: its text, or the one shown for the calls."""
    if not line.has_tools:
        return line
    return msgspec.structs.replace(line, text=line.text or line.shown, pieces=(), tool_calls=(), tool_results=())


def spoken_lines(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines without tool calls; of those that only call, nothing (`sillytavern.md` 61)."""
    return (
        without_calls(line) if line.tool_calls else line
        for line in lines
        if not line.tool_calls or line.text or line.attachments
    )


def note_blocks(state: State, lines: Iterable[Line]) -> None:
    """Note that blocks among the lines which only their provider reads, if any, have no place in a text prompt."""
    indices = tuple([line.index for line in lines if any(part.get("type") == "other" for part in line.parts)])
    if indices:
        message = f"{len(indices)} of the chat's lines have blocks of a provider: a text prompt has no place for them"
        where = Where(asset="history", path=f"[{indices[0]}]")
        state.note(NoteKind.IGNORED, message, where=where, data={"input": "history.parts", "lines": indices})


def note_calls(state: State, lines: Iterable[Line], why: str, hint: str | None = None) -> None:
    """Note that the tool calls among the lines, if any, and their results are not sent."""
    indices = tuple([line.index for line in lines if line.tool_calls])
    if indices:
        data = {"input": "history.tool_calls", "lines": indices}
        message = f"{len(indices)} of the chat's lines call tools; the calls and their results are left out: {why}"
        where = Where(asset="history", path=f"[{indices[0]}]")
        state.note(NoteKind.IGNORED, message, where=where, hint=hint, data=data)
