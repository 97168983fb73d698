"""Block: one piece of a prompt, with its role, where it goes, and where its text comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.parts import Attachment


class OriginAsset(StrEnum):
    """The kinds of asset that text comes from, in every tavern and dialect. A step of an application may use another word.

    In the comments, what ``name``, ``field`` and ``entry`` of an `Origin` mean there.
    """

    CHARACTER = "character"  # name: of a group, whose card; field: of the card (``description``); entry: which greeting, example
    PERSONA = "persona"  # field: ``description``
    LOREBOOK = "lorebook"  # name: the book's; field: ``content``; entry: the entry's id
    PRESET = "preset"  # field: ``prompts`` or a field of the preset; entry: the prompt's identifier
    HISTORY = "history"  # a message of the chat; entry: its place, from 0
    MESSAGE = "message"  # what the user says now
    AUTHORS_NOTE = "authors_note"
    INJECTION = "injection"  # entry: the injection's key
    TEMPLATE = "template"  # name: the template's, with its version; field: which part of it
    VARIABLE = "variable"  # field: the variable's name
    REQUEST = (
        "request"  # text given with the request itself; field: ``meta``, ``options``, ``settings`` …; entry: the key
    )
    ENGINE = "engine"  # text Innkeeper itself adds; field: which (``separator``, ``default_system`` …)
    DIALECT = "dialect"  # text the dialect adds to a payload
    UNKNOWN = "unknown"  # nobody said


class Origin(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where text came from: the asset (`OriginAsset`), the field or entry in it, the macro that gave it.

    ``name`` tells assets of one kind apart: of several lorebooks, the book's name.
    """

    asset: str
    field: str | None = None
    entry: str | None = None
    macro: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        """``asset(name).field[entry] {{macro}}``, without the parts that are not known."""
        name = f"({self.name})" if self.name else ""
        field = f".{self.field}" if self.field else ""
        entry = f"[{self.entry}]" if self.entry is not None else ""
        return f"{self.asset}{name}{field}{entry}" + (f" {{{{{self.macro}}}}}" if self.macro else "")


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A run of text with one origin. A block's pieces, concatenated, are its content."""

    text: str
    origin: Origin


def join_pieces(parts: Iterable[Iterable[Piece]], separator: str, origin: Origin) -> tuple[Piece, ...]:
    """The pieces of all parts with ``separator`` (of ``origin``) between parts; parts without text are left out."""
    joined: list[Piece] = []
    for part in parts:
        run = [piece for piece in part if piece.text]
        if not run:
            continue
        if joined and separator:
            joined.append(Piece(separator, origin))
        joined += run
    return tuple(joined)


def strip_pieces(pieces: Iterable[Piece], *, end: bool = True, blanks: str | None = None) -> tuple[Piece, ...]:
    """The pieces of the same text after ``str.strip`` (``lstrip`` without ``end``): blanks and empty pieces are gone.

    ``blanks`` are the characters that are white space; without them it is what Python takes for it.
    """
    run = [piece for piece in pieces if piece.text]
    if run and run[0].text[0].strip(blanks) and (not end or run[-1].text[-1].strip(blanks)):
        return tuple(run)
    while run and not run[0].text.strip(blanks):
        del run[0]
    while end and run and not run[-1].text.strip(blanks):
        del run[-1]
    if run:
        run[0] = Piece(run[0].text.lstrip(blanks), run[0].origin)
    if run and end:
        run[-1] = Piece(run[-1].text.rstrip(blanks), run[-1].origin)
    return tuple(run)


DEFAULT_ORDER: Final = 100


class BudgetGroup(StrEnum):
    """What a block counts as when the budget is short (2-wave4-contracts, *Trimmer Contract*)."""

    SYSTEM = "system"
    EXAMPLES = "examples"
    LORE = "lore"
    HISTORY = "history"
    MEMORY = "memory"
    CUSTOM = "custom"
    DEFAULT = "default"


class InsertionPoint(StrEnum):
    """How a block is positioned: in the order of the plan, or counted from the end of the chat."""

    RELATIVE = "relative"
    IN_CHAT = "in_chat"


