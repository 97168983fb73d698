"""Cut: a full chat prompt made to fit by a strategy of the budget, for those who prefer that to SillyTavern's filling.

The stepped strategy keeps a provider's prefix cache warm: the oldest message moves once in many turns, not in every one.
"""

from __future__ import annotations

import sys
from typing import Final

from innkeeper.budget.strategy import Strategy
from innkeeper.budget.unit import latest_user, units_of
from innkeeper.taverns.silly.draft_block import block_of
from innkeeper.taverns.silly.room import REPLY_PRIMER, NoRoomError, Room

__all__ = ["UNBOUNDED", "cut"]

UNBOUNDED: Final = sys.maxsize
"""The tokens of a room that everything fits into."""


def cut(room: Room, strategy: Strategy, budget: int) -> None:
    """Take out of a full room what the strategy evicts. Raises `NoRoomError` when what may not go exceeds ``budget``."""
    placed = room.placed()
    blocks = [block_of(slot, draft) for slot, draft in placed]
    tokens = [room.tokens(draft) for _, draft in placed]
    total = sum(tokens) + REPLY_PRIMER
    if total > budget or strategy.caps:
        user = latest_user(blocks) if strategy.keeps_latest_user else None
        gone = strategy.choose(units_of(blocks, tokens, () if user is None else (user,)), total, budget)
        room.evict({index for unit in gone for index in unit.members})
    room.narrow(budget)
    if room.left < 0:
        _, largest = max(room.placed(), key=lambda item: room.tokens(item[1]))
        raise NoRoomError(largest, 0)
