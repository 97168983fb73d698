"""AddedBlocks: what *after* hooks did to a finished plan, counted again, so that nothing escapes the budget."""

from __future__ import annotations

from typing import Any

import msgspec

from innkeeper.budget.report import TrimReport
from innkeeper.prompt.block import Block
from innkeeper.prompt.errors import MaxTokensExceededError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["recount"]


def recount(state: State, before: Plan, after: Plan, *, on_overflow: str) -> None:
    """Count the changed plan and correct its report. Only what the hooks added counts against them: a smaller plan passes.

    Hooks run last, so nothing is trimmed for them. Raises `MaxTokensExceededError` naming this step.
    """
    scene, report = scene_of(state), state.result.trim_report
    added = _tokens(scene, after) - _tokens(scene, before)
    used = report.final_tokens + added if isinstance(report, TrimReport) else _tokens(scene, after)
    if isinstance(report, TrimReport):
        state.result.trim_report = msgspec.structs.replace(
            report, final_tokens=used, initial_tokens=report.initial_tokens + added
        )
    if added > 0 and used > scene.inputs.context_tokens:
        _refuse(state, scene, used, on_overflow)


def _refuse(state: State, scene: Scene, used: int, on_overflow: str) -> None:
    window, budget = scene.inputs.max_context, scene.inputs.context_tokens
    if on_overflow == "error":
        raise MaxTokensExceededError(
            estimated_tokens=used,
            max_tokens=window,
            reserve_tokens=window - budget,
            step="hooks",
            hint="an after_build hook added more than fits: let it add less, or lower the preset's reply length",
        )
    state.warn(
        f"an after_build hook left {used:,} tokens where {budget:,} fit",
        kind=NoteKind.LIMIT,
        data={"needed": used, "budget": budget},
    )


def _tokens(scene: Scene, plan: Plan) -> int:
    return sum(scene.count(_facts(block)) for block in plan.sent_blocks())


def _facts(block: Block) -> dict[str, Any]:
    """What is counted of a block: as of a draft."""
    counted = {key: value for key, value in block.message_metadata.items() if key != "tool_call_id"}
    return {"role": block.role, "content": block.content, **({"name": block.name} if block.name else {}), **counted}
