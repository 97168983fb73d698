"""Strategies: in which order units are evicted, and how many (2-wave4-contracts, *Trimmer Contract*).

The trimmer counts, builds `Unit` values and writes the report; a strategy only chooses. `BaseStrategy` has the defaults of the
protocol, and the functions below it are what the built-in strategies share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

import msgspec

from innkeeper.budget.costing import whole
from innkeeper.budget.report import EvictionReason
from innkeeper.budget.units import EXAMPLES, HISTORY, LORE, SYSTEM, Unit, latest_user, units_of
from innkeeper.prompt import Block
from innkeeper.prompt.data import Registry
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.typed.once import convert


class Strategy(Protocol):
    """A way to choose evictions. ``name`` is its name in reports, ``reason`` the reason in its eviction records."""

    @property
    def name(self) -> str:
        """The registry name: ``group_order``."""
        ...

    @property
    def reason(self) -> str:
        """Why a block went that was in no bundle: an `EvictionReason`, or a word of its own."""
        ...

    @property
    def keeps_latest_user(self) -> bool:
        """Whether the latest user message is protected."""
        ...

    @property
    def by_priority(self) -> bool:
        """Whether priorities decide, so that records show them."""
        ...

    @property
    def caps(self) -> bool:
        """Whether something may have to go although everything fits."""
        ...

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order: of ``units``, in prompt order, none that is ``protected``.

        ``total`` is what the whole prompt costs and ``budget`` what it may cost, in tokens. Where all that may go is not
        enough, all of it is chosen.
        """
        ...


class BaseStrategy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The defaults of a strategy. Its fields are its options, which JSON can set."""

    name: ClassVar[str]
    reason: ClassVar[str] = EvictionReason.BUDGET_EXCEEDED
    keeps_latest_user: ClassVar[bool] = True
    by_priority: ClassVar[bool] = False

    @property
    def caps(self) -> bool:
        """Whether something may have to go although everything fits."""
        return False

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        raise NotImplementedError


def in_order(moves: Iterable[Sequence[Unit]], over: int) -> list[Unit]:
    """The units of as many moves as free ``over`` tokens, or of all."""
    return [unit for move in until_fits(moves, over) for unit in move]


def until_fits(moves: Iterable[Sequence[Unit]], over: int) -> list[Sequence[Unit]]:
    """Return as many moves as free ``over`` tokens, or all."""
    made: list[Sequence[Unit]] = []
    for move in moves:
        if over <= 0:
            break
        made.append(move)
        over -= move[0].tokens if len(move) == 1 else sum([unit.tokens for unit in move])
    return made


def by_turn(units: Iterable[Unit]) -> dict[str, list[Unit]]:
    """The units of each pass, in order."""
    turns: dict[str, list[Unit]] = {turn: [] for turn in (EXAMPLES, LORE, HISTORY, SYSTEM)}
    for unit in units:
        turns[unit.turn].append(unit)
    return turns


def moves_of(units: Iterable[Unit]) -> list[list[Unit]]:
    """The moves of one pass, in the order of its units. Heads go with the last of their followers, or after all that may go."""
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


def _pass_by_pass(units: Sequence[Unit], over: int, *passes: str) -> list[Unit]:
    """The units that free ``over`` tokens, one pass after the other."""
    turns = by_turn(units)
    return in_order([move for turn in passes for move in moves_of(turns[turn])], over)


class GroupOrder(BaseStrategy, frozen=True):
    """Examples, then lore, then history, oldest first; the latest user message stays.

    Examples go as whole dialogues, and their heading with the last of them. Whatever is in no group of its own (memory,
    custom, default) counts as history, in its place.
    """

    name = "group_order"

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        return _pass_by_pass(units, total - budget, EXAMPLES, LORE, HISTORY)


class ChatWindow(BaseStrategy, frozen=True):
    """History, oldest first; then the texts of scenes (the group ``lore``), then examples (4-dynamic-prompting, *token budgets*).

    System blocks, those with ``removable=False`` and the latest user message stay. It is `GroupOrder` the other way round: a
    conversation sooner loses old turns than what says who speaks in it, and where.
    """

    name = "chat_window"

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        return _pass_by_pass(units, total - budget, HISTORY, LORE, EXAMPLES)


class Fill(BaseStrategy, frozen=True):
    """What filling as SillyTavern does it would have placed last goes first (`sillytavern.md` 47, 69).

    That is examples, the last dialogue first, then history, oldest first; lore is a fixed part, and the latest user message
    stays. The silly tavern fills its prompts itself, by this name in its reports.
    """

    name = "fill"

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        turns = by_turn(units)
        return in_order([*moves_of(reversed(turns[EXAMPLES])), *moves_of(turns[HISTORY])], total - budget)


class Priority(BaseStrategy, frozen=True):
    """The lowest priority first, ties in prompt order, as RisuAI does it; only system and unremovable blocks are protected."""

    name = "priority"
    reason = EvictionReason.PRIORITY_CUTOFF
    keeps_latest_user = False
    by_priority = True

    def choose(self, units: Sequence[Unit], total: int, budget: int) -> list[Unit]:
        """The units to evict, in order."""
        free = sorted((unit for unit in units if not unit.protected), key=lambda unit: (unit.priority, unit.members[0]))
        return in_order([[unit] for unit in free], total - budget)


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


def evictions(
    blocks: Sequence[Block], tokens: Sequence[int], strategy: Strategy, total: int, budget: int
) -> list[Unit]:
    """The units that a strategy evicts from enabled ``blocks`` of so many ``tokens``; ``total`` is the whole prompt's."""
    # a strategy with a cap of its own may evict although everything fits
    if total <= budget and not strategy.caps:
        return []
    user = latest_user(blocks) if strategy.keeps_latest_user else None
    return strategy.choose(units_of(blocks, tokens, () if user is None else (user,)), total, budget)


class Strategies(Registry[type[BaseStrategy]]):
    """An immutable registry of strategies by name."""

    __slots__ = ()

    WHAT = "trimming strategy"

    def make(self, value: Any, options: Mapping[str, Any] | None = None) -> Strategy:
        """A strategy from itself, its name, or a mapping of its name and options (``{"name": "stepped", ...}``).

        Raises `UnknownNameError`, and `UsageError` for options that do not fit.
        """
        if isinstance(value, Mapping):
            fields = dict(value)
            return self.make(fields.pop("name", ""), fields | dict(options or {}))
        if hasattr(value, "choose") and not isinstance(value, type):
            strategy: Strategy = value
            return strategy
        chosen = self[value if isinstance(value, str) else str(value)]
        try:
            return convert(dict(options or {}), chosen)
        except msgspec.ValidationError as error:
            raise UsageError(f"strategy {chosen.name!r}: {error}") from error


STRATEGIES: Final = Strategies(GroupOrder, Priority, Stepped, Fill, ChatWindow)
"""The built-in strategies by name."""
