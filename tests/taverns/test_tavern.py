"""The fluent builder."""

from typing import Any

import pytest

from innkeeper.prompt import (
    Block,
    BuildRequest,
    InMemoryVariables,
    NoConfig,
    NoteKind,
    Pipeline,
    Plan,
    ReplayError,
    State,
    Step,
    UnknownNameError,
    UsageError,
)
from innkeeper.taverns import replay, vibe
from innkeeper.taverns.inputs import note_unused
from innkeeper.taverns.tavern import Tavern


def _note(state: State, config: NoConfig) -> None:
    state.scratch["noted"] = True


MINE = Step("mine", _note, NoConfig)


def test_chains() -> None:
    """Every setter returns the builder, and the plan has what they set."""
    plan = (
        vibe.builder(strict=True)
        .history([{"role": "assistant", "content": "Hi"}])
        .message("Hello")
        .meta("system_template", "S")
        .meta({"post_history_template": "P"})
        .set(model="m", seed=0)
        .build()
    )
    assert [block.content for block in plan.blocks] == ["S", "Hi", "P", "Hello"]
    assert plan.model == "m"


def test_builds_once() -> None:
    """A second build is refused, and so is any change after the first."""
    builder = vibe.builder().message("a")
    builder.build()
    for again in (
        builder.build,
        builder.to_messages,
        lambda: builder.message("b"),
        lambda: builder.remove_step("prepare"),
    ):
        with pytest.raises(UsageError, match="has built"):
            again()


def test_unknown_setters() -> None:
    """A setter that does not exist is named, with the nearest one."""
    with pytest.raises(AttributeError, match=r"histroy.*history"):
        vibe.builder().histroy([])
    with pytest.raises(UsageError, match="histroy"):
        vibe.builder(histroy=[])  # type: ignore[call-arg] # type checkers know the keywords, too
    assert not hasattr(vibe.builder(), "_secret")


def test_steps_change_on_a_copy() -> None:
    """Steps are inserted, replaced, configured and removed for this build only."""
    before = vibe.PIPELINE.names
    seen: list[str] = []
    plan = (
        vibe.builder(
            instrumenter=lambda event, **payload: seen.append(payload["name"]) if event == "step_start" else None
        )
        .message("a")
        .insert_step_before("plan_assembly", MINE)
        .insert_step_after("plan_assembly", Step("other", _note, NoConfig))
        .replace_step("other", Step("another", _note, NoConfig))
        .configure_step("language_policy", enabled=True, target_lang="fr")
        .build()
    )
    assert seen[:4] == ["prepare", "mine", "plan_assembly", "another"]
    assert plan.blocks[0].slot == "language_policy"
    assert vibe.PIPELINE.names == before
    assert vibe.builder().message("a").remove_step("language_policy").build().blocks
    with pytest.raises(UnknownNameError):
        vibe.builder().message("a").remove_step("nothing").build()


def test_defect_b25_a_pipeline_without_a_language_policy() -> None:
    """A pipeline without that step builds, also when the context has a policy (B25)."""
    context = {"language_policy": {"enabled": True, "target_lang": "ja"}}
    plan = vibe.builder(context=context).message("a").remove_step("language_policy").build()
    assert [block.slot for block in plan.blocks] == ["user_message"]


def test_variables_before_the_build() -> None:
    """Variables go to the store where there is one, else into the request."""
    store = InMemoryVariables()
    vibe.builder().variables_store(store).set_variable("a", 1).set_variables({"b": 2}, "global")
    assert store.to_dict() == {"local": {"a": 1}, "global": {"b": 2}}
    plan = (
        vibe.builder()
        .set_variable("a", 1)
        .set_variable("b", 2)
        .meta("system_template", "{{ var.a }}{{ var.b }}")
        .build()
    )
    assert plan.blocks[0].content == "12"


@pytest.mark.parametrize(
    ("call", "field", "value"),
    [
        (lambda b: b.lore_book({"n": 1}).lore_books([{"n": 2}]), "lorebooks", ({"n": 1}, {"n": 2})),
        (
            lambda b: b.authors_note(position="in_chat", depth=2, role=None),
            "authors_note",
            {"position": "in_chat", "depth": 2},
        ),
        (lambda b: b.authors_note("text"), "authors_note", "text"),
        (lambda b: b.authors_note(depth=None), "authors_note", None),
        (lambda b: b.set_var("Mood", 1).set_var("b", 2), "macro_vars", {"mood": 1, "b": 2}),
        (lambda b: b.strict(), "strict", True),
        (lambda b: b.strict(strict=False), "strict", False),
    ],
)
def test_special_setters(call: Any, field: str, value: Any) -> None:
    """Setters that add to what is there, or take parts."""
    plan = call(vibe.builder().message("a")).build()
    assert plan.request is not None
    assert getattr(plan.request, field) == value


def test_context_and_configs() -> None:
    """The context is set, and ``configs`` are merged over it, in either order."""
    wanted = {"language_policy": {"enabled": True, "target_lang": "ja", "style_hint": "formal"}}
    for builder in (
        vibe.builder().context(wanted).configs({"language_policy": {"style_hint": "casual"}}),
        vibe.builder().configs({"language_policy": {"style_hint": "casual"}}).context(wanted),
    ):
        assert "Style: casual." in builder.message("a").build().blocks[0].content
    with pytest.raises(UsageError):
        vibe.builder().context([1])  # type: ignore[arg-type]  # that is the point


def test_to_messages_tells_the_steps_the_dialect() -> None:
    """A dialect asked for at the end is part of the request, unless another was set."""
    shape = vibe.builder().message("a").to_messages("anthropic")
    assert set(shape) == {"system", "messages"}
    assert vibe.builder().message("a").to_messages() == [{"role": "user", "content": "a"}]


def test_configured_steps_are_replayed() -> None:
    """Options of steps are data: a replay builds with them. Other steps are not, and the plan says so."""
    plan = vibe.builder(message="Hi").configure_step("language_policy", enabled=True, target_lang="fr").build()
    assert plan.unreplayable == ()
    assert replay(plan.replay()).fingerprint() == plan.fingerprint()
    without = vibe.builder(message="Hi").configure_step("max_tokens", mode="off").remove_step("max_tokens").build()
    assert without.unreplayable == ("pipeline",)
    with pytest.raises(ReplayError, match="pipeline"):
        without.replay()


def test_options_of_a_step_that_is_not_there() -> None:
    """A name that the tavern does not have is refused."""
    with pytest.raises(UnknownNameError):
        vibe.builder(message="Hi").configure_step("nowhere", x=1).build()


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
    plan = ECHO.build(message="a", preset={"name": "p"}, expander=object())  # type: ignore[call-arg] # nothing new is to be written so
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
