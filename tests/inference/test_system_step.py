"""The runner's system text: counted by the budget where that is possible, and never lost, whatever the tavern."""

from typing import Any

import pytest

from innkeeper.inference.system_step import SYSTEM_SOURCE, place_system
from innkeeper.prompt import Block, BuildRequest, NoConfig, NoteKind, Pipeline, Plan, State, Step, UsageError, build
from innkeeper.taverns.silly import PIPELINE as SILLY


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
    """The step comes after assembly, else before the budget, else last; request and pipeline stay as they were."""
    request, pipeline = BuildRequest(), Pipeline(*map(step, names))
    same, changed = place_system(request, pipeline, "x")
    assert changed.names == (*names[:place], SYSTEM_SOURCE, *names[place:])
    assert (same, pipeline.names) == (request, tuple(names))


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_nothing_to_add(text: str | None) -> None:
    """Without text both are the same objects."""
    request, pipeline = BuildRequest(), Pipeline(step("a"))
    assert place_system(request, pipeline, text) == (request, pipeline)


def test_text_only() -> None:
    """Anything but text is a mistake."""
    with pytest.raises(UsageError, match="system must be text, not int"):
        place_system(BuildRequest(), Pipeline(), 3)  # type: ignore[arg-type]


ORDERS = {
    "before_history": (["system", "history", "history", "user_message"], 1),
    "before_the_message": (["system", "user_message"], 1),
    "after_everything": (["system", "lore"], 2),
    "alone": ([], 0),
}


@pytest.mark.parametrize("when", ["blocks", "plan", "late"])
@pytest.mark.parametrize(("slots", "place"), ORDERS.values(), ids=ORDERS)
def test_place_in_the_prompt(slots: list[str], place: int, when: str) -> None:
    """The block stands before the history, else before the user's message, else last; a plan made late gets it, with a note."""

    def assemble(state: State, config: Any) -> None:
        state.result.blocks = blocks(*slots)
        if when == "plan":
            plan_of(state, config)

    def finish(state: State, config: Any) -> None:
        if when == "late":
            state.result.blocks = blocks(*slots)
        plan_of(state, config)

    request, pipeline = place_system(
        BuildRequest(), Pipeline(step("plan_assembly", assemble), step("trimming", finish)), "Be brief."
    )
    plan = build(request, pipeline)
    assert [block.source for block in plan.blocks].index(SYSTEM_SOURCE) == place
    assert len(plan.blocks) == len(slots) + 1
    late = [note for note in plan.notes if note.kind is NoteKind.FALLBACK]
    assert len(late) == (when == "late")


def test_a_tavern_that_injects() -> None:
    """Where the tavern injects, the text is an injection before its main prompt: its own steps place and count it."""
    base = BuildRequest(
        tavern="silly",
        character={
            "spec": "chara_card_v2",
            "spec_version": "2.0",
            "data": {"name": "Wenna", "description": "Keeps bees."},
        },
        user={"name": "Alice"},
        message="Hello.",
    )
    request, pipeline = place_system(base, SILLY, "Be brief.")
    assert pipeline is SILLY
    assert base.injections == ()
    plan = build(request, pipeline)
    found = [index for index, block in enumerate(plan.blocks) if "Be brief." in block.content]
    said = [index for index, block in enumerate(plan.blocks) if block.content == "Hello."]
    assert len(found) == 1
    assert found < said
