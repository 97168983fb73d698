"""Costing: the tokens of a message or block, all texts counted in one batch, and the framing that belongs to a dialect."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast

import msgspec

from innkeeper.prompt import Attachment, Block, Message, ScratchKey, TokenCounter
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.prompt.payload.dialect import Dialect, Dialects
from innkeeper.prompt.text import kind_of, shorten
from innkeeper.tokens.counter import Counter, default_counter
from innkeeper.tokens.framing import FRAMINGS, NO_FRAMING, OPENAI, Framing, count_tools, fields_of
from innkeeper.tokens.media import MediaCost, media_cost, media_rule

_TOOL_FIELDS: Final = ("tool_calls", "tool_call_id")


class Cost(NamedTuple):
    """Tokens of one message: its text, its metadata (when that counts) and everything else (role, name, framing, media).

    ``media`` and ``reasoning`` are shares of ``overhead``.
    """

    content: int
    metadata: int
    overhead: int
    media: int = 0
    reasoning: int = 0

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


class Costing(msgspec.Struct, frozen=True, kw_only=True):
    """How messages are counted: a counter for a model, and the cost of a message besides its text.

    ``framing`` is the provider's rule; ``message_overhead_tokens`` are added to each message. An attachment costs what it says
    itself, else ``attachment_tokens``, else what the rule for the model or the dialect says (`innkeeper.tokens.media`). With
    ``include_message_metadata_tokens`` a message's metadata counts as the JSON it is; without, tool calls count where the framing
    says so, and the keys in ``sends``, which the dialect sends back. What the dialect ``shape`` leaves out costs nothing.
    """

    counter: TokenCounter
    model: str | None = None
    framing: Framing = NO_FRAMING
    message_overhead_tokens: int = 0
    attachment_tokens: int = 0
    include_message_metadata_tokens: bool = False
    dialect: str | None = None
    sends: frozenset[str] = frozenset()
    shape: Dialect | None = None

    @classmethod
    def of_dialect(
        cls,
        dialect: str | None,
        dialects: Dialects | None,
        options: Mapping[str, Any] = EMPTY,
        *,
        counter: TokenCounter | None = None,
        framing: Framing | None = None,
        **fields: Any,
    ) -> Costing:
        """Return how messages are counted that a dialect sends with these options; ``counter`` is built in by default."""
        return cls(
            counter=counter or default_counter(),
            framing=framing or framing_of(dialect, counter),
            dialect=dialect,
            sends=sent_metadata(dialect, dialects, options),
            shape=shape_of(dialect, dialects),
            **fields,
        )

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
        """The totals of `costs`, which is all that trimming asks for; by the built-in counter kept by the items' identity."""
        try:
            kept = _known_totals(self) if self.counter is default_counter() else None
        except TypeError:  # a dialect of the application's own may be no key
            kept = None
        if kept is None:
            return self._totals(items)
        return kept.of_each(items, self._totals, lambda item: 256 + len(item.content))

    def _totals(self, items: Sequence[Block | Message]) -> list[int]:
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
                texts.update(self._metadata_texts(metadata), self._sent_texts(metadata))
        return sorted(texts)

    def _metadata_texts(self, metadata: Any) -> list[str]:
        if not metadata:
            return []
        if self.include_message_metadata_tokens:
            return [msgspec.json.encode(metadata, enc_hook=str).decode()]
        return fields_of(metadata, [field for field in self.framing.fields if field in _TOOL_FIELDS])

    def _sent_texts(self, metadata: Any) -> list[str]:
        """The texts of what else of the metadata is sent back: thoughts, and a signature as often as it stands beside one.

        So are what parts have of their own, and blocks that only the provider of this dialect reads.
        """
        if not metadata or self.include_message_metadata_tokens or self.dialect in ONE_TEXT:
            return []
        texts = [text for part in metadata.get("parts") or () for text in self._part_texts(part)]
        if self.sends.isdisjoint(metadata):
            return texts
        thoughts = metadata.get("reasoning") if "reasoning" in self.sends else None
        parts = thoughts if isinstance(thoughts, (list, tuple)) else [thoughts] if thoughts else []
        unsigned = [part for part in parts if not (isinstance(part, Mapping) and part.get("signature"))]
        values = [
            metadata[key] for key in sorted(self.sends) if key not in ("reasoning", "signature") and key in metadata
        ]
        if "signature" in self.sends:
            values += [metadata.get("signature")] * max(1, len(unsigned))
        return texts + [text for value in (*parts, *values) for text in _texts_in(value)]

    def _part_texts(self, part: Any) -> list[str]:
        if not isinstance(part, Mapping):
            return []
        block = part.get("block") if part.get("shape") == self.dialect else None
        own = {name: value for name, value in part.items() if name not in _PART}
        return [_json_text(value) for value in (block, own) if value]

    def _cost(self, item: Block | Message, content: int, overhead: int, known: dict[str, int], metadata: Any) -> Cost:
        if item.name:
            overhead += self.framing.per_name + known.get(item.name, 0)
        media = self._media(item) if item.attachments else 0
        reasoning = sum(known[text] for text in self._sent_texts(metadata))
        extra = sum(known[text] for text in self._metadata_texts(metadata))
        overhead += media + reasoning
        if self.include_message_metadata_tokens:
            return Cost(content, extra, overhead, media, reasoning)
        return Cost(content, 0, overhead + extra, media, reasoning)

    def _media(self, item: Block | Message) -> int:
        costs = map(self.media_cost, item.attachments)
        return sum(0 if cost is None else cost.tokens for cost in costs)

    def media_cost(self, item: Attachment) -> MediaCost | None:
        """What one attachment costs; ``None`` for a kind that no rule knows."""
        if self.dialect in ONE_TEXT or not is_sent(item, self.shape):
            return MediaCost(0)
        if item.tokens is None and self.attachment_tokens:
            return MediaCost(self.attachment_tokens)
        return media_cost(item, media_rule(self.dialect, self.model), lambda text: self.counter.count(text, self.model))

    def tool_tokens(self, tools: Iterable[Any]) -> int:
        """The most that tool definitions cost: the estimate with its error, but no less than the JSON they are."""
        listed = list(tools)
        if not listed:
            return 0
        estimate = count_tools(listed, self.whole_counter, self.model, self.framing.name)
        written = [_json_text({"type": "function", "function": tool}) for tool in listed]
        return max(
            math.ceil(estimate.tokens * (1 + estimate.error_percent / 100)),
            sum(count_texts(self.counter, written, self.model)),
        )

    def option_tokens(self, options: Mapping[str, Any]) -> int:
        """The most that options cost which a provider writes into the prompt: the schema of the answer, its beginning."""
        texts = option_texts(options)
        return sum(count_texts(self.counter, texts, self.model)) if texts else 0

    def _costs_by_framing(self, items: Sequence[Block | Message]) -> list[Cost]:
        """For rules that count a message's texts together: the framing's own way, message by message."""
        counter = self.whole_counter
        contents = count_texts(self.counter, [item.content for item in items], self.model)
        return [self._framed(item, content, counter) for item, content in zip(items, contents, strict=True)]

    def _framed(self, item: Block | Message, content: int, counter: Counter) -> Cost:
        message, extra = item.message() if isinstance(item, Block) else item, 0
        media, thoughts = self._media(message), self._sent_texts(message.metadata)
        reasoning = sum(count_texts(self.counter, thoughts, self.model)) if thoughts else 0
        if self.include_message_metadata_tokens and message.metadata:
            extra = sum(count_texts(self.counter, self._metadata_texts(message.metadata), self.model))
            message = msgspec.structs.replace(message, metadata=EMPTY)
        framed = self.framing.count_message(message, counter, self.model)
        added = self.message_overhead_tokens + media + reasoning
        return Cost(content, extra, framed - content + added, media, reasoning)

    @property
    def whole_counter(self) -> Counter:
        """The counter with all that `innkeeper.tokens` asks of one, whatever it has itself."""
        counter: Any = self.counter
        return counter if isinstance(counter, Counter) else cast("Counter", _WholeCounter(counter))

    def total(self, items: Sequence[Block | Message]) -> int:
        """Tokens of a whole prompt: all messages and the start of the reply."""
        return sum(cost.total for cost in self.costs(items)) + self.framing.reply


