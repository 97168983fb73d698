"""The strategy ``chat_window``: a conversation keeps its newest turns (4-dynamic-prompting, *token budgets* of chats)."""

from __future__ import annotations

from collections.abc import Sequence

from innkeeper.budget.strategies.strategy import (
    EXAMPLES,
    HISTORY,
    LORE,
    BaseStrategy,
    Unit,
    by_turn,
    in_order,
    moves_of,
)


class ChatWindow(BaseStrategy, frozen=True):
    """History, oldest first; then the texts of scenes (the group ``lore``), then examples of a voice.

    System blocks, those with ``removable=False`` and the latest user message stay. It is `GroupOrder` the other way round: a
    conversation sooner loses old turns than what says who speaks in it, and where.
    """

    name = "chat_window"

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        turns = by_turn(units)
        return in_order([move for turn in (HISTORY, LORE, EXAMPLES) for move in moves_of(turns[turn])], total - budget)
