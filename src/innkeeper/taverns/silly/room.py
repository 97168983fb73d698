"""Room: the messages of a chat-completion prompt while it is filled, slot by slot, within the token budget.

SillyTavern fills a prompt rather than trimming one (`sillytavern.md` 47): fixed parts first, then examples and
history as far as they fit. What does not fit is kept here too, with its tokens, so that every omission can be
reported.

`Draft` is a message in the making and `block_of` the block it becomes. `Counting` is how this build counts tokens: by
SillyTavern's own rule for the tokenizer that the request names, with room kept free for the definitions of tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.prompt.block import Block, InsertionPoint
from innkeeper.prompt.frozen import EMPTY, FrozenDict, freeze, thaw
from innkeeper.prompt.memo import Memo
from innkeeper.prompt.message import Attachment
from innkeeper.prompt.origin import Origin
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS, Framing, default_counter, framing

__all__ = ["Counting", "Draft", "NoRoomError", "Room", "block_of", "tool_tokens"]

REPLY_PRIMER: Final = 3
"""Tokens every chat prompt reserves for the beginning of the reply."""


class Draft(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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


_TOKENS: Final[Memo[tuple[int, str], int]] = Memo()


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
        self._known: Memo[tuple[int, str], int] = _TOKENS if counted_by else Memo()

    def tokens(self, draft: Draft) -> int:
        """Tokens of one message, counted once."""
        seen = self._seen.get(id(draft))
        if seen is not None:
            return seen[1]
        key = (id(draft), self._counted_by)
        known = self._known.get(key)
        if known is None:
            known = self._known.put(key, self._count(draft.facts()), len(draft.content), alive=draft)
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


_GROUPS: Final = {"injection": "system"}

_BLOCKS: Final[Memo[tuple[int, str, bool], Block]] = Memo()


def block_of(slot: str, draft: Draft, *, enabled: bool = True) -> Block:
    """The draft's block; that of a message is kept for the next turn."""
    if draft.kind != "history":
        return _made(slot, draft, enabled=enabled)
    key = (id(draft), slot, enabled)
    known = _BLOCKS.get(key)
    if known is None:
        known = _BLOCKS.put(key, _made(slot, draft, enabled=enabled), len(draft.content), alive=draft)
    return known


def _made(slot: str, draft: Draft, *, enabled: bool) -> Block:
    facts: dict[str, Any] = {"source": draft.source}
    if draft.bundle:
        facts["eviction_bundle"] = draft.bundle
    return Block(
        id=draft.id,
        role=draft.role,
        content=draft.content,
        name=draft.name,
        slot=slot,
        group=_GROUPS.get(draft.kind, draft.kind),
        enabled=enabled,
        removable=draft.kind in ("examples", "lore", "history"),
        attachments=draft.attachments,
        message_metadata=freeze(dict(draft.metadata)) if draft.metadata else EMPTY,
        metadata=FrozenDict(facts),
        origin=draft.origin,
        insertion_point=InsertionPoint.RELATIVE,
        depth=draft.depth or 0,
    )


Message = Callable[[Mapping[str, Any]], int]


class Counting(msgspec.Struct, frozen=True):
    """``message`` counts a message with its overheads, ``text`` bare text; the rest is what the lore budget counts by.

    ``lore_part`` and ``lore_overhead`` are given where counts add up over lines (see `innkeeper.lore.budget`).
    """

    message: Message
    text: Callable[[str], int]
    lore: Callable[[str], int]
    lore_part: Callable[[str], int] | None = None
    lore_overhead: int = 0
    name: str = ""
    """What is counted by, when it is one of SillyTavern's own tokenizers: the same in every build."""

    @classmethod
    def of(cls, state: State, inputs: SillyInputs) -> Counting:
        """The counting of a build: SillyTavern's for one of its tokenizer names, otherwise the model's own.

        Raises `TokenizerUnavailableError` for a tokenizer whose vocabulary may not be shipped.
        """
        name = state.request.model or ("none" if inputs.is_text else "gpt-4o")
        if state.inputs.ports.token_counter is None and name in SILLYTAVERN_TOKENIZERS:
            return _sillytavern(name, chat=not inputs.is_text)
        counter = state.inputs.ports.token_counter or default_counter()
        return _neutral(counter, name)


_ADDING_UP: Final = frozenset({"gpt-4o", "gpt-4", "gpt-3.5-turbo"})
"""Tokenizers that count each text of a message apart and never join across a line break (see `innkeeper.lore.budget`)."""


def _sillytavern(name: str, *, chat: bool) -> Counting:
    tokenizer = SILLYTAVERN_TOKENIZERS[name]
    counter, rule = tokenizer.counter(), tokenizer.framing

    def part(text: str) -> int:
        return counter.count(text, name)

    def message(value: Mapping[str, Any]) -> int:
        return rule.count_message(value, counter, name)

    if not chat:
        return Counting(message, tokenizer.count_text, tokenizer.count_text, name=f"{name} text")
    if name not in _ADDING_UP:
        return Counting(message, tokenizer.count_text, tokenizer.count_lore, name=name)
    overhead = tokenizer.count_lore("word") - part("word")
    return Counting(_quick(message, part, rule), tokenizer.count_text, tokenizer.count_lore, part, overhead, name)


def _quick(slow: Message, part: Callable[[str], int], rule: Framing) -> Message:
    """The same counts for plain messages, without walking their fields. What may spell a special token goes the slow way."""
    roles: dict[str, int] = {}

    def message(value: Mapping[str, Any]) -> int:
        content = value["content"]
        if len(value) > PLAIN_FIELDS or "<|" in content:
            return slow(value)
        role = value["role"]
        if role not in roles:
            roles[role] = part(role) + rule.per_message
        return roles[role] + part(content)

    return message


PLAIN_FIELDS: Final = 2
"""A plain message has a role and a content."""


def _neutral(counter: Any, model: str) -> Counting:
    rule = framing("openai")

    def text(value: str) -> int:
        return int(counter.count(value, model))

    def message(value: Mapping[str, Any]) -> int:
        return int(rule.count_message(value, counter, model))

    return Counting(message, text, text)


FRAME: Final = 6
"""Tokens kept where tools may be called, even when none is offered (measured on SillyTavern 1.19)."""

OFFER: Final = 8
"""Tokens more when any is offered (measured on SillyTavern 1.19)."""

_SENT: Final = ("name", "description", "parameters")


def tool_tokens(tools: Sequence[Mapping[str, Any]], count: Callable[[Mapping[str, Any]], int]) -> int:
    """What is kept: a frame, and each definition as JSON. ``count`` counts a message."""
    empty = count({"role": "", "content": ""})
    each = sum(count({"role": "", "content": _written(tool)}) - empty for tool in tools)
    return FRAME + (OFFER if tools else 0) + each


def _written(tool: Mapping[str, Any]) -> str:
    fields = tool.get("function", tool)
    sent = {name: thaw(fields[name]) for name in _SENT if name in fields} if isinstance(fields, Mapping) else {}
    return json.dumps({"type": "function", "function": sent}, ensure_ascii=False, separators=(",", ":"), default=str)