@lru_cache(maxsize=64)
def _known_totals(_costing: Costing) -> BoundedCache[int, int]:
    """The totals that a costing has counted, by the identity of blocks and messages: most come again in the next turn."""
    return BoundedCache(items=128 * 1024)


_PART: Final = frozenset({"type", "text", "shape", "block", "cache_control"})
"""Fields of a part that are counted elsewhere, or that no model reads."""


def _texts_in(value: Any) -> list[str]:
    """The texts of data, at any depth; numbers have none."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts_in(item)]
    return [text for item in value for text in _texts_in(item)] if isinstance(value, (list, tuple)) else []


_IN_PROMPT: Final = frozenset(
    {
        "response_format", "json_schema", "grammar", "assistant_prefill", "documents", "prediction", "output_config",
        "messages", "system", "tools", "hosted_tools", "input", "instructions", "prompt", "text", "format", "guided_json",
        "connectors",
    }
)  # fmt: skip
"""Options, and fields of ``extra``, whose texts a provider may write into the prompt."""


def option_texts(options: Mapping[str, Any]) -> list[str]:
    """The options that a provider may write into the prompt, each as the JSON it is; a text as it is."""
    extras = [value for name in ("extra", "extra_body") if isinstance(value := options.get(name), Mapping)]
    sent = [value for fields in (options, *extras) for name, value in fields.items() if name in _IN_PROMPT]
    return [_json_text(_framed(value)) for value in sent if value]


def _framed(value: Any) -> dict[str, Any]:
    """A schema in the longest frame that a provider has for it, whatever protocol it is written by; anything else as well."""
    for name in ("format", "json_schema", "schema"):
        inner = value.get(name) if isinstance(value, Mapping) else None
        value = inner if isinstance(inner, Mapping) else value
    return {"type": "json_schema", "json_schema": {"name": "response", "strict": True, "schema": value}}


def _json_text(value: Any) -> str:
    """Data as JSON with a blank behind commas and colons, which costs most tokens."""
    return json.dumps(msgspec.to_builtins(value, enc_hook=str, str_keys=True), ensure_ascii=False, default=str)


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

ONE_TEXT: Final = frozenset({"text", "instruct", "chat_template", "llamacpp", "koboldcpp"})
"""Dialects that make one text of all messages and leave media out."""


def shape_of(dialect: str | None, dialects: Dialects | None) -> Dialect | None:
    """The dialect of this name, by default that of plans; ``None`` where nobody has it."""
    name = dialect or "openai"
    return dialects[name] if dialects is not None and name in dialects else None


def is_sent(item: Attachment, shape: Dialect | None) -> bool:
    """Whether a dialect sends an attachment, or leaves it out: then a message is the same without it."""
    if shape is None:
        return True
    known = _SENT.get((id(item), shape.name))
    if known is None:
        known = _SENT.put((id(item), shape.name), _changes_body(item, shape), 64, alive=item)
    return known


_SENT: Final[BoundedCache[tuple[int, str], bool]] = BoundedCache()
"""Whether dialects send attachments, by their identity."""


def _changes_body(item: Attachment, shape: Dialect) -> bool:
    try:
        with_it, without = (shape.messages((Message("user", "x", None, media),), EMPTY).body for media in ((item,), ()))
    except InnkeeperError:
        return True
    return bool(with_it != without)


def sent_metadata(
    dialect: str | None, dialects: Dialects | None = None, options: Mapping[str, Any] = EMPTY
) -> frozenset[str]:
    """The keys of a message's metadata that a dialect sends besides tool calls, by its ``rules``.

    Of one that states no rules, or that nobody has, thoughts and signatures count as sent.
    """
    rules = getattr(shape_of(dialect, dialects), "rules", None)
    more = options.get("message_keys") or ()
    keys = {str(key) for key in more} if isinstance(more, (list, tuple)) else set()
    if dialect in ONE_TEXT:
        return frozenset()
    if rules is None:
        return frozenset({"reasoning", "signature", *keys})
    sent = {name for name, is_sent in (("reasoning", rules.reasoning), ("signature", rules.signature)) if is_sent}
    return frozenset({*sent, *rules.keys, *keys})


def framing_of(dialect: str | None, counter: TokenCounter | None = None) -> Framing:
    """The counting rule that a counter brings along as ``framing``, that of its model; else that of a dialect's provider.

    Dialects that make one text out of all messages have none. Others that nobody has measured are counted as OpenAI's: chat
    templates cost three to five tokens a message.
    """
    own = getattr(counter, "framing", None)
    if isinstance(own, Framing):
        return own
    name = dialect or "openai"
    return NO_FRAMING if name in ONE_TEXT else FRAMINGS.get(_SAME_AS.get(name, name), OPENAI)


def whole(name: str, value: Any) -> int:
    """``value`` if it is a whole number of tokens from 0 up. Raises `UsageError` naming the parameter."""
    if type(value) is int and value >= 0:
        return value
    shown = "a negative number" if type(value) is int else kind_of(value)
    shown += f" ({shorten(value, 40)})" if isinstance(value, str) else ""
    raise UsageError(
        f"{name} must be a whole number of tokens, not {shown}", hint="numbers of tokens start at 0", name=name
    )
