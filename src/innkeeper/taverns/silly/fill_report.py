"""The plan of a filled prompt, with a `TrimReport`: a record for every block that stayed out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from innkeeper.budget.report import EvictionReason, EvictionRecord, TrimReport
from innkeeper.budget.strategy import Strategy
from innkeeper.prompt.block import Block
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.state import State

__all__ = ["FILL", "finish_plan"]

FILL: Final = "fill"
"""The strategy's name in reports: SillyTavern fills prompts rather than trimming them (`sillytavern.md` 47, 69)."""


def finish_plan(
    state: State,
    blocks: Iterable[Block],
    *,
    budget: int,
    window: int,
    final: int,
    evicted: Iterable[int],
    strategy: Strategy | None = None,
) -> None:
    """Set the plan and its report: ``final`` tokens of ``budget`` are used; ``evicted`` are those of the disabled blocks."""
    reason = strategy.reason if strategy else EvictionReason.BUDGET_EXCEEDED
    plan = Plan(blocks=tuple(blocks))
    absent = [block for block in plan.blocks if not block.enabled]
    records = tuple(_record(block, tokens, reason) for block, tokens in zip(absent, evicted, strict=True))
    state.result.plan = plan
    state.result.trim_report = TrimReport(
        strategy=strategy.name if strategy else FILL,
        budget_tokens=budget,
        max_tokens=window,
        reserve_tokens=max(window - budget, 0),
        initial_tokens=final + sum(record.token_count for record in records),
        final_tokens=final,
        evictions=records,
        tokenizer=state.request.model,
    )
    state.stat("plan_blocks", len(plan.blocks))
    state.stat("evictions", len(records))


def _record(block: Block, tokens: int, reason: EvictionReason) -> EvictionRecord:
    return EvictionRecord(
        block_id=block.id,
        slot=block.slot,
        token_count=tokens,
        reason=_reason(block.bundle) or reason,
        budget_group=block.group,
        source=block.source,
        bundle=block.bundle,
    )


def _reason(bundle: str | None) -> EvictionReason | None:
    if bundle is None:
        return None
    return EvictionReason.TOOL_PAIR if bundle.startswith("tools:") else EvictionReason.GROUP_OVERFLOW
