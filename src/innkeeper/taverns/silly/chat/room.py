"""Room: the messages of a chat-completion prompt while it is filled, slot by slot, within the token budget.

SillyTavern fills a prompt rather than trimming one (`sillytavern.md` 47): fixed parts first, then examples and
history as far as they fit. What does not fit is kept here too, with its tokens, so that every omission can be
reported. `Counting` is how a build counts tokens: by SillyTavern's own rule for the tokenizer that the request names, with
room kept free for the definitions of tools.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.budget.costing import Costing
from innkeeper.budget.settings import model_for
from innkeeper.budget.strategies import Strategy
from innkeeper.prompt.block import Block, Origin
from innkeeper.prompt.data import FrozenDict, thaw
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.expansion import Pieces, origin_of, text_of
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS, Framing, default_counter, framing

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


class Room:
    """Slots in prompt order, the tokens left, the tokens ``used`` by placed messages, and the blocks ``omitted``.

    ``has_empty`` says that a message without text may be among the placed ones.
    """

    def __init__(self, budget: int, count: Callable[[Mapping[str, Any]], int]) -> None:
        self.budget = budget
        self.left = budget - REPLY_PRIMER
        self.used = 0
        self.omitted: list[Block] = []
        self.has_empty = False
        self._count = count
        self._slots: dict[str, list[Block]] = {}
        self._seen: dict[int, tuple[Block, int]] = {}

    def tokens(self, block: Block) -> int:
        """Tokens of one message, counted once; none for an empty one."""
        seen = self._seen.get(id(block))
        if seen is None:
            tokens = 0 if is_empty(block) else tokens_of(block, self._count)
            # the block is kept with its count: as long as it lives, no other can get its id
            seen = self._seen[id(block)] = (block, tokens)
        return seen[1]

    def recall(self, counted: Sequence[tuple[Block, int]]) -> None:
        """Take over what messages have been counted as in other builds."""
        self._seen.update({id(pair[0]): pair for pair in counted})

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
        """Take room for all of a line's messages, or none and ``False`` where they do not fit."""
        return self.take_first([sum(map(self.tokens, blocks))]) == 1

    def take_first(self, tokens: Sequence[int]) -> int:
        """Take room for messages that are placed now, from the first on, as far as they fit; how many these are."""
        sums = list(accumulate(tokens))
        fitting = bisect_right(sums, self.left)
        if fitting:
            self.left -= sums[fitting - 1]
            self.used += sums[fitting - 1]
        return fitting

    def reserve(self, *blocks: Block) -> int:
        """Take room for messages that are placed later; raises `NoRoomError`. Give it back with `release`."""
        for block in blocks:
            self._take(block)
        return sum(map(self.tokens, blocks))

    def release(self, tokens: int) -> None:
        """Give reserved room back."""
        self.left += tokens

    def put(self, block: Block, at: int | None = None) -> None:
        """Place a message in its slot (at the end, or at an index). Raises `NoRoomError`.

        An empty one takes no room and is not sent; it only keeps its neighbours apart.
        """
        slot = self.open(block.slot or "")
        self._take(block)
        self.used += self.tokens(block)
        self.has_empty = self.has_empty or is_empty(block)
        slot.insert(len(slot) if at is None else at, block)

    def omit(self, blocks: Iterable[Block]) -> None:
        """Record messages that did not fit."""
        self.omitted += [block for block in blocks if not is_empty(block)]

    def evict(self, indices: Collection[int]) -> None:
        """Take messages out again, by their indices in `placed`, and record them as those that did not fit."""
        placed = self.placed()
        self._slots = {slot: [] for slot in self._slots}
        for index, block in enumerate(placed):
            if index in indices:
                tokens = self.tokens(block)
                self.omitted.append(block)
                self.left += tokens
                self.used -= tokens
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


@dataclass(frozen=True, slots=True)
class FilledRoom:
    """The room as the history and all else have filled it.

    ``strategy`` is what has cut a full prompt; ``no_room`` names the fixed part that did not fit, where the filling has stopped.
    """

    room: Room
    strategy: Strategy | None = None
    no_room: NoRoomError | None = None


def is_empty(block: Block) -> bool:
    """Whether there is nothing in a message to send."""
    return not (block.content or block.message_metadata or block.attachments)


def tokens_of(block: Block, count: Callable[[Mapping[str, Any]], int]) -> int:
    """The tokens of a message: what ``count`` says of its text and fields, and what its media cost; no text costs nothing."""
    if not block.attachments:
        return count(counted(block))
    text = count(counted(block)) if block.content or block.name else 0
    return text + sum(item.tokens or 0 for item in block.attachments)


