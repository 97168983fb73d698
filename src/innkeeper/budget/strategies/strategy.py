"""Strategy: in which order units are evicted, and how many (2-wave4-contracts, *Trimmer Contract*).

A `Unit` is blocks that stay or go together: a bundle, a tool call with its results, or a single block. The trimmer counts, builds
units and writes the report; a strategy only chooses. `BaseStrategy` has the defaults of the protocol, and the functions below it
are what the built-in strategies share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

import msgspec

from innkeeper.budget.report import EvictionReason
from innkeeper.prompt import Block, BudgetGroup
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.data import Registry
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.once import convert

SYSTEM: Final = str(BudgetGroup.SYSTEM)
EXAMPLES: Final = str(BudgetGroup.EXAMPLES)
LORE: Final = str(BudgetGroup.LORE)
HISTORY: Final = str(BudgetGroup.HISTORY)

_PASSES: Final[Mapping[str, str]] = {group: group for group in (SYSTEM, EXAMPLES, LORE)}
"""The pass of a budget group. Every other group (memory, custom, default, any name) counts as history."""

HEAD: Final = "eviction_head"
"""The metadata key of a block that introduces the other blocks of its pass and does not go before them."""

_STEPS_A_BLOCK: Final = 20

_RANK: Final[Mapping[str, int]] = {EXAMPLES: 0, LORE: 1, HISTORY: 2, SYSTEM: 3}


class Unit(msgspec.Struct, frozen=True, gc=False):
    """Indices of its blocks in prompt order, their tokens together, and what decides its turn.

    ``turn`` is its pass; where its blocks belong to several, the one that comes last. ``priority`` is the lowest of its blocks.
    A ``head`` (``metadata["eviction_head"]``) introduces the other units of its pass. ``prompt`` is all that was divided into
    units, of which ``blocks`` are this one's, for strategies that look at more.
    """

    members: tuple[int, ...]
    tokens: int
    turn: str
    priority: int
    protected: bool = False
    head: bool = False
    bundled: bool = False
    prompt: Sequence[Block] = ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Its blocks."""
        return tuple(self.prompt[index] for index in self.members)


def pass_of(block: Block) -> str:
    """The eviction pass a block belongs to."""
    group = block.group
    if group is BudgetGroup.HISTORY:
        return HISTORY
    return _PASSES.get(group if type(group) is str else str(group), HISTORY)


def units_of(blocks: Sequence[Block], tokens: Sequence[int], protected: Collection[int] = ()) -> list[Unit]:
    """The units of enabled ``blocks``, in the order of their first blocks; ``tokens`` are each block's.

    System blocks, those with ``removable=False`` and the indices ``protected`` may not be evicted; one of them protects
    its whole unit.
    """
    charge("trimming", _STEPS_A_BLOCK * len(blocks))
    parent = _links(blocks)
    if not parent:
        return [_single(blocks, index, tokens[index], protected) for index in range(len(blocks))]
    members: dict[int, list[int]] = {}
    for index in range(len(blocks)):
        members.setdefault(_root(parent, index) if index in parent else index, []).append(index)
    return [
        _single(blocks, index, tokens[index], protected)
        if len(indices) == 1
        else _joint(blocks, tokens, indices, protected)
        for index, indices in members.items()
    ]


def _single(prompt: Sequence[Block], index: int, tokens: int, protected: Collection[int]) -> Unit:
    block = prompt[index]
    turn, data = pass_of(block), block.metadata
    safe = turn == SYSTEM or not block.removable or index in protected
    if not data:
        return Unit((index,), tokens, turn, block.priority, safe, False, False, prompt)  # noqa: FBT003 - positions are quicker
    head, bundled = bool(data.get(HEAD)), data.get("eviction_bundle") is not None
    return Unit((index,), tokens, turn, block.priority, safe, head, bundled, prompt)


def _joint(blocks: Sequence[Block], tokens: Sequence[int], members: Sequence[int], protected: Collection[int]) -> Unit:
    parts = [blocks[index] for index in members]
    turns = [pass_of(block) for block in parts]
    return Unit(
        tuple(members),
        sum(tokens[index] for index in members),
        max(turns, key=_RANK.__getitem__),
        min(block.priority for block in parts),
        SYSTEM in turns or any(not block.removable for block in parts) or any(index in protected for index in members),
        any(block.metadata.get(HEAD) for block in parts),
        any(block.bundle is not None for block in parts),
        blocks,
    )


def _links(blocks: Sequence[Block]) -> dict[int, int]:
    """Each linked block's earlier partner: the bundle's first, or the call that a tool result answers."""
    parent: dict[int, int] = {}
    bundles: dict[str, int] = {}
    calls: dict[str, int] = {}
    for index, block in enumerate(blocks):
        if block.metadata and (bundle := block.metadata.get("eviction_bundle")) is not None:
            _link(parent, bundles.setdefault(str(bundle), index), index)
        if block.message_metadata:
            _link_tools(parent, calls, block, index)
    return parent


def _link_tools(parent: dict[int, int], calls: dict[str, int], block: Block, index: int) -> None:
    """A result belongs to the nearest earlier call of its id; an id that is used again starts anew."""
    message = block.message()
    for call in message.tool_calls:
        if isinstance(call.get("id"), str):
            calls[call["id"]] = index
    answered = message.tool_call_id
    if answered in calls:
        _link(parent, calls[answered], index)


def _link(parent: dict[int, int], first: int, second: int) -> None:
    a, b = _root(parent, first), _root(parent, second)
    if a != b:
        parent[max(a, b)] = min(a, b)


def _root(parent: dict[int, int], index: int) -> int:
    """The first of all it is linked to. Links on the way are shortened, so that long chains cost no more than short ones."""
    while index in parent:
        above = parent[index]
        if above in parent:
            parent[index] = parent[above]
        index = above
    return index


def latest_user(blocks: Sequence[Block]) -> int | None:
    """Return the index of the last user block of the history; without a history, of the groups that count as history."""
    fallback = None
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        if block.role != "user":
            continue
        if block.group == HISTORY:
            return index
        if fallback is None and pass_of(block) == HISTORY:
            fallback = index
    return fallback


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
