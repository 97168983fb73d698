"""Block: a piece of a prompt with a role, a place, a budget group and an origin. Plans are made of blocks."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.prompt.message import Attachment, Message
from innkeeper.prompt.origin import Origin, OriginAsset, Piece

__all__ = ["Block", "BudgetGroup", "InsertionPoint"]

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
    """How a block came to its place: in the order of the plan, or counted from the end of the chat."""

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
        """Where the character at ``offset`` of the content came from, or its nearest piece's origin."""
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


def _insertion_point(value: Any) -> InsertionPoint:
    try:
        return InsertionPoint(value)
    except ValueError:
        raise UnknownNameError("insertion point", str(value), InsertionPoint) from None