def counted(block: Block) -> dict[str, Any]:
    """What is counted of a message: role, content, and name and tool calls when it has some; not the id a result answers to.

    Of a list of parts what the content has not: blocks that only their provider reads.
    """
    facts: dict[str, Any] = {"role": block.role, "content": block.content}
    if block.name:
        facts["name"] = block.name
    if block.message_metadata:
        facts |= {key: value for key, value in block.message_metadata.items() if key not in ("tool_call_id", "parts")}
        blocks = [part["block"] for part in block.message_metadata.get("parts") or () if "block" in part]
        facts |= {"parts": blocks} if blocks else {}
    return facts


Message = Callable[[Mapping[str, Any]], int]


class Counting(msgspec.Struct, frozen=True):
    """``message`` counts a message with its overheads, ``text`` bare text; the rest is what the lore budget counts by.

    ``lore_part`` and ``lore_overhead`` are given where counts add up over lines (see `innkeeper.lore.selection`).
    """

    message: Message
    text: Callable[[str], int]
    lore: Callable[[str], int]
    lore_part: Callable[[str], int] | None = None
    lore_overhead: int = 0
    name: str = ""
    """What is counted by, where that is the same in every build: a tokenizer of SillyTavern's, or a model's own."""

    @classmethod
    def of(cls, state: State, inputs: SillyInputs) -> Counting:
        """The counting of a build: SillyTavern's for one of its tokenizer names, otherwise the model's own.

        The name is ``settings.tokenizer``, else the model that tokens are counted for (`model_for`).

        Raises `TokenizerUnavailableError` for a tokenizer whose vocabulary may not be shipped.
        """
        asked = state.request.settings.get("tokenizer") or model_for(state)
        name = str(asked or _default_tokenizer(inputs))
        if state.inputs.ports.token_counter is None and name in SILLYTAVERN_TOKENIZERS:
            return _sillytavern(name, chat=not inputs.is_text)
        counter = state.inputs.ports.token_counter
        return _by_model(name) if counter is None else _neutral(counter, name)


BY_SOURCE: Final = MappingProxyType(
    {"claude": "claude", "mistralai": "mistral", "deepseek": "llama3", "cohere": "llama3", "chutes": "llama3"}
)
"""What SillyTavern counts by for sources that are not OpenAI's, of the tokenizers that are here: for some of them it falls back
to the vocabulary of Llama 3 (measured on SillyTavern 1.19)."""


def _default_tokenizer(inputs: SillyInputs) -> str:
    """What is counted by where the request names no model."""
    if inputs.is_text:
        return "none"
    name = BY_SOURCE.get(inputs.preset.chat_completion_source, "gpt-4o")
    return name if SILLYTAVERN_TOKENIZERS[name].available else "gpt-4o"


_ADDING_UP: Final = frozenset({"gpt-4o", "gpt-4", "gpt-3.5-turbo"})
"""Tokenizers that count each text of a message apart and never join across a line break (see `innkeeper.lore.selection`)."""


@lru_cache(maxsize=32)
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


@lru_cache(maxsize=32)
def _by_model(model: str) -> Counting:
    """As a model counts, by the counter that is the same in every build."""
    plain = _neutral(default_counter(), model)
    return msgspec.structs.replace(
        plain, message=_quick(plain.message, plain.text, framing("openai")), name=f"model {model}"
    )


def _quick(slow: Message, part: Callable[[str], int], rule: Framing) -> Message:
    """The same counts for plain messages, without walking their fields. What may spell a special token goes the slow way."""
    roles = {role: part(role) + rule.per_message for role in ROLES}

    def message(value: Mapping[str, Any]) -> int:
        content, name, role = value["content"], value.get("name"), value["role"]
        if len(value) > PLAIN_FIELDS + (name is not None) or "<|" in content or (name and "<|" in name):
            return slow(value)
        named = part(name) + rule.per_name if name else 0
        return (roles[role] if role in roles else part(role) + rule.per_message) + part(content) + named

    return message


ROLES: Final = ("system", "user", "assistant", "tool")
"""Roles whose tokens are counted once."""

PLAIN_FIELDS: Final = 2
"""A plain message has a role and a content, and may have a name."""


def _neutral(counter: Any, model: str) -> Counting:
    rule, whole = framing("openai"), Costing(counter=counter).whole_counter

    def text(value: str) -> int:
        return int(counter.count(value, model))

    def message(value: Mapping[str, Any]) -> int:
        return int(rule.count_message(value, whole, model))

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
