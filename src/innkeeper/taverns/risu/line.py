"""PromptLine: a message of a prompt in the making, and the rules by which lines become one; RisuMessage: one of the chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from innkeeper.prompt import Message, State
from innkeeper.prompt.beginnings import Beginnings
from innkeeper.prompt.block import Origin, OriginAsset, Piece, strip_pieces
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.parts import Attachment
from innkeeper.taverns.assets import assets_of
from innkeeper.text.javascript.values import WHITE_SPACE

NEW_CHAT_MEMO: Final = "NewChat"
EXAMPLE_MEMO: Final = "NewChatExample"
SEPARATOR = Origin(OriginAsset.ENGINE, "separator")


class PromptLine(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A message. ``memo`` is its id, or what kind of marker it is; ``removable`` lines may be left out for want of room.

    ``kind`` says which part of the prompt it is of (``description``, ``chat`` …). ``name_added`` is for lines that begin with
    the speaker's name.
    """

    role: str
    pieces: tuple[Piece, ...]
    kind: str = ""
    name: str | None = None
    memo: str | None = None
    removable: bool = False
    name_added: bool = False
    thoughts: tuple[str, ...] = ()
    cache_point: bool = False
    attachments: tuple[Attachment, ...] = ()
    metadata: FrozenDict = EMPTY

    @cached_property
    def content(self) -> str:
        """The text."""
        return self.pieces[0].text if len(self.pieces) == 1 else "".join([piece.text for piece in self.pieces])

    @cached_property
    def is_blank(self) -> bool:
        """Whether it has nothing to send."""
        return not (self.content.strip(WHITE_SPACE) or self.attachments or self.metadata)

    @cached_property
    def is_trimmed(self) -> bool:
        """Whether no white space is around its text."""
        return self.content == self.content.strip(WHITE_SPACE)


def line(
    role: str, text: str, origin: Origin, kind: str, *, memo: str | None = None, name: str | None = None
) -> PromptLine:
    """A line of a text of one origin."""
    return PromptLine(role=role, pieces=(Piece(text, origin),), kind=kind, memo=memo, name=name)


def joined(lines: Sequence[PromptLine], separator: str) -> PromptLine:
    """Lines as the first of them, with the separator between their texts; a point of the cache stays one."""
    between = Piece(separator, SEPARATOR)
    return msgspec.structs.replace(
        lines[0],
        pieces=tuple([piece for each in lines for piece in (between, *each.pieces)][1:]),
        thoughts=tuple([thought for each in lines for thought in each.thoughts]),
        attachments=tuple([item for each in lines for item in each.attachments]),
        cache_point=any(each.cache_point for each in lines),
    )


def pushed(lines: list[PromptLine], new: Iterable[PromptLine], *, merges: bool) -> None:
    """Add lines to a prompt. Empty ones are left out; a system line is joined to one before it, for models that merge."""
    together = lines[-1:]
    for item in new:
        if item.is_blank:
            continue
        last = lines[-1] if merges and lines and item.role == "system" else None
        if last is not None and (last.role, last.memo, last.name) == ("system", item.memo, item.name):
            together.append(item)
            continue
        if len(together) > 1:
            lines[-1] = joined(together, "\n\n")
        lines.append(item)
        together = [item]
    if len(together) > 1:
        lines[-1] = joined(together, "\n\n")


OPEN, _CLOSE = "<Thoughts>", "</Thoughts>"


def split_thoughts(text: str) -> tuple[str, str | None]:
    """A text without its thoughts, which reach from the first mark to the last, and these; None without any."""
    start, end = text.find(OPEN), text.rfind(_CLOSE)
    if start < 0 or end <= start + len(OPEN):
        return text, None
    return text[:start] + text[end + len(_CLOSE) :], text[start + len(OPEN) : end]


def trimmed(item: PromptLine) -> PromptLine:
    """The line without white space around its text."""
    if item.is_trimmed:
        return item
    return msgspec.structs.replace(item, pieces=strip_pieces(item.pieces, blanks=WHITE_SPACE))


TYPED: Final = "message"
"""The id of the message that is new."""


class RisuMessage(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A message of the chat. ``role`` is ``user`` or ``char``; another one is sent as it is, macros and all."""

    role: str
    data: str
    id: str | None = None
    speaker: str = ""
    disabled: bool = False
    origin: Origin = Origin(OriginAsset.HISTORY)
    thoughts: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    metadata: FrozenDict = EMPTY
    raw: Mapping[str, Any] = EMPTY

    @cached_property
    def stored(self) -> Mapping[str, Any]:
        """The message as RisuAI would keep it. Nobody changes it."""
        return {**self.raw, "role": self.role, "data": self.data}


def read_messages(
    state: State, stored: list[Any] | None, names: Mapping[str, str]
) -> tuple[list[RisuMessage], str | None]:
    """The messages, and the greeting that the chat brings: the character's words at its beginning."""
    if stored is not None:
        return [_stored_message(each, index) for index, each in enumerate(stored) if isinstance(each, dict)], None
    ids = {name: id_ for id_, name in names.items()}
    history = list(assets_of(state).history)
    if state.request.generation in ("regenerate", "swipe") and history and history[-1].role == "assistant":
        history.pop()  # the reply that is made anew
    greeting = None
    if history and history[0].role == "assistant":
        greeting = history.pop(0).content
    messages = list(_CHATS.of(tuple(history), (int(greeting is not None), *ids.items())))
    if state.request.message:
        messages.append(
            RisuMessage(role="user", data=state.request.message, id=TYPED, origin=Origin(OriginAsset.MESSAGE))
        )
    return messages, greeting


def _stored_message(each: Mapping[str, Any], index: int) -> RisuMessage:
    id_, speaker = each.get("chatId"), each.get("saying")
    return RisuMessage(
        role=str(each.get("role") or "user"),
        data=str(each.get("data") or ""),
        id=id_ if isinstance(id_, str) else None,
        speaker=speaker if isinstance(speaker, str) else "",
        disabled=bool(each.get("disabled")),
        origin=Origin(OriginAsset.HISTORY, entry=str(index)),
        raw=each,
    )


_ROLES: Final = {"user": "user", "assistant": "char"}


_MESSAGES: Final[BoundedCache[tuple[int, int, str], RisuMessage]] = BoundedCache(items=128 * 1024)
"""What was made of messages, by their identity: a message is frozen, and a chat grows by one a turn."""


def _with_more(before: tuple[RisuMessage, ...], messages: tuple[Message, ...], key: Any) -> tuple[RisuMessage, ...]:
    first, *pairs = key
    ids = dict(pairs)
    more = [
        _MESSAGES.get((id(each), index, ids.get(each.name or "", ""))) or _message(each, index, ids)
        for index, each in enumerate(messages, first + len(before))
    ]
    return (*before, *more)


_CHATS: Final[Beginnings[Message, tuple[RisuMessage, ...]]] = Beginnings((), _with_more)


def _message(each: Message, index: int, ids: Mapping[str, str]) -> RisuMessage:
    speaker = ids.get(each.name or "", "")
    message = RisuMessage(
        role=_ROLES.get(each.role, each.role),
        data=each.content,
        id=f"history-{index}",
        speaker=speaker,
        origin=Origin(OriginAsset.HISTORY, entry=str(index)),
        attachments=each.attachments,
        metadata=each.metadata,
    )
    return _MESSAGES.put((id(each), index, speaker), message, 2 * len(each.content), alive=each)
