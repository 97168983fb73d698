"""Units: blocks that stay or go together: a bundle, a tool call with its results, or a single block.

The trimmer counts and builds them, and a strategy chooses among them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from innkeeper.prompt import Block, BudgetGroup
from innkeeper.prompt.allowance import charge

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
