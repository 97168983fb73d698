"""Costing: the tokens of a message or block, all texts counted in one batch, and the framing that belongs to a dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast

import msgspec

from innkeeper.prompt import Block, Message, ScratchKey, TokenCounter
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.text import shorten
from innkeeper.tokens.counter import Counter
from innkeeper.tokens.framing import FRAMINGS, NO_FRAMING, OPENAI, Framing, fields_of

_TOOL_FIELDS: Final = ("tool_calls", "tool_call_id")


class Cost(NamedTuple):
    """Tokens of one message: its text, its metadata (when that counts) and everything else (role, name, framing, media)."""

    content: int
    metadata: int
    overhead: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.content + self.metadata + self.overhead


def count_texts(counter: TokenCounter, texts: Sequence[str], model: str | None = None) -> list[int]:
    """Count the tokens of each text, by the counter's ``count_many`` if it has one."""
    many = getattr(counter, "count_many", None)
    if many is not None:
        return list(many(texts, model))
    known = {text: counter.count(text, model) for text in dict.fromkeys(texts)}
    return [known[text] for text in texts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costing:
    """How messages are counted: a counter for a model, and the cost of a message besides its text.

    ``framing`` is the provider's rule; ``message_overhead_tokens`` are added to each message, ``attachment_tokens`` to each
    attachment that does not say what it costs (no text counter knows). With ``include_message_metadata_tokens`` a message's
    metadata counts as the JSON it is; without, tool calls count where the framing says so.
    """

    counter: TokenCounter
    model: str | None = None
    framing: Framing = NO_FRAMING
    message_overhead_tokens: int = 0
    attachment_tokens: int = 0
    include_message_metadata_tokens: bool = False

    def __post_init__(self) -> None:
        """Raise `UsageError` for overheads that are not whole numbers."""
        whole("message_overhead_tokens", self.message_overhead_tokens)
        whole("attachment_tokens", self.attachment_tokens)

    def costs(self, items: Sequence[Block | Message]) -> list[Cost]:
        """Return the cost of each block or message, counted in one batch."""
        if self.framing.joiner is not None or self.framing.refuses_special:
            return self._costs_by_framing(items)
        counts, plain, known = self._counted(items)
        return [
            self._cost(item, content, plain[item.role], known, metadata)
            if metadata or item.name or item.attachments
            else Cost(content, 0, plain[item.role])
            for item, content, metadata in zip(items, counts, _all_metadata(items), strict=False)
        ]

    def totals(self, items: Sequence[Block | Message]) -> list[int]:
        """The totals of `costs`, which is all that trimming asks for."""
        if self.framing.joiner is not None or self.framing.refuses_special:
            return [cost.total for cost in self._costs_by_framing(items)]
        counts, plain, known = self._counted(items)
        return [
            self._cost(item, content, plain[item.role], known, metadata).total
            if metadata or item.name or item.attachments
            else content + plain[item.role]
            for item, content, metadata in zip(items, counts, _all_metadata(items), strict=False)
        ]

    def _counted(self, items: Sequence[Block | Message]) -> tuple[list[int], dict[str, int], dict[str, int]]:
        """The tokens of each text, the overhead of a plain message by role, and the tokens of all other texts."""
        named = self._texts_besides(items)
        counts = count_texts(self.counter, [*[item.content for item in items], *named], self.model)
        known = dict(zip(named, counts[len(items) :], strict=True))
        fixed = self.framing.per_message + self.message_overhead_tokens
        return counts, {role: fixed + known.get(role, 0) for role in {item.role for item in items}}, known

    def _texts_besides(self, items: Sequence[Block | Message]) -> list[str]:
        """Return the texts besides contents, each distinct one once: roles, names, tool calls, metadata."""
        fields = self.framing.fields
        texts = {item.role for item in items} if "role" in fields else set()
        if "name" in fields:
            texts |= {item.name for item in items if item.name}
        for metadata in _all_metadata(items):
            if metadata:
                texts.update(self._metadata_texts(metadata))
        return sorted(texts)

    def _metadata_texts(self, metadata: Any) -> list[str]:
        if not metadata:
            return []
        if self.include_message_metadata_tokens:
            return [msgspec.json.encode(metadata, enc_hook=str).decode()]
        return fields_of(metadata, [field for field in self.framing.fields if field in _TOOL_FIELDS])

    def _cost(self, item: Block | Message, content: int, overhead: int, known: dict[str, int], metadata: Any) -> Cost:
        if item.name:
            overhead += self.framing.per_name + known.get(item.name, 0)
        overhead += self._media(item)
        extra = sum(known[text] for text in self._metadata_texts(metadata))
        if self.include_message_metadata_tokens:
            return Cost(content, extra, overhead)
        return Cost(content, 0, overhead + extra)

    def _media(self, item: Block | Message) -> int:
        return sum(self.attachment_tokens if each.tokens is None else each.tokens for each in item.attachments)

    def _costs_by_framing(self, items: Sequence[Block | Message]) -> list[Cost]:
        """For rules that count a message's texts together: the framing's own way, message by message."""
        counter = self.whole_counter
        contents = count_texts(self.counter, [item.content for item in items], self.model)
        return [self._framed(item, content, counter) for item, content in zip(items, contents, strict=True)]

    def _framed(self, item: Block | Message, content: int, counter: Counter) -> Cost:
        message, extra = item.message() if isinstance(item, Block) else item, 0
        if self.include_message_metadata_tokens and message.metadata:
            extra = sum(count_texts(self.counter, self._metadata_texts(message.metadata), self.model))
            message = msgspec.structs.replace(message, metadata=EMPTY)
        framed = self.framing.count_message(message, counter, self.model)
        added = self.message_overhead_tokens + self._media(message)
        return Cost(content, extra, framed - content + added)

    @property
    def whole_counter(self) -> Counter:
        """The counter with all that `innkeeper.tokens` asks of one, whatever it has itself."""
        counter: Any = self.counter
        return counter if isinstance(counter, Counter) else cast("Counter", _WholeCounter(counter))

    def total(self, items: Sequence[Block | Message]) -> int:
        """Tokens of a whole prompt: all messages and the start of the reply."""
        return sum(cost.total for cost in self.costs(items)) + self.framing.reply


class CountedBlocks(NamedTuple):
    """The total of blocks, which *fit* leaves in the scratch so that *max_tokens* need not count them again."""

    costing: Costing
    blocks: tuple[Block, ...]
    tokens: int
    costs: Sequence[Cost] | None = None
    """The cost of each block in its parts, if requested."""

    def counts(self, costing: Costing, blocks: Sequence[Block]) -> bool:
        """Whether these are the blocks, and this is how they are counted."""
        return costing == self.costing and tuple(blocks) == self.blocks


COUNTED: Final = ScratchKey[CountedBlocks]("fit")


class _WholeCounter:
    """A counter with all that a framing asks of one, whatever it has itself."""

    __slots__ = ("_counter",)

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def count_many(self, texts: Iterable[str], model: str | None = None) -> list[int]:
        return count_texts(self._counter, list(texts), model)

    def special_tokens(self, model: str | None = None) -> tuple[str, ...]:
        ask = getattr(self._counter, "special_tokens", None)
        return tuple(ask(model)) if ask is not None else ()


def _all_metadata(items: Sequence[Block | Message]) -> list[Any]:
    """The provider's metadata of each, all blocks or all messages."""
    of = attrgetter("message_metadata" if items and isinstance(items[0], Block) else "metadata")
    return [of(item) for item in items]


_SAME_AS: Final = {"gemini": "google", "responses": "openai"}
_BARE: Final = frozenset({"text", "instruct", "chat_template"})


def framing_of(dialect: str | None, counter: TokenCounter | None = None) -> Framing:
    """The counting rule that a counter brings along as ``framing``, that of its model; else that of a dialect's provider.

    Dialects that make one text out of all messages have none. Others that nobody has measured are counted as OpenAI's: chat
    templates cost three to five tokens a message.
    """
    own = getattr(counter, "framing", None)
    if isinstance(own, Framing):
        return own
    name = dialect or "openai"
    return NO_FRAMING if name in _BARE else FRAMINGS.get(_SAME_AS.get(name, name), OPENAI)


def whole(name: str, value: Any) -> int:
    """``value`` if it is a whole number of tokens from 0 up. Raises `UsageError` naming the parameter."""
    if type(value) is int and value >= 0:
        return value
    shown = "a negative number" if type(value) is int else f"{type(value).__name__} {shorten(repr(value), 40)}"
    raise UsageError(
        f"{name} must be a whole number of tokens, not {shown}", hint="numbers of tokens start at 0", name=name
    )
