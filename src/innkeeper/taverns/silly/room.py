"""Room: the messages of a chat-completion prompt while it is filled, slot by slot, within the token budget.

SillyTavern fills a prompt rather than trimming one (`sillytavern.md` 47): fixed parts first, then examples and history as
far as they fit. What does not fit is kept here too, with its tokens, so that every omission can be reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.frozen import EMPTY
from innkeeper.prompt.message import Attachment
from innkeeper.prompt.text import Origin
from innkeeper.taverns.silly.recent import Recent

__all__ = ["Draft", "NoRoomError", "Room"]

REPLY_PRIMER: Final = 3
"""Tokens every chat prompt reserves for the beginning of the reply."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A message to be. ``kind`` is what it is to the budget (``system``, ``examples``, ``lore``, ``history``)."""

    role: str
    content: str
    source: str
    id: str = ""
    """Its block's id, where one follows from what it is made of; other blocks are named by their place."""
    kind: str = "system"
    name: str | None = None
    bundle: str | None = None
    apart: bool = False
    """Whether squashing leaves it alone."""
    attachments: tuple[Attachment, ...] = ()
    metadata: Mapping[str, Any] = EMPTY
    origin: Origin | None = None
    depth: int | None = None

    def facts(self) -> dict[str, Any]:
        """What is counted: role, content, and name and tool calls when there are any; not the id a result answers to."""
        if not self.name and not self.metadata:
            return {"role": self.role, "content": self.content}
        counted = {key: value for key, value in self.metadata.items() if key != "tool_call_id"}
        return {"role": self.role, "content": self.content, **({"name": self.name} if self.name else {}), **counted}


class NoRoomError(Exception):
    """A fixed part does not fit: the filling stops, as SillyTavern's does, and keeps what it has."""

    def __init__(self, draft: Draft, tokens: int) -> None:
        super().__init__(f"no room for {draft.source} ({tokens} tokens)")
        self.draft, self.tokens = draft, tokens


_TOKENS: Final[Recent[int]] = Recent()


class Room:
    """Slots in prompt order and the tokens left.

    ``counted_by`` names what ``count`` counts by, when that is known to be the same in every build; counts are then kept.
    """

    def __init__(self, budget: int, count: Callable[[Mapping[str, Any]], int], counted_by: str = "") -> None:
        self.budget = budget
        self.left = budget - REPLY_PRIMER
        self._count = count
        self._slots: dict[str, list[Draft]] = {}
        self.omitted: list[tuple[str, Draft]] = []
        self._seen: dict[int, tuple[Draft, int]] = {}
        self._counted_by = counted_by
        self._known: Recent[int] = _TOKENS if counted_by else Recent()

    def tokens(self, draft: Draft) -> int:
        """Tokens of one message, counted once."""
        seen = self._seen.get(id(draft))
        if seen is not None:
            return seen[1]
        known = self._known.get(draft, self._counted_by)
        if known is None:
            known = self._known.put(draft, self._count(draft.facts()), self._counted_by)
        self._seen[id(draft)] = (draft, known)
        return known

    def open(self, slot: str) -> list[Draft]:
        """The messages of a slot, which is made when it is new."""
        return self._slots.setdefault(slot, [])

    def place(self, slot: str, before: str) -> None:
        """Make a new slot in front of another; at the end when there is none of that name."""
        slots = list(self._slots.items())
        index = next((index for index, (name, _) in enumerate(slots) if name == before), len(slots))
        self._slots = dict([*slots[:index], (slot, []), *slots[index:]])

    def has(self, slot: str) -> bool:
        """Whether a slot is there."""
        return slot in self._slots

    def fits(self, *drafts: Draft) -> bool:
        """Whether there is room for all of them."""
        return sum(map(self.tokens, drafts)) <= self.left

    def take(self, drafts: Iterable[Draft]) -> bool:
        """Take room for all of them, or none and ``False`` where they do not fit."""
        tokens = sum([self.tokens(draft) for draft in drafts])
        if tokens > self.left:
            return False
        self.left -= tokens
        return True

    def reserve(self, *drafts: Draft) -> int:
        """Take room for messages that are placed later; raises `NoRoomError`. Give it back with `release`."""
        for draft in drafts:
            self._take(draft)
        return sum(map(self.tokens, drafts))

    def release(self, tokens: int) -> None:
        """Give reserved room back."""
        self.left += tokens

    def put(self, slot: str, draft: Draft, at: int | None = None) -> None:
        """Place a message in a slot (at the end, or at an index). An empty one is left out. Raises `NoRoomError`."""
        place = self.open(slot)
        if not draft.content and not draft.metadata and not draft.attachments:
            return
        self._take(draft)
        place.insert(len(place) if at is None else at, draft)

    def omit(self, slot: str, drafts: Iterable[Draft]) -> None:
        """Record messages that did not fit."""
        self.omitted += [(slot, draft) for draft in drafts]

    def evict(self, places: Collection[int]) -> None:
        """Take messages out again, by their places in `placed`, and record them as those that did not fit."""
        placed = self.placed()
        self._slots = {slot: [] for slot in self._slots}
        for place, (slot, draft) in enumerate(placed):
            if place in places:
                self.omitted.append((slot, draft))
                self.left += self.tokens(draft)
            else:
                self._slots[slot].append(draft)

    def narrow(self, budget: int) -> None:
        """Make the room smaller (or larger), whatever is in it: ``left`` may be negative then."""
        self.left += budget - self.budget
        self.budget = budget

    def _take(self, draft: Draft) -> None:
        tokens = self.tokens(draft)
        if tokens > self.left:
            raise NoRoomError(draft, tokens)
        self.left -= tokens

    def placed(self) -> list[tuple[str, Draft]]:
        """Every message with its slot, in the order of the slots."""
        return [(slot, draft) for slot, drafts in self._slots.items() for draft in drafts]

    def used(self) -> int:
        """Tokens of all placed messages."""
        return sum(self.tokens(draft) for _, draft in self.placed())
