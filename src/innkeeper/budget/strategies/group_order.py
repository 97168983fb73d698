"""The strategy ``group_order``: pass by pass, oldest first (2-wave4-contracts, *Trimmer Contract*)."""

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


class GroupOrder(BaseStrategy, frozen=True):
    """Examples, then lore, then history, oldest first; the latest user message stays.

    Examples go as whole dialogues, and their heading with the last of them. Whatever is in no group of its own (memory,
    custom, default) counts as history, in its place.
    """

    name = "group_order"

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        turns = by_turn(units)
        return in_order([move for turn in (EXAMPLES, LORE, HISTORY) for move in moves_of(turns[turn])], total - budget)
