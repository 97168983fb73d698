"""Strategy: in which order units are evicted, and how many (2-wave4-contracts, *Trimmer Contract*).

The trimmer counts, builds units and writes the report; a strategy only chooses. `BaseStrategy` has the defaults of the
protocol, and the functions below it are what the built-in strategies share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from innkeeper.budget.report import EvictionReason
from innkeeper.budget.unit import EXAMPLES, HISTORY, LORE, SYSTEM, Unit
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.registry import Registry

__all__ = ["BaseStrategy", "Strategies", "Strategy", "by_turn", "in_order", "moves_of", "until_fits"]


class Strategy(Protocol):
    """A way to choose what goes. ``name`` is what reports call it, ``reason`` what its eviction records say."""

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


class Strategies(Registry[type[BaseStrategy]]):
    """An immutable registry of strategies by name."""

    __slots__ = ()

    WHAT = "trimming strategy"

    def make(self, value: Any, options: Mapping[str, Any] | None = None) -> Strategy:
        """A strategy from itself, its name, or a mapping of its name and options (``{"name": "stepped", ...}``).

        Raises `UnknownNameError`, and `UsageError` for options that do not fit.
        """
        if isinstance(value, Mapping):
            given = dict(value)
            return self.make(given.pop("name", ""), given | dict(options or {}))
        if hasattr(value, "choose") and not isinstance(value, type):
            strategy: Strategy = value
            return strategy
        chosen = self[value if isinstance(value, str) else str(value)]
        try:
            return msgspec.convert(dict(options or {}), chosen)
        except msgspec.ValidationError as error:
            raise UsageError(f"strategy {chosen.name!r}: {error}") from error


def in_order(moves: Iterable[Sequence[Unit]], over: int) -> list[Unit]:
    """The units of as many moves as free ``over`` tokens, or of all."""
    return [unit for move in until_fits(moves, over) for unit in move]


def until_fits(moves: Iterable[Sequence[Unit]], over: int) -> list[Sequence[Unit]]:
    """As many moves as free ``over`` tokens, or all."""
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
    """The moves of one pass, in the order of its units. Heads go with the last of what they head, or after all that may go."""
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
