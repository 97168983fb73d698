"""PromptLine: one message of a prompt in the making, with what RisuAI says of it, and the rules by which lines become one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from innkeeper.prompt.block import Origin, OriginAsset, Piece, strip_pieces
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.parts import Attachment
from innkeeper.text.javascript.values import WHITE_SPACE

SEPARATOR = Origin(OriginAsset.ENGINE, "separator")


class PromptLine(msgspec.Struct, frozen=True, kw_only=True):
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

    @property
    def content(self) -> str:
        """The text."""
        return self.pieces[0].text if len(self.pieces) == 1 else "".join([piece.text for piece in self.pieces])


def line(
    role: str, text: str, origin: Origin, kind: str, *, memo: str | None = None, name: str | None = None
) -> PromptLine:
    """A line of a text of one origin."""
    return PromptLine(role=role, pieces=(Piece(text, origin),), kind=kind, memo=memo, name=name)


def joined(one: PromptLine, other: PromptLine, separator: str) -> PromptLine:
    """Two lines as one, with the separator between their texts; a point of the cache stays one."""
    return msgspec.structs.replace(
        one,
        pieces=(*one.pieces, Piece(separator, SEPARATOR), *other.pieces),
        thoughts=one.thoughts + other.thoughts,
        attachments=one.attachments + other.attachments,
        cache_point=one.cache_point or other.cache_point,
    )


def is_blank(item: PromptLine) -> bool:
    """Whether a line has nothing to send."""
    return not (item.content.strip(WHITE_SPACE) or item.attachments or item.metadata)


def pushed(lines: list[PromptLine], new: Iterable[PromptLine], *, merges: bool) -> None:
    """Add lines to a prompt. Empty ones are left out; a system line is joined to one before it, for models that merge."""
    for item in new:
        if is_blank(item):
            continue
        last = lines[-1] if lines else None
        alike = last is not None and (last.role, last.memo, last.name) == ("system", item.memo, item.name)
        if merges and last is not None and alike and item.role == "system":
            lines[-1] = joined(last, item, "\n\n")
        else:
            lines.append(item)


OPEN, _CLOSE = "<Thoughts>", "</Thoughts>"


def split_thoughts(text: str) -> tuple[str, str | None]:
    """A text without its thoughts, which reach from the first mark to the last, and these; None without any."""
    start, end = text.find(OPEN), text.rfind(_CLOSE)
    if start < 0 or end <= start + len(OPEN):
        return text, None
    return text[:start] + text[end + len(_CLOSE) :], text[start + len(OPEN) : end]


def trimmed(item: PromptLine) -> PromptLine:
    """The line without white space around its text."""
    text = item.content
    if text == text.strip(WHITE_SPACE):
        return item
    return msgspec.structs.replace(item, pieces=strip_pieces(item.pieces, blanks=WHITE_SPACE))
