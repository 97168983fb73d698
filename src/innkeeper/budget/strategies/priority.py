"""The strategy ``priority``: the lowest priority first (2-wave4-contracts, *Trimmer Contract*; RisuAI's default)."""

from __future__ import annotations

from collections.abc import Sequence

from innkeeper.budget.report import EvictionReason
from innkeeper.budget.strategies.strategy import BaseStrategy, Unit, in_order


class Priority(BaseStrategy, frozen=True):
    """The lowest priority first, ties in prompt order; only system and unremovable blocks are protected."""

    name = "priority"
    reason = EvictionReason.PRIORITY_CUTOFF
    keeps_latest_user = False
    by_priority = True

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        free = sorted((unit for unit in units if not unit.protected), key=lambda unit: (unit.priority, unit.members[0]))
        return in_order([[unit] for unit in free], total - budget)
