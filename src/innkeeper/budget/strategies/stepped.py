"""The strategy ``stepped``: the chat cut in steps, so that a provider's prefix cache stays warm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from innkeeper.budget.costing import whole
from innkeeper.budget.report import EvictionReason
from innkeeper.budget.strategies.strategy import (
    EXAMPLES,
    HISTORY,
    LORE,
    BaseStrategy,
    Unit,
    by_turn,
    in_order,
    moves_of,
    until_fits,
)
from innkeeper.prompt.errors import UsageError

_STEPS_IN_BUDGET: Final = 6
"""Without a step of its own, the strategy moves its cut by a sixth of the budget."""

_LORE_GRAINS_IN_BUDGET: Final = 8
"""It leaves room for lore in eighths of the budget."""

_FIXED_GRAINS_IN_BUDGET: Final = 128
"""And for what is always there in parts this small: a clock in a system text changes it by a token or two."""


class Stepped(BaseStrategy, frozen=True, kw_only=True):
    """Cuts the chat in steps, so that a provider's prefix cache stays warm over many turns.

    Examples, then history, are one stream that is cut from its old end; the cut is a whole number of ``step_tokens`` (or, with
    ``step_messages``, of units), so it moves once in many turns and not every turn. The stream's share of the budget is
    ``history_tokens``, or what all else leaves, rounded so that a little more or less lore does not move the cut. Set
    ``history_tokens`` where lore comes and goes. Lore is evicted only where all this is not enough. The cut depends on the
    blocks of this build alone.
    """

    name = "stepped"
    reason = EvictionReason.STEP_CUT
    step_tokens: int | None = None
    step_messages: int | None = None
    history_tokens: int | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` for steps that make no sense."""
        for field in ("step_tokens", "step_messages"):
            value = getattr(self, field)
            if value is not None and whole(field, value) == 0:
                raise UsageError(f"{field} must be at least 1")
        if self.history_tokens is not None:
            whole("history_tokens", self.history_tokens)
        if self.step_tokens is not None and self.step_messages is not None:
            raise UsageError("give step_tokens or step_messages, not both")

    @property
    def caps(self) -> bool:
        """Whether history may have to go although everything fits."""
        return self.history_tokens is not None

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        turns = by_turn(units)
        stream = sum(unit.tokens for turn in (EXAMPLES, HISTORY) for unit in turns[turn])
        lore = sum(unit.tokens for unit in turns[LORE])
        share = self._share(total - stream - lore, lore, budget)
        step = self.step_tokens or max(budget // _STEPS_IN_BUDGET, 1)
        over = stream - share if self.caps or total > budget else 0
        moves = [*moves_of(turns[EXAMPLES]), *moves_of(turns[HISTORY])]
        evicted = self._cut(moves, over, max(min(step, share // 2), 1)) if over > 0 else 0
        gone = [unit for move in moves[:evicted] for unit in move]
        rest = [*moves_of(turns[LORE]), *moves[evicted:]]
        return gone + in_order(rest, total - budget - sum(unit.tokens for unit in gone))

    def _share(self, fixed: int, lore: int, budget: int) -> int:
        """The stream's tokens: as set, or the rest of the budget; everything else is rounded up, so that it rarely changes."""
        if self.history_tokens is not None:
            return self.history_tokens
        besides = _up(fixed, max(budget // _FIXED_GRAINS_IN_BUDGET, 1)) + _up(
            lore, max(budget // _LORE_GRAINS_IN_BUDGET, 1)
        )
        return max(budget - besides, 0)

    def _cut(self, moves: Sequence[Sequence[Unit]], over: int, step: int) -> int:
        """Return how many moves to make: enough for ``over`` tokens, rounded up to whole steps."""
        made = len(until_fits(moves, over if self.step_messages else _up(over, step)))
        return min(_up(made, self.step_messages or 1), len(moves))


def _up(value: int, grain: int) -> int:
    """``value`` rounded up to a multiple of ``grain``."""
    return -(-value // grain) * grain
