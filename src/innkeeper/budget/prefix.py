"""PrefixReport: how much of a plan a provider's prefix cache can serve, since the plan before it began the same way."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from operator import attrgetter, is_
from typing import Any, Final

import msgspec

from innkeeper.budget.accounting import costing_of
from innkeeper.budget.costing import Costing
from innkeeper.prompt import Block, Plan, TokenCounter
from innkeeper.prompt.block import Origin
from innkeeper.prompt.data import to_json


class PrefixChange(StrEnum):
    """How the first message that differs was changed."""

    CHANGED = "changed"
    """It has another text."""
    ADDED = "added"
    """It is new; the message that was at its position follows."""
    REMOVED = "removed"
    """The message at its position was removed, and the following moved up."""


class PrefixReport(msgspec.Struct, frozen=True, kw_only=True):
    """The reusable beginning, as tokens and as bytes of the messages' JSON, and what ended it.

    ``index`` is the first message that differs (from 0), ``offset`` the first character of its text that does. ``block_id``,
    ``slot`` and ``origin`` (asset, field, entry, macro) are of the block that caused it: the new one, or the one that is gone.
    All are ``None`` where the new plan begins with the whole of the previous one.
    """

    shared_tokens: int
    total_tokens: int
    shared_bytes: int
    total_bytes: int
    index: int | None = None
    offset: int | None = None
    change: PrefixChange | None = None
    block_id: str | None = None
    slot: str | None = None
    origin: Origin | None = None

    @property
    def share(self) -> float:
        """The reusable part of the new plan, from 0 to 1, by bytes."""
        return self.shared_bytes / self.total_bytes if self.total_bytes else 1.0

    @property
    def token_share(self) -> float:
        """The same by tokens."""
        return self.shared_tokens / self.total_tokens if self.total_tokens else 1.0

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        return {**facts, "share": self.share, "token_share": self.token_share}


def prefix_report(
    previous: Plan, plan: Plan, counter: TokenCounter | None = None, *, model: str | None = None
) -> PrefixReport:
    """Compare two plans as they are sent, message by message, the earlier one first.

    ``counter`` is the built-in one where none is given, ``model`` the new plan's.
    """
    before, after = previous.sent_blocks(), plan.sent_blocks()
    end = prefix_end(before, after)
    texts = [to_json(block.message()) + b"," for block in after]
    costing = costing_of(plan, counter)
    costing = costing if model is None else msgspec.structs.replace(costing, model=model)
    costs = costing.totals(after)
    report = PrefixReport(
        shared_tokens=sum(costs[: end.index]) + end.tokens(costing),
        total_tokens=sum(costs),
        shared_bytes=sum(map(len, texts[: end.index])),
        total_bytes=sum(map(len, texts)),
    )
    if end.block is None:
        return report
    if end.shared:
        same = _common(to_json(before[end.index].message()) + b",", texts[end.index])
        report = msgspec.structs.replace(report, shared_bytes=report.shared_bytes + same)
    return msgspec.structs.replace(
        report,
        index=end.index,
        offset=end.offset,
        change=end.change,
        block_id=end.block.id,
        slot=end.block.slot,
        origin=end.block.origin_at(end.offset),
    )


class PrefixEnd(msgspec.Struct, frozen=True):
    """Where two prompts part: how many messages they share, and the block that ended it, None where the first only goes on.

    ``shared`` is the beginning of a text that both have there, whether one was changed into the other or not.
    """

    index: int
    change: PrefixChange | None = None
    block: Block | None = None
    shared: str = ""

    @property
    def offset(self) -> int:
        """The first character of the block that differs: 0 for one that is new or gone."""
        return len(self.shared) if self.change is PrefixChange.CHANGED else 0

    def tokens(self, costing: Costing) -> int:
        """The tokens of the part of a message that is shared."""
        return costing.counter.count(self.shared, costing.model) if self.shared else 0


_SENT: Final = attrgetter("role", "content", "name", "attachments", "message_metadata")
"""What a model is sent of a block."""


def prefix_end(before: Sequence[Block], after: Sequence[Block]) -> PrefixEnd:
    """Find where two prompts part, as their blocks are sent."""
    others = [n for n, same in enumerate(map(is_, before, after)) if not same]  # most blocks are the very same
    shortest = min(len(before), len(after))
    index = next((n for n in others if _SENT(before[n]) != _SENT(after[n])), shortest)
    if index == len(before):
        return PrefixEnd(index)
    change = _change(before, after, index)
    cause = before[index] if change is PrefixChange.REMOVED else after[index]
    shared = ""
    if index < len(after) and before[index].role == after[index].role:
        shared = after[index].content[: _common(before[index].content, after[index].content)]
    return PrefixEnd(index, change, cause, shared)


def _common(a: str | bytes, b: str | bytes) -> int:
    """The length of the common prefix, by bisection."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def _change(before: Sequence[Block], after: Sequence[Block], index: int) -> PrefixChange:
    if index == len(after) or _SENT(after[index]) in map(_SENT, before[index + 1 :]):
        return PrefixChange.REMOVED
    return PrefixChange.ADDED if _SENT(before[index]) in map(_SENT, after[index + 1 :]) else PrefixChange.CHANGED
