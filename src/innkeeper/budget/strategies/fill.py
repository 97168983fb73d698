"""The strategy ``fill``: what a prompt that is filled as SillyTavern fills it leaves out (`sillytavern.md` 47, 69).

The silly tavern fills its prompts itself, by this name in its reports. Where a full prompt has to become smaller, what
filling would have placed last goes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from innkeeper.budget.strategies.strategy import EXAMPLES, HISTORY, BaseStrategy, Unit, by_turn, in_order, moves_of


class Fill(BaseStrategy, frozen=True):
    """Examples, the last dialogue first, then history, oldest first; lore is a fixed part, and the latest user message stays."""

    name = "fill"

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        turns = by_turn(units)
        return in_order([*moves_of(reversed(turns[EXAMPLES])), *moves_of(turns[HISTORY])], total - budget)
