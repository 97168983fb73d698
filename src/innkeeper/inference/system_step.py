"""The step that puts a runner's own system text into a prompt, inside the pipeline, so that the budget counts it."""

from __future__ import annotations

from typing import Final

from innkeeper.prompt import Block, BudgetGroup, FrozenDict, NoConfig, Origin, Pipeline, State, Step, UsageError

__all__ = ["SYSTEM_SOURCE", "SYSTEM_STEP", "with_system"]

SYSTEM_STEP: Final = "runner_system"
SYSTEM_SOURCE: Final = "runner_system"

_AFTER: Final = "plan_assembly"
_BEFORE: Final = ("language_policy", "trimming", "max_tokens")
_HISTORY: Final = "history"


def with_system(pipeline: Pipeline, text: str | None) -> Pipeline:
    """``pipeline`` with a step that adds ``text`` as a system block before the history; itself when ``text`` is blank.

    The block goes after the tavern's own system text, and at the end when there is no history.
    """
    if text is not None and not isinstance(text, str):
        msg = f"system must be text, not {type(text).__name__}"
        raise UsageError(msg)
    if text is None or not text.strip():
        return pipeline
    step = Step(SYSTEM_STEP, lambda state, _config: _add(state, text), NoConfig)
    if _AFTER in pipeline:
        return pipeline.insert_after(_AFTER, step)
    anchor = next((name for name in pipeline.names if name in _BEFORE), None)
    return pipeline.append(step) if anchor is None else pipeline.insert_before(anchor, step)


def _add(state: State, text: str) -> None:
    block = Block(
        role="system",
        content=text,
        slot="system",
        group=BudgetGroup.SYSTEM,
        metadata=FrozenDict({"source": SYSTEM_SOURCE}),
        origin=Origin("request", "system"),
    )
    result = state.result
    if result.plan is not None:
        result.plan = result.plan.with_blocks(_placed(result.plan.blocks, block))
    if result.plan is None or result.blocks:
        result.blocks[:] = _placed(tuple(result.blocks), block)


def _placed(blocks: tuple[Block, ...], block: Block) -> list[Block]:
    place = next((i for i, other in enumerate(blocks) if other.slot == _HISTORY), None)
    if place is None:
        place = next((i for i, other in enumerate(blocks) if other.slot == "user_message"), len(blocks))
    return [*blocks[:place], block, *blocks[place:]]
