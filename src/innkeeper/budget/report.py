"""TrimReport: what trimming did, block by block (2-wave4-contracts, *Trimmer Contract*, *Observability*)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from innkeeper.prompt import Block, State


class EvictionReason(StrEnum):
    """Why a block was evicted."""

    BUDGET_EXCEEDED = "budget_exceeded"
    """It was its group's turn, and it was the oldest."""
    GROUP_OVERFLOW = "group_overflow"
    """Its bundle had to go, and bundles go whole."""
    TOOL_PAIR = "tool_pair"
    """A tool call or its result had to go, and they go together."""
    PRIORITY_CUTOFF = "priority_cutoff"
    """Its priority was the lowest."""
    STEP_CUT = "step_cut"
    """It lies before the cut, which moves in steps."""


class EvictionRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One evicted block.

    ``reason`` is an `EvictionReason`, or a word of the strategy that chose it; ``budget_group`` is the pass the block belonged
    to; ``priority`` is set by a strategy that looks at it.
    """

    block_id: str
    slot: str | None
    token_count: int
    reason: str
    budget_group: str
    priority: int | None = None
    source: str | None = None
    bundle: str | None = None


class GroupTotal(msgspec.Struct, frozen=True):
    """One budget group as the blocks name it: tokens before and after, number of blocks kept and evicted."""

    group: str
    initial_tokens: int
    final_tokens: int
    kept: int
    evicted: int


class TrimReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome in numbers, in tokens.

    ``initial_tokens`` and ``final_tokens`` are sums over enabled blocks plus ``fixed_tokens`` (the start of the reply, tools).
    ``sent_tokens``, where it was counted, is the same prompt after neighbouring in-chat blocks were joined to messages.
    ``max_tokens`` is the window; ``None`` when only a budget was given. ``filled_tokens`` are the messages as the original of a
    tavern counts them, which decided what was left out of a prompt that is filled its way.
    """

    strategy: str
    budget_tokens: int
    max_tokens: int | None
    reserve_tokens: int
    initial_tokens: int
    final_tokens: int
    fixed_tokens: int = 0
    sent_tokens: int | None = None
    filled_tokens: int | None = None
    evictions: tuple[EvictionRecord, ...] = ()
    groups: tuple[GroupTotal, ...] = ()
    tokenizer: str | None = None
    exact: bool = False

    @property
    def eviction_count(self) -> int:
        """The number of evicted blocks."""
        return len(self.evictions)

    @property
    def tokens_saved(self) -> int:
        """The tokens of the evicted blocks."""
        return self.initial_tokens - self.final_tokens

    @property
    def was_over_budget(self) -> bool:
        """Whether anything had to go (TavernKit calls this ``over_budget?``)."""
        return self.initial_tokens > self.budget_tokens

    @property
    def fits(self) -> bool:
        """Whether what is left fits, as blocks and, where that was counted, as messages."""
        return max(self.final_tokens, self.sent_tokens or 0) <= self.budget_tokens

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data, with the figures that follow from others."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        derived = ("eviction_count", "tokens_saved", "was_over_budget", "fits")
        return {**facts, **{name: getattr(self, name) for name in derived}}


class TrimResult(msgspec.Struct, frozen=True):
    """``kept`` and ``evicted`` (as disabled copies) are the enabled blocks; ``blocks`` are all, in their order."""

    kept: tuple[Block, ...]
    evicted: tuple[Block, ...]
    blocks: tuple[Block, ...]
    report: TrimReport


def tell_report(state: State, report: TrimReport) -> None:
    """The stats of a trimming step (2-wave4-contracts, *Observability*)."""
    for key in ("budget_tokens", "initial_tokens", "final_tokens", "eviction_count"):
        state.stat(key, getattr(report, key))