class Block(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One piece of the prompt.

    ``slot`` names its place (``history``, ``main_prompt`` …); ``depth`` and ``order`` are those of an in-chat block;
    ``priority`` (lower goes first) and ``group`` steer eviction, ``removable=False`` forbids it. ``metadata`` holds what
    steps say about the block (``source``, ``eviction_bundle`` …), ``message_metadata`` what the provider sees.
    ``origin`` says where the text came from; ``pieces``, when known, say it range by range.
    """

    role: str
    content: str
    id: str = ""
    name: str | None = None
    attachments: tuple[Attachment, ...] = ()
    message_metadata: FrozenDict = EMPTY
    slot: str | None = None
    enabled: bool = True
    removable: bool = True
    insertion_point: InsertionPoint = InsertionPoint.RELATIVE
    depth: int = 0
    order: int = DEFAULT_ORDER
    priority: int = DEFAULT_ORDER
    group: str = BudgetGroup.DEFAULT
    tags: tuple[str, ...] = ()
    metadata: FrozenDict = EMPTY
    origin: Origin | None = None
    pieces: tuple[Piece, ...] = ()

    def __post_init__(self) -> None:
        """Refuse fields of the wrong type at once; read the insertion point's name; freeze metadata."""
        if not (isinstance(self.role, str) and isinstance(self.content, str)):
            raise UsageError("a block's role and content must be text")
        if type(self.enabled) is not bool or type(self.removable) is not bool:
            raise UsageError("a block's enabled and removable must be true or false")
        if not (type(self.depth) is type(self.order) is type(self.priority) is int):
            raise UsageError("a block's depth, order and priority must be whole numbers")
        if self.depth < 0:
            raise UsageError("a block's depth must not be negative")
        if type(self.insertion_point) is not InsertionPoint:
            msgspec.structs.force_setattr(self, "insertion_point", _insertion_point(self.insertion_point))
        if type(self.metadata) is not FrozenDict:
            msgspec.structs.force_setattr(self, "metadata", freeze(self.metadata))
        if type(self.message_metadata) is not FrozenDict:
            msgspec.structs.force_setattr(self, "message_metadata", freeze(self.message_metadata))

    @classmethod
    def of_message(cls, message: Message, **fields: Any) -> Block:
        """A block with the message's role, text, name, attachments and metadata."""
        return cls(
            role=message.role,
            content=message.content,
            name=message.name,
            attachments=message.attachments,
            message_metadata=message.metadata,
            **fields,
        )

    def message(self) -> Message:
        """The message this block becomes."""
        return Message(self.role, self.content, self.name, self.attachments, self.message_metadata)

    def with_(self, **fields: Any) -> Block:
        """A copy with other fields; new content without new ``pieces`` has none. Raises `UsageError` for an unknown field."""
        if "content" in fields and "pieces" not in fields:
            fields["pieces"] = ()
        try:
            return msgspec.structs.replace(self, **fields)
        except TypeError as error:
            raise UsageError(str(error), hint=f"fields: {', '.join(self.__struct_fields__)}") from error

    @property
    def source(self) -> str | None:
        """``metadata["source"]``: the step's word for what this block is."""
        return self.metadata.get("source")

    @property
    def bundle(self) -> str | None:
        """``metadata["eviction_bundle"]``: blocks with the same bundle stay or go together."""
        return self.metadata.get("eviction_bundle")

    def origin_at(self, offset: int) -> Origin | None:
        """Return the origin of the character at ``offset`` of the content, or that of the nearest piece."""
        for piece in self.pieces:
            if offset < len(piece.text):
                return piece.origin
            offset -= len(piece.text)
        return self.pieces[-1].origin if self.pieces else self.origin

    def ranges(self) -> tuple[Piece, ...]:
        """Its pieces, or the whole content as one piece. Their texts, joined, are the content."""
        if self.pieces or not self.content:
            return self.pieces
        return (Piece(self.content, self.origin or Origin(OriginAsset.UNKNOWN)),)


MOST_SOURCES: Final = 3
"""Sources that `source_words` names (no error: others are an ellipsis)."""


def source_words(block: Block) -> str:
    """Where a block's text comes from, in a few words: its asset and field; of several only the assets, the longest text first.

    The output of a macro belongs to the text that contains the macro. Empty where nobody has said it.
    """
    origins: Counter[Origin] = Counter()
    for piece in block.ranges():
        if piece.origin.asset != OriginAsset.UNKNOWN:
            origins[msgspec.structs.replace(piece.origin, macro=None)] += len(piece.text.strip())
    sized = [origin for origin, size in origins.most_common() if size]
    named = [origin for origin in sized if origin.asset != OriginAsset.ENGINE] or sized
    words = [str(origin) for origin in named]
    if len(words) > 1:
        words = [*dict.fromkeys(str(Origin(origin.asset, name=origin.name)) for origin in named)]
    return ", ".join(words[:MOST_SOURCES]) + (" …" if len(words) > MOST_SOURCES else "")


def _insertion_point(value: Any) -> InsertionPoint:
    try:
        return InsertionPoint(value)
    except ValueError:
        raise UnknownNameError("insertion point", str(value), InsertionPoint) from None
