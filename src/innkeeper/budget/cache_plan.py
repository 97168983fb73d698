"""CachePlan: what a provider's cache will serve and store of a prompt, what that costs, and why the rest is read anew."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final

import msgspec

from innkeeper.budget.accounting import costing_of, marks_of
from innkeeper.budget.cache_rules import CacheRule, cache_rule
from innkeeper.budget.diff import money
from innkeeper.budget.prefix import PrefixChange, PrefixEnd, prefix_end
from innkeeper.prompt import Block, Plan, TokenCounter, UsageError
from innkeeper.prompt.block import BudgetGroup, InsertionPoint, OriginAsset
from innkeeper.prompt.report import TextTable
from innkeeper.tokens.table.catalogue import MILLION, known_model


class CacheBreakKind(StrEnum):
    """What ended the part that two prompts share."""

    MACRO = "macro"
    ENTRY = "entry"
    DEPTH = "depth"
    TRIM = "trim"
    TEXT = "text"
    TOOLS = "tools"


_WHY: Final = {
    CacheBreakKind.MACRO: "{{{{{macro}}}}} in {source} gave another text",
    CacheBreakKind.ENTRY: "the lorebook entry {source} came, left or changed",
    CacheBreakKind.DEPTH: "{source} stands at a depth of the chat and moves with every message",
    CacheBreakKind.TRIM: "the oldest message was left out, and all others moved up",
    CacheBreakKind.TEXT: "{source} has another text, or was added or removed",
    CacheBreakKind.TOOLS: "other tools are offered, and they stand before all messages",
}

_MEND: Final = {
    CacheBreakKind.MACRO: "put the macro behind the history, such as into the author's note or the last prompt",
    CacheBreakKind.ENTRY: "place the entry behind the history or at depth 0, or make it constant",
    CacheBreakKind.DEPTH: "place the text behind the history or at depth 0, or before the history where it never changes",
    CacheBreakKind.TRIM: 'trim in steps: strategy "stepped" of the step trimming moves the cut once in many turns',
    CacheBreakKind.TEXT: "put what changes behind what stays",
    CacheBreakKind.TOOLS: "offer the same tools in the same order in every turn",
}


class CacheBreak(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first message that differs (from 0), the text that moved it, and how to mend it. ``lost`` are the tokens behind it."""

    kind: CacheBreakKind
    index: int
    block_id: str
    source: str
    why: str
    mend: str
    lost: int
    macro: str | None = None


class Breakpoint(msgspec.Struct, frozen=True):
    """A mark behind a message: its index from 0, the block, and the tokens up to there."""

    index: int
    block_id: str
    tokens: int


class CachePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The prediction for one prompt, in tokens: ``read`` from the cache, ``written`` to it, ``paid`` in full; together ``total``.

    ``cost`` is in US dollars by the catalogue, ``uncached_cost`` without any cache; ``None`` where nobody knows a price.
    ``minimum`` is the length below which nothing is cached.
    """

    provider: str
    model: str | None
    rule: CacheRule
    lifetime: str
    minimum: int
    total: int
    read: int
    written: int
    paid: int
    cost: float | None
    uncached_cost: float | None
    breakpoints: tuple[Breakpoint, ...] = ()
    cause: CacheBreak | None = None
    notes: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The part that is read from the cache, from 0 to 1."""
        return self.read / self.total if self.total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        return {**facts, "share": self.share}

    def table(self) -> TextTable:
        """The prediction as a table."""
        rows: list[tuple[str, int | str]] = [
            ("read from the cache", self.read),
            ("written to it", self.written),
            ("paid in full", self.paid),
        ]
        if self.cost is not None and self.uncached_cost is not None:
            rows.append(("cost", f"{money(self.cost)} instead of {money(self.uncached_cost)}"))
        rows += [(f"mark behind message {mark.index + 1}", mark.tokens) for mark in self.breakpoints]
        if self.cause is not None:
            rows += [("ends at", f"message {self.cause.index + 1}: {self.cause.why}"), ("mend", self.cause.mend)]
        rows += [("note", note) for note in self.notes]
        return TextTable(f"cache of {self.provider}", ("", "tokens"), tuple(rows))

    def __str__(self) -> str:
        """The table as text."""
        return self.table().to_text()

    def mark(self, plan: Plan) -> Plan:
        """Return the plan with the marks, which its dialect writes into the body. Raises `UsageError` for another plan."""
        marks = {mark.block_id for mark in self.breakpoints}
        if not marks <= {block.id for block in plan.enabled_blocks}:
            raise UsageError("these marks belong to another plan", hint="make the cache plan of this one")
        control: Any = {"type": "ephemeral", **({"ttl": self.lifetime} if self.lifetime != "5m" else {})}
        return plan.with_blocks(
            block.with_(message_metadata={**block.message_metadata, "cache_control": control}, pieces=block.pieces)
            if block.enabled and block.id in marks
            else block
            for block in plan.blocks
        )


