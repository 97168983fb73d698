"""The runner's system text: before the history, wherever the tavern makes its plan, and before the budget is checked."""

from typing import Any

import pytest

from innkeeper.inference.system_step import SYSTEM_SOURCE, SYSTEM_STEP, with_system
from innkeeper.prompt import Block, BuildRequest, NoConfig, Pipeline, Plan, State, Step, build


def step(name: str, work: Any = None) -> Step[NoConfig]:
    """A step that does ``work``, or nothing."""
    return Step(name, work or (lambda _state, _config: None), NoConfig)


def blocks(*slots: str) -> list[Block]:
    """A block for each slot."""
    return [Block(role="user", content=slot, slot=slot) for slot in slots]


def plan_of(state: State, _config: Any) -> None:
    """A last step that makes the plan from the blocks."""
    if state.result.plan is None:
        state.result.plan = Plan(blocks=tuple(state.result.blocks))


PLACES = {
    "after_assembly": (["prepare", "plan_assembly", "language_policy", "max_tokens"], 2),
    "before_the_budget": (["entries", "compilation", "trimming"], 2),
    "at_the_end": (["entries", "compilation"], 2),
}


@pytest.mark.parametrize(("names", "place"), PLACES.values(), ids=PLACES)
def test_place_in_the_pipeline(names: list[str], place: int) -> None:
    """The step comes after assembly, else before the budget, else last; the pipeline given stays as it was."""
    pipeline = Pipeline(*map(step, names))
    assert with_system(pipeline, "x").names == (*names[:place], SYSTEM_STEP, *names[place:])
    assert pipeline.names == tuple(names)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_nothing_to_add(text: str | None) -> None:
    """Without text the pipeline is the same one."""
    pipeline = Pipeline(step("a"))
    assert with_system(pipeline, text) is pipeline


ORDERS = {
    "before_history": (["system", "history", "history", "user_message"], 1),
    "before_the_message": (["system", "user_message"], 1),
    "after_everything": (["system", "lore"], 2),
    "alone": ([], 0),
}


@pytest.mark.parametrize("early", [False, True], ids=["blocks", "plan"])
@pytest.mark.parametrize(("slots", "place"), ORDERS.values(), ids=ORDERS)
def test_place_in_the_prompt(slots: list[str], place: int, early: bool) -> None:
    """The block stands before the history, else before the user's message, else last; in a plan and in loose blocks."""

    def assemble(state: State, config: Any) -> None:
        state.result.blocks = blocks(*slots)
        if early:
            plan_of(state, config)

    pipeline = Pipeline(step("plan_assembly", assemble), step("end", plan_of))
    plan = build(BuildRequest(), with_system(pipeline, "Be brief."))
    assert [block.source for block in plan.blocks].index(SYSTEM_SOURCE) == place
    assert len(plan.blocks) == len(slots) + 1
