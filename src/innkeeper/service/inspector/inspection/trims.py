"""Trims: what was left out of a prompt to fit its window, and where it would have stood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from innkeeper.budget import TrimReport
from innkeeper.prompt import Plan
from innkeeper.prompt.block import Block, BudgetGroup
from innkeeper.service.inspector.views.inspection import Trim
from innkeeper.service.inspector.views.workspace import view_of

MAX_TRIM_TEXT: Final = 2_000
"""Characters of a text that was left out (no error: the file has the rest)."""


def trims_of(plan: Plan) -> tuple[Trim, ...]:
    """What was left out, in the order of the prompt."""
    report = plan.trim_report
    if not isinstance(report, TrimReport) or not report.evictions:
        return ()
    blocks = {block.id: block for block in plan.blocks}
    positions = _positions(plan, [blocks[record.block_id] for record in report.evictions if record.block_id in blocks])
    trims = [
        view_of(
            Trim,
            record,
            reason=str(record.reason),
            text=block.content[:MAX_TRIM_TEXT],
            role=block.role,
            before=positions[block.id],
        )
        for record in report.evictions
        if (block := blocks.get(record.block_id)) is not None
    ]
    end = len(plan.blocks)
    return tuple(sorted(trims, key=lambda trim: (end if trim.before is None else trim.before, _number(trim.block_id))))


def _positions(plan: Plan, left_out: Sequence[Block]) -> dict[str, int | None]:
    """The index of the message that each would have stood before.

    A tavern leaves it where it stood, or puts it at the end: then it belongs before the next message of the chat, or behind the
    last one of its slot.
    """
    indexes = {block.id: index for index, block in enumerate(plan.sent_blocks())}
    sent = [(block, indexes[block.id]) for block in plan.enabled_blocks if block.id in indexes]
    history = [(_number(block.id), index) for block, index in sent if block.group == BudgetGroup.HISTORY]
    behind = {block.slot: index + 1 for block, index in sent}
    first = next((index for block, index in sent if block.group == BudgetGroup.HISTORY), None)
    following = dict(_following(plan, indexes))

    def position(block: Block) -> int | None:
        if following[block.id] is not None:
            return following[block.id]
        if block.group == BudgetGroup.HISTORY:
            return next((index for number, index in history if number > _number(block.id)), None)
        return behind.get(block.slot, first)

    return {block.id: position(block) for block in left_out}


def _following(plan: Plan, indexes: dict[str, int]) -> Iterator[tuple[str, int | None]]:
    """The index of the message behind each block."""
    index: int | None = None
    for block in reversed(plan.blocks):
        index = indexes.get(block.id, index) if block.enabled else index
        yield block.id, index


def _number(name: str) -> int:
    """The number at the end of a block's id: that of a message of the chat."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < _DIGITS else -1


_DIGITS: Final = 12