def cache_plan(
    plan: Plan,
    provider: str | None = None,
    previous: Plan | None = None,
    *,
    lifetime: str | None = None,
    counter: TokenCounter | None = None,
) -> CachePlan:
    """Predict what a provider's cache does for a plan, after ``previous`` was sent with the same rule.

    ``provider`` is that of the request where none is given. ``lifetime`` is one of the provider's, such as ``1h``. Raises
    `UsageError` where no provider is known, `UnknownNameError` for one without a rule and for another lifetime.
    """
    name = provider or (plan.request.provider if plan.request is not None else None)
    if name is None:
        raise UsageError("no provider is known for this plan", hint='name one: plan.cache_plan("anthropic")')
    rule = cache_rule(name, plan.model)
    life, minimum = rule.lifetime(lifetime), rule.minimum_of(plan.model)
    costing = costing_of(plan, counter)
    blocks, before = _as_sent(plan, name), None if previous is None else _as_sent(previous, name)
    tools = costing.tool_tokens(plan.tools)
    ends = list(accumulate(costing.totals(blocks), initial=tools))
    total = ends[-1] + marks_of(plan, costing, ends[-1]) + costing.option_tokens(plan.options) + costing.framing.reply
    has_tools = previous is not None and previous.tools == plan.tools
    end = prefix_end(before, blocks) if before is not None and has_tools else PrefixEnd(0)
    shared = ends[end.index] + end.tokens(costing) if has_tools else 0
    if has_tools and end.block is None and (end.index == len(blocks) or blocks[end.index].role == "assistant"):
        shared += costing.framing.reply  # the prompt before ended with the start of this message
    marks: tuple[Breakpoint, ...] = ()
    if rule.mode == "breakpoints":
        old = [] if before is None else [index for index in _stable_ends(before) if index < end.index]
        own = dict(zip(map(attrgetter("id"), plan.blocks), plan.blocks, strict=True))
        # a text that was joined of several blocks has no block of its own that a mark could stand on
        free = [n for n in sorted({*_stable_ends(blocks), *old}) if own.get(blocks[n].id) == blocks[n]]
        long = [n for n in free if ends[n + 1] >= minimum][-rule.breakpoints :]
        marks = tuple([Breakpoint(n, blocks[n].id, ends[n + 1]) for n in long])
        read = max((mark.tokens for mark in marks if mark.index in old), default=0)
        stored = marks[-1].tokens if marks else 0
    else:
        read = shared // rule.step * rule.step if shared >= minimum else 0
        stored = total // rule.step * rule.step if total >= minimum else 0
    written = max(stored - read, 0)
    cost = _cost(rule, plan.model, read, written, total - read - written, life.write)
    return CachePlan(
        provider=name,
        model=plan.model,
        rule=rule,
        lifetime=life.name,
        minimum=minimum,
        total=total,
        read=read,
        written=written,
        paid=total - read - written,
        cost=cost,
        uncached_cost=_cost(rule, plan.model, 0, 0, total, 1.0),
        breakpoints=marks,
        cause=None if before is None else _cause(before, blocks, end, total - shared, same_tools=has_tools),
        notes=tuple(_notes(rule, total, minimum)),
    )


def _notes(rule: CacheRule, total: int, minimum: int) -> list[str]:
    short = [f"nothing below {minimum:,} tokens is cached"] if total < minimum else []
    key = [f"send {rule.key}, one for each chat"] if rule.key else []
    return [*short, *key, rule.note]


