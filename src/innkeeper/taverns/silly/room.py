"""Room: the messages of a chat-completion prompt while it is filled, slot by slot, within the token budget.

SillyTavern fills a prompt rather than trimming one (`sillytavern.md` 47): fixed parts first, then examples and
history as far as they fit. What does not fit is kept here too, with its tokens, so that every omission can be
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from innkeeper.prompt.block import Block
from innkeeper.prompt.frozen import FrozenDict
from innkeeper.prompt.memo import Memo
from innkeeper.prompt.origin import Origin
from innkeeper.taverns.silly.counting import counted
from innkeeper.taverns.silly.expansion import Pieces, origin_of, text_of

__all__ = ["NoRoomError", "Room", "message_block"]

REPLY_PRIMER: Final = 3
"""Tokens every chat prompt reserves for the beginning of the reply."""


def message_block(
    role: str,
    content: Pieces | str,
    source: str,
    slot: str,
    *,
    group: str = "system",
    bundle: str | None = None,
    origin: Origin | None = None,
    **fields: Any,
) -> Block:
    """A message of the prompt. ``group`` is its budget group: all but ``system`` may be left out; ``bundle`` goes together.

    Its origin is what its pieces have in common, where none is given.
    """
    if not isinstance(content, str):
        origin = origin or origin_of(content)
        fields["pieces"] = () if len(content) == 1 and content[0].origin == origin else content
        content = text_of(content)
    facts = {"source": source} if bundle is None else {"source": source, "eviction_bundle": bundle}
    return Block(
        role=role,
        content=content,
        slot=slot,
        group=group,
        removable=group != "system",
        metadata=FrozenDict(facts),
        origin=origin,
        **fields,
    )


class NoRoomError(Exception):
    """A fixed part does not fit: the filling stops, as SillyTavern's does, and keeps what it has."""

    def __init__(self, block: Block, tokens: int) -> None:
        super().__init__(f"no room for {block.source} ({tokens} tokens)")
        self.block, self.tokens = block, tokens


_TOKENS: Final[Memo[tuple[int, str], int]] = Memo()
"""The tokens of blocks, by identity: the blocks of a line are the same in the next turn."""


class Room:
    """Slots in prompt order, the tokens left, and the blocks ``omitted``.

    ``counted_by`` names what ``count`` counts by, when that is known to be the same in every build; counts are then kept.
    """

    def __init__(self, budget: int, count: Callable[[Mapping[str, Any]], int], counted_by: str = "") -> None:
        self.budget = budget
        self.left = budget - REPLY_PRIMER
        self.omitted: list[Block] = []
        self._count = count
        self._slots: dict[str, list[Block]] = {}
        self._seen: dict[int, tuple[Block, int]] = {}
        self._counted_by = counted_by

    def tokens(self, block: Block) -> int:
        """Tokens of one message, counted once."""
        seen = self._seen.get(id(block))
        if seen is not None:
            return seen[1]
        tokens = self._tokens(block) if self._counted_by else self._count(counted(block))
        self._seen[id(block)] = (block, tokens)
        return tokens

    def _tokens(self, block: Block) -> int:
        key = (id(block), self._counted_by)
        tokens = _TOKENS.get(key)
        if tokens is None:
            tokens = _TOKENS.put(key, self._count(counted(block)), len(block.content), alive=block)
        return tokens

    def open(self, slot: str) -> list[Block]:
        """The messages of a slot, which is made when it is new."""
        return self._slots.setdefault(slot, [])

    def open_before(self, slot: str, before: str) -> None:
        """Make a new slot in front of another; at the end when there is none of that name."""
        slots = list(self._slots.items())
        index = next((index for index, (name, _) in enumerate(slots) if name == before), len(slots))
        self._slots = dict([*slots[:index], (slot, []), *slots[index:]])

    def fits(self, *blocks: Block) -> bool:
        """Whether there is room for all of them."""
        return sum(map(self.tokens, blocks)) <= self.left

    def take(self, blocks: Iterable[Block]) -> bool:
        """Take room for all of them, or none and ``False`` where they do not fit."""
        tokens = sum([self.tokens(block) for block in blocks])
        if tokens > self.left:
            return False
        self.left -= tokens
        return True

    def reserve(self, *blocks: Block) -> int:
        """Take room for messages that are placed later; raises `NoRoomError`. Give it back with `release`."""
        for block in blocks:
            self._take(block)
        return sum(map(self.tokens, blocks))

    def release(self, tokens: int) -> None:
        """Give reserved room back."""
        self.left += tokens

    def put(self, block: Block, at: int | None = None) -> None:
        """Place a message in its slot (at the end, or at an index). An empty one is left out. Raises `NoRoomError`."""
        slot = self.open(block.slot or "")
        if not block.content and not block.message_metadata and not block.attachments:
            return
        self._take(block)
        slot.insert(len(slot) if at is None else at, block)

    def omit(self, blocks: Iterable[Block]) -> None:
        """Record messages that did not fit."""
        self.omitted += blocks

    def evict(self, indices: Collection[int]) -> None:
        """Take messages out again, by their indices in `placed`, and record them as those that did not fit."""
        placed = self.placed()
        self._slots = {slot: [] for slot in self._slots}
        for index, block in enumerate(placed):
            if index in indices:
                self.omitted.append(block)
                self.left += self.tokens(block)
            else:
                self._slots[block.slot or ""].append(block)

    def narrow(self, budget: int) -> None:
        """Make the room smaller (or larger), whatever is in it: ``left`` may be negative then."""
        self.left += budget - self.budget
        self.budget = budget

    def _take(self, block: Block) -> None:
        tokens = self.tokens(block)
        if tokens > self.left:
            raise NoRoomError(block, tokens)
        self.left -= tokens

    def placed(self) -> list[Block]:
        """Every message, in the order of the slots."""
        return [block for blocks in self._slots.values() for block in blocks]

    def used(self) -> int:
        """Tokens of all placed messages."""
        return sum([self.tokens(block) for block in self.placed()])
