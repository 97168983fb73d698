"""What all taverns have in common."""

import pytest

from innkeeper.prompt import Block, BuildRequest, NoConfig, NoteKind, Pipeline, Plan, State, Step
from innkeeper.taverns.tavern import Tavern, note_unused


def _make(state: State, config: NoConfig) -> None:
    note_unused(state, {"preset": "there is no order to set", "seed": "nothing is left to chance"})
    state.result.plan = Plan(blocks=(Block(role="user", content=state.request.message),))


ECHO = Tavern(name="echo", pipeline=Pipeline(Step("echo", _make, NoConfig)), summary="says it again")


def _empty(state: State, config: NoConfig) -> None:
    state.result.plan = Plan()


def test_builds_from_keywords_and_requests() -> None:
    """A tavern builds requests of its own name from whatever it is given."""
    for plan in (
        ECHO.build(message="a"),
        ECHO.build({"message": "a"}),
        ECHO.build(BuildRequest(message="b"), message="a"),
    ):
        assert plan.tavern == "echo"
        assert plan.messages[0].content == "a"
    assert ECHO.to_messages(message="a") == [{"role": "user", "content": "a"}]


def test_unused_fields_are_noted() -> None:
    """A field that is set without effect is noted with the reason; one at its default is not."""
    plan = ECHO.build(message="a", preset={"name": "p"}, expander=object())
    assert [note.message for note in plan.notes] == [
        "expander has no effect: macros are expanded by the tavern itself",
        "preset has no effect: there is no order to set",
    ]
    assert {note.kind for note in plan.notes} == {NoteKind.IGNORED}
    assert ECHO.build(message="a").notes == ()


@pytest.mark.parametrize(("generation", "blocks"), [("normal", 1), ("quiet", 0)])
def test_the_pipeline_can_depend_on_the_request(generation: str, blocks: int) -> None:
    """``choose`` gives each request its steps; a pipeline given by the caller comes before it."""
    quiet = Pipeline(Step("empty", _empty, NoConfig))
    tavern = Tavern(
        name="two",
        pipeline=ECHO.pipeline,
        choose=lambda request: quiet if request.generation == "quiet" else ECHO.pipeline,
    )
    assert len(tavern.build(message="a", generation=generation).blocks) == blocks
    assert tavern.build(message="a", generation=generation, pipeline=quiet).blocks == ()
