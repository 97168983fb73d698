"""PrefixReport: how much of a plan a provider's prefix cache can serve, since the plan before it began the same way."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from innkeeper.budget.costing import Costing, framing_of
from innkeeper.prompt import Block, Plan, TokenCounter
from innkeeper.prompt.block import Origin
from innkeeper.prompt.data import to_json
from innkeeper.tokens.counter import default_counter


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
    texts = [[to_json(block.message()) + b"," for block in blocks] for blocks in (before, after)]
    index = _first_difference(*texts)
    costing = Costing(counter=counter or default_counter(), model=model or plan.model, framing=framing_of(plan.dialect))
    costs = [cost.total for cost in costing.costs(after)]
    report = PrefixReport(
        shared_tokens=sum(costs[:index]),
        total_tokens=sum(costs),
        shared_bytes=sum(map(len, texts[1][:index])),
        total_bytes=sum(map(len, texts[1])),
    )
    if index == len(before):
        return report
    return _with_cause(report, before, after, texts, index, costing)


def _first_difference(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    pairs = zip(before, after, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _with_cause(
    report: PrefixReport,
    before: Sequence[Block],
    after: Sequence[Block],
    texts: Sequence[Sequence[bytes]],
    index: int,
    costing: Costing,
) -> PrefixReport:
    change = _change(texts[0], texts[1], index)
    cause = before[index] if change is PrefixChange.REMOVED else after[index]
    offset = 0
    if change is PrefixChange.CHANGED and before[index].role == cause.role:
        offset = _common(before[index].content, cause.content)
        report = _plus_part(report, texts, index, cause.content[:offset], costing)
    return msgspec.structs.replace(
        report,
        index=index,
        offset=offset,
        change=change,
        block_id=cause.id,
        slot=cause.slot,
        origin=cause.origin_at(offset),
    )


def _plus_part(
    report: PrefixReport, texts: Sequence[Sequence[bytes]], index: int, shared: str, costing: Costing
) -> PrefixReport:
    """With the part of the differing message that is still the same."""
    same = _common(texts[0][index], texts[1][index])
    tokens = costing.counter.count(shared, costing.model) if shared else 0
    return msgspec.structs.replace(
        report, shared_bytes=report.shared_bytes + same, shared_tokens=report.shared_tokens + tokens
    )


def _common(a: str | bytes, b: str | bytes) -> int:
    """The length of the common prefix, by bisection."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def _change(before: Sequence[bytes], after: Sequence[bytes], index: int) -> PrefixChange:
    if index == len(after) or after[index] in before[index + 1 :]:
        return PrefixChange.REMOVED
    return PrefixChange.ADDED if before[index] in after[index + 1 :] else PrefixChange.CHANGED
