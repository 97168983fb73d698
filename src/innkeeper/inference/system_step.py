"""A runner's own system text in a prompt: put there by the tavern or by a step, so that the budget counts it."""

from __future__ import annotations

from typing import Final

from innkeeper.prompt import (
    Block,
    BudgetGroup,
    BuildRequest,
    FrozenDict,
    Injection,
    InjectionPosition,
    NoConfig,
    NoteKind,
    Origin,
    Pipeline,
    State,
    Step,
    UsageError,
)

__all__ = ["SYSTEM_SOURCE", "place_system"]

SYSTEM_SOURCE: Final = "runner_system"
"""The id of the injection, the name of the step, and the source of its block."""

_INJECTS: Final = "injection"
_AFTER: Final = "plan_assembly"
_BEFORE: Final = ("language_policy", "trimming", "max_tokens")


def place_system(request: BuildRequest, pipeline: Pipeline, text: str | None) -> tuple[BuildRequest, Pipeline]:
    """The request and the steps that put ``text`` into the prompt; both as they are when it is blank.

    A tavern that injects gets an injection before its main prompt. Any other gets a step: the block goes before the history,
    after the tavern's own system text.
    """
    if text is not None and not isinstance(text, str):
        msg = f"system must be text, not {type(text).__name__}"
        raise UsageError(msg)
    if text is None or not text.strip():
        return request, pipeline
    if _INJECTS in pipeline:
        injection = Injection(SYSTEM_SOURCE, text, InjectionPosition.BEFORE)
        return request.with_(injections=(*request.injections, injection)), pipeline
    return request, _with_step(pipeline, text)


def _with_step(pipeline: Pipeline, text: str) -> Pipeline:
    block = Block(
        role="system",
        content=text,
        id=SYSTEM_SOURCE,
        slot="system",
        group=BudgetGroup.SYSTEM,
        metadata=FrozenDict({"source": SYSTEM_SOURCE}),
        origin=Origin("request", "system"),
    )
    step = Step(SYSTEM_SOURCE, lambda state, _: _add(state, block), NoConfig, lambda state, _: _ensure(state, block))
    if _AFTER in pipeline:
        return pipeline.insert_after(_AFTER, step)
    anchor = next((name for name in pipeline.names if name in _BEFORE), None)
    return pipeline.append(step) if anchor is None else pipeline.insert_before(anchor, step)


def _add(state: State, block: Block) -> None:
    result = state.result
    if result.plan is not None:
        result.plan = result.plan.with_blocks(_placed(result.plan.blocks, block))
    if result.plan is None or result.blocks:
        result.blocks[:] = _placed(tuple(result.blocks), block)


def _ensure(state: State, block: Block) -> None:
    """A plan that was made by a later step, from something else than the blocks, gets the text when all is done."""
    plan = state.result.plan
    if plan is not None and all(other.id != block.id for other in plan.blocks):
        state.result.plan = plan.with_blocks(_placed(plan.blocks, block))
        state.note(NoteKind.FALLBACK, "the system text was added after the budget was checked")


def _placed(blocks: tuple[Block, ...], block: Block) -> list[Block]:
    slots = [other.slot for other in blocks]
    place = next((slots.index(slot) for slot in ("history", "user_message") if slot in slots), len(blocks))
    return [*blocks[:place], block, *blocks[place:]]
