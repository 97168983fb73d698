"""Strategy: in which order units are evicted, and how many (2-wave4-contracts, *Trimmer Contract*).

A strategy turns units into moves: what goes together, in the order in which it goes. Evicting stops when the rest fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from innkeeper.budget.errors import BudgetError, whole
from innkeeper.budget.report import EvictionReason
from innkeeper.budget.unit import Unit
from innkeeper.prompt import BudgetGroup, UnknownNameError

__all__ = ["STRATEGIES", "GroupOrder", "Priority", "Stepped", "Strategy", "strategy_of"]

_STEPS_IN_BUDGET: Final = 6
"""Without a step of its own, the stepped strategy moves its cut by a sixth of the budget."""

_LORE_GRAINS_IN_BUDGET: Final = 8
"""It leaves room for lore in eighths of the budget."""

_FIXED_GRAINS_IN_BUDGET: Final = 128
"""And for what is always there in parts this small: a clock in a system text changes it by a token or two."""


class GroupOrder(msgspec.Struct, frozen=True):
    """Examples, then lore, then history, oldest first; the latest user message stays. SillyTavern's order.

    Examples go as whole dialogues, and their heading with the last of them. Whatever is in no group of its own (memory,
    custom, default) counts as history, in its place.
    """

    name: ClassVar[str] = "group_order"
    keeps_latest_user: ClassVar[bool] = True
    caps: ClassVar[bool] = False
    reason: ClassVar[EvictionReason] = EvictionReason.BUDGET_EXCEEDED

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        turns = by_turn(units)
        moves = [move for turn in _TURNS for move in moves_of(turns[turn])]
        return _until(moves, total - budget)


class Priority(msgspec.Struct, frozen=True):
    """The lowest priority first, ties in prompt order; nothing is protected but system and unremovable blocks. RisuAI's."""

    name: ClassVar[str] = "priority"
    keeps_latest_user: ClassVar[bool] = False
    caps: ClassVar[bool] = False
    reason: ClassVar[EvictionReason] = EvictionReason.PRIORITY_CUTOFF

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        free = sorted((unit for unit in units if not unit.protected), key=lambda unit: (unit.priority, unit.members[0]))
        return _until([[unit] for unit in free], total - budget)


class Stepped(msgspec.Struct, frozen=True, kw_only=True):
    """Cuts the chat in steps, so that a provider's prefix cache stays warm over many turns.

    Examples, then history, are one stream that is cut from its old end; the cut is a whole number of ``step_tokens`` (or, with
    ``step_messages``, of units), so it moves once in many turns and not every turn. The stream's share of the budget is
    ``history_tokens``, or what all else leaves, rounded so that a little more or less lore does not move the cut. Set
    ``history_tokens`` where lore comes and goes. Lore is evicted only where all this is not enough. The cut depends on the
    blocks of this build alone.
    """

    name: ClassVar[str] = "stepped"
    keeps_latest_user: ClassVar[bool] = True
    reason: ClassVar[EvictionReason] = EvictionReason.STEP_CUT
    step_tokens: int | None = None
    step_messages: int | None = None
    history_tokens: int | None = None

    def __post_init__(self) -> None:
        """Raise `BudgetError` for steps that are none."""
        for field in ("step_tokens", "step_messages"):
            value = getattr(self, field)
            if value is not None and whole(field, value) == 0:
                raise BudgetError(f"{field} must be at least 1")
        if self.history_tokens is not None:
            whole("history_tokens", self.history_tokens)
        if self.step_tokens is not None and self.step_messages is not None:
            raise BudgetError("give step_tokens or step_messages, not both")

    @property
    def caps(self) -> bool:
        """Whether history may have to go although everything fits."""
        return self.history_tokens is not None

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        turns = by_turn(units)
        stream = sum(unit.tokens for turn in _STREAM for unit in turns[turn])
        lore = sum(unit.tokens for unit in turns[_LORE])
        share = self._share(total - stream - lore, lore, budget)
        step = self.step_tokens or max(budget // _STEPS_IN_BUDGET, 1)
        over = stream - share if self.caps or total > budget else 0
        moves = [move for turn in _STREAM for move in moves_of(turns[turn])]
        evicted = self._cut(moves, over, max(min(step, share // 2), 1)) if over > 0 else 0
        gone = [unit for move in moves[:evicted] for unit in move]
        rest = [*moves_of(turns[_LORE]), *moves[evicted:]]
        return gone + _until(rest, total - budget - sum(unit.tokens for unit in gone))

    def _share(self, fixed: int, lore: int, budget: int) -> int:
        """The stream's tokens: as told, or what is left of the budget; all else is rounded up, so that it hardly changes."""
        if self.history_tokens is not None:
            return self.history_tokens
        besides = _up(fixed, max(budget // _FIXED_GRAINS_IN_BUDGET, 1)) + _up(
            lore, max(budget // _LORE_GRAINS_IN_BUDGET, 1)
        )
        return max(budget - besides, 0)

    def _cut(self, moves: Sequence[Sequence[Unit]], over: int, step: int) -> int:
        """How many moves are made: enough for ``over`` tokens, rounded up to whole steps."""
        made = len(_until_moves(moves, over if self.step_messages else _up(over, step)))
        return min(_up(made, self.step_messages or 1), len(moves))


Strategy = GroupOrder | Priority | Stepped

STRATEGIES: Final[Mapping[str, Callable[[], Strategy]]] = {
    "group_order": GroupOrder,
    "priority": Priority,
    "stepped": Stepped,
}
"""The strategies by name."""

_LORE: Final = str(BudgetGroup.LORE)
_STREAM: Final = (str(BudgetGroup.EXAMPLES), str(BudgetGroup.HISTORY))
_TURNS: Final = (_STREAM[0], _LORE, _STREAM[1])


def strategy_of(value: str | Strategy) -> Strategy:
    """A strategy from itself or its name. Raises `UnknownNameError`."""
    if isinstance(value, (GroupOrder, Priority, Stepped)):
        return value
    if value not in STRATEGIES:
        raise UnknownNameError("trimming strategy", str(value), STRATEGIES)
    return STRATEGIES[value]()


def by_turn(units: Iterable[Unit]) -> dict[str, list[Unit]]:
    """The units of each pass, in order."""
    turns: dict[str, list[Unit]] = {turn: [] for turn in (*_TURNS, str(BudgetGroup.SYSTEM))}
    for unit in units:
        turns[unit.turn].append(unit)
    return turns


def moves_of(units: Iterable[Unit]) -> list[list[Unit]]:
    """The moves of one pass's units, oldest first. Heads go with the last of what they head, or after all that may go."""
    heads, moves, stays = [], [], False
    for unit in units:
        if unit.protected:
            stays = stays or not unit.head
        elif unit.head:
            heads.append(unit)
        else:
            moves.append([unit])
    if moves and not stays:
        moves[-1] += heads
        return moves
    return moves + [[head] for head in heads]


def _up(value: int, grain: int) -> int:
    """``value`` rounded up to a multiple of ``grain``."""
    return -(-value // grain) * grain


def _until(moves: Sequence[Sequence[Unit]], over: int) -> list[Unit]:
    """The units of as many moves as free ``over`` tokens, or of all."""
    return [unit for move in _until_moves(moves, over) for unit in move]


def _until_moves(moves: Sequence[Sequence[Unit]], over: int) -> list[Sequence[Unit]]:
    made: list[Sequence[Unit]] = []
    for move in moves:
        if over <= 0:
            break
        made.append(move)
        over -= move[0].tokens if len(move) == 1 else sum([unit.tokens for unit in move])
    return made