def _cost(rule: CacheRule, model: str | None, read: int, written: int, paid: int, write: float) -> float | None:
    price = known_model(model).price if model else None
    if price is None or price.provider not in rule.providers:
        return None
    if price.long is not None and read + written + paid > price.long.above:
        rate, cached = price.long.input, price.long.input * rule.read
    else:
        rate, cached = price.input, price.input * rule.read if price.cached is None else price.cached
    return (read * cached + written * rate * write + paid * rate) / MILLION


# --------------------------------------------------------------------------------------------------------------- marks


_APART: Final = frozenset({"anthropic", "gemini", "google"})
"""Providers whose dialects send system texts apart, before all messages."""


def _as_sent(plan: Plan, provider: str) -> tuple[Block, ...]:
    """The blocks in the order of the provider's body."""
    blocks = plan.sent_blocks()
    if provider not in _APART or plan.dialect not in {None, "openai", *_APART}:
        return blocks
    others = [block for block in blocks if block.role != "system"]
    return (*[block for block in blocks if block.role == "system"], *others)


def _stable_ends(blocks: Sequence[Block]) -> list[int]:
    """The last message before the history, and the last two before a text that moves with every message."""
    groups, history, in_chat = [block.group for block in blocks], BudgetGroup.HISTORY.value, InsertionPoint.IN_CHAT
    if history not in groups:
        return [len(blocks) - 1] if blocks else []
    first = groups.index(history)
    moving = first + 1
    for block in blocks[moving:]:  # behind the first, what moves is in the chat, or no message of it
        if block.group != history or block.insertion_point is in_chat:
            break
        moving += 1
    return sorted({index for index in (first - 1, moving - 2, moving - 1) if index >= 0})


def _moves(blocks: Sequence[Block], index: int, history: int) -> bool:
    """Whether a message stands among or behind those of the history without being one, or at a depth of it."""
    block = blocks[index]
    if block.depth > 0 and block.group != BudgetGroup.HISTORY:
        return True
    return index > history and (block.insertion_point is InsertionPoint.IN_CHAT or block.group != BudgetGroup.HISTORY)


# --------------------------------------------------------------------------------------------------------------- cause


def _cause(
    before: Sequence[Block], after: Sequence[Block], end: PrefixEnd, lost: int, *, same_tools: bool
) -> CacheBreak | None:
    """What ended the common part; None where the new prompt only goes on."""
    if not same_tools:
        kind = CacheBreakKind.TOOLS
        return CacheBreak(kind, 0, "", "tools", _WHY[kind], _MEND[kind], lost)
    if end.block is None:
        return None
    origin = end.block.origin_at(end.offset)
    moving = _moving(before, after, end.index)
    start = [
        next((n for n, one in enumerate(side) if one.group == BudgetGroup.HISTORY), -1) for side in (before, after)
    ]
    if moving is not None:
        kind, origin = CacheBreakKind.DEPTH, moving.origin
    elif end.change is PrefixChange.REMOVED and end.index == start[0] == start[1]:
        kind = CacheBreakKind.TRIM
    elif origin is not None and origin.asset == OriginAsset.LOREBOOK:
        kind = CacheBreakKind.ENTRY
    else:
        kind = CacheBreakKind.MACRO if origin is not None and origin.macro else CacheBreakKind.TEXT
    macro = origin.macro if origin is not None and kind is CacheBreakKind.MACRO else None
    block = moving or end.block
    source = str(msgspec.structs.replace(origin, macro=None)) if origin else block.slot or block.id
    return CacheBreak(
        kind=kind,
        index=end.index,
        block_id=block.id,
        source=source,
        why=_WHY[kind].format(macro=macro, source=source),
        mend=_MEND[kind],
        lost=lost,
        macro=macro,
    )


def _moving(before: Sequence[Block], after: Sequence[Block], index: int) -> Block | None:
    """The text at a depth of the chat that stands where a message of the chat was, or will be; None where there is none."""
    pair = [side[index] if index < len(side) else None for side in (before, after)]
    if not any(block is not None and block.group == BudgetGroup.HISTORY for block in pair):
        return None
    for block, side in zip(pair, (before, after), strict=True):
        start = next((n for n, one in enumerate(side) if one.group == BudgetGroup.HISTORY), len(side))
        if block is not None and _moves(side, index, start):
            return block
    return None
