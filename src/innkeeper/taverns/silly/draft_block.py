"""DraftBlock: the block of a draft, kept from turn to turn where the draft is a message of the chat."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.block import Block, InsertionPoint
from innkeeper.prompt.frozen import EMPTY, FrozenDict, freeze
from innkeeper.taverns.silly.recent import Recent
from innkeeper.taverns.silly.room import Draft

__all__ = ["block_of"]

_GROUPS: Final = {"injection": "system"}

_BLOCKS: Final[Recent[Block]] = Recent()


def block_of(slot: str, draft: Draft, *, enabled: bool = True) -> Block:
    """The draft's block; that of a message is kept for the next turn."""
    if draft.kind != "history":
        return _made(slot, draft, enabled=enabled)
    known = _BLOCKS.get(draft, (slot, enabled))
    return _BLOCKS.put(draft, _made(slot, draft, enabled=enabled), (slot, enabled)) if known is None else known


def _made(slot: str, draft: Draft, *, enabled: bool) -> Block:
    facts: dict[str, Any] = {"source": draft.source}
    if draft.bundle:
        facts["eviction_bundle"] = draft.bundle
    return Block(
        id=draft.id,
        role=draft.role,
        content=draft.content,
        name=draft.name,
        slot=slot,
        group=_GROUPS.get(draft.kind, draft.kind),
        enabled=enabled,
        removable=draft.kind in ("examples", "lore", "history"),
        attachments=draft.attachments,
        message_metadata=freeze(dict(draft.metadata)) if draft.metadata else EMPTY,
        metadata=FrozenDict(facts),
        origin=draft.origin,
        insertion_point=InsertionPoint.RELATIVE,
        depth=draft.depth or 0,
    )
