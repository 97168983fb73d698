"""build: one request through one pipeline."""

from datetime import UTC, datetime
from typing import Any

import pytest

from innkeeper.prompt import (
    Block,
    BuildRequest,
    Context,
    FormatError,
    FrozenDict,
    InMemoryHooks,
    InMemoryInjections,
    InMemoryVariables,
    Mulberry32,
    NoteKind,
    Pipeline,
    PipelineError,
    Plan,
    Ports,
    Randomness,
    ReplayError,
    State,
    Tool,
    TraceCollector,
    UsageError,
    build,
)
from innkeeper.prompt import determinism as clock_module
from tests.budget.doubles import Characters
from tests.prompt.doubles import BARE, step

NOW = "2026-01-15T12:00:00+00:00"


def _assemble(state: State) -> None:
    """A tavern in one step: the history, the message, a roll of the dice, the hour."""
    blocks = [Block.of_message(message, slot="history") for message in state.request.history]
    roll = state.inputs.random.stream("roll").random()
    text = f"{state.request.message} {roll:.6f} {state.inputs.clock.now.isoformat()} {state.variables.get('mood')}"
    state.variables.set("turns", len(blocks))
    state.result.plan = Plan(blocks=(*blocks, Block(role="user", content=text)))


PIPELINE = Pipeline(step("plan_assembly", _assemble))
REQUEST = BuildRequest.of(
    {
        "history": [{"role": "user", "content": "Hi"}],
        "message": "go",
        "seed": 7,
        "now": NOW,
        "options": {"temperature": 1},
    }
)


def test_the_same_request_gives_the_same_plan() -> None:
    """Clock and chance are in the request: two builds agree in everything."""
    assert build(REQUEST, PIPELINE) == build(REQUEST, PIPELINE)
    other = build(REQUEST.with_(seed=8), PIPELINE)
    assert other.blocks != build(REQUEST, PIPELINE).blocks


def test_looking_changes_nothing() -> None:
    """A trace makes no difference to the plan apart from itself."""
    plain, traced = build(REQUEST, PIPELINE), build(REQUEST, PIPELINE, Ports(instrumenter=TraceCollector()))
    assert traced.trace is not None
    assert traced.with_(trace=None) == plain


def test_the_plan_says_what_it_was_made_of() -> None:
    """Tavern, profile, model, dialect, options, variables and the request itself."""
    plan = build(REQUEST.with_(tavern="silly", profile="p", model="m", dialect="d"), PIPELINE)
    assert (plan.tavern, plan.profile, plan.model, plan.dialect) == ("silly", "p", "m", "d")
    assert plan.options == {"temperature": 1}
    assert plan.variables == {"local": {"turns": 1}, "global": {}}
    assert plan.request == REQUEST.with_(tavern="silly", profile="p", model="m", dialect="d")


def test_b9_whatever_a_step_warns_about_reaches_the_plan() -> None:
    """B9: warnings and notes of every step are in the plan, in their order, each with its step."""

    def expand(state: State) -> None:
        state.warn("unknown macro {{Foo}}")
        state.note(NoteKind.MACRO, "kept as it is")

    plan = build(REQUEST, Pipeline(step("macro_expansion", expand), *PIPELINE))
    assert [(note.message, note.step) for note in plan.warnings] == [("unknown macro {{Foo}}", "macro_expansion")]
    assert [(note.kind, note.step) for note in plan.notes] == [("macro", "macro_expansion")]


def test_without_a_moment_the_wall_clock_is_read_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan's request holds the moment, so that it can be built again."""
    monkeypatch.setattr(clock_module, "utc_now", lambda: datetime(2026, 1, 15, 12, tzinfo=UTC))
    plan = build(REQUEST.with_(now=None), PIPELINE)
    assert plan.request is not None
    assert plan.request.now == NOW
    assert build(plan.request, PIPELINE) == plan


def test_a_store_is_written_when_the_build_succeeds() -> None:
    """The chat's variables are read, recorded in the request, and written back once."""
    store = InMemoryVariables({"local": {"mood": "calm"}})
    plan = build(REQUEST, PIPELINE, Ports(variables=store))
    assert store.to_dict() == {"local": {"mood": "calm", "turns": 1}, "global": {}}
    assert plan.request is not None
    assert plan.request.variables == {"local": {"mood": "calm"}, "global": {}}
    assert build(plan.request, PIPELINE).blocks == plan.blocks


@pytest.mark.parametrize("commit", [True, False])
def test_a_failed_build_or_a_preview_writes_nothing(commit: bool) -> None:
    """What steps wrote before the failure is gone; with ``commit=False`` nothing is written at all."""
    store = InMemoryVariables()

    def fail(_state: State) -> None:
        if commit:
            raise ZeroDivisionError

    pipeline = PIPELINE.append(step("late", fail))
    if commit:
        with pytest.raises(PipelineError):
            build(REQUEST, pipeline, Ports(variables=store))
    else:
        build(REQUEST, pipeline, Ports(variables=store), commit=False)
    assert store.to_dict() == {"local": {}, "global": {}}


def test_a_pipeline_must_make_a_plan() -> None:
    """Otherwise the pipeline is wrong, and the hint says what is missing."""
    with pytest.raises(UsageError, match="made no plan"):
        build(REQUEST, Pipeline(step("prepare")))


def test_the_context_is_the_requests_or_an_empty_one() -> None:
    """Steps always find a context; its data is frozen."""
    seen: list[Context] = []
    pipeline = PIPELINE.append(step("look", lambda state: seen.append(state.context)))
    build(REQUEST, pipeline)
    build(REQUEST.with_(context={"chatIndex": 1}), pipeline)
    assert seen == [Context({}, type="app"), Context({"chat_index": 1}, type="app")]


def test_b23_options_of_the_caller_stay() -> None:
    """B23: a step may change the model's options; the caller's and the request's stay."""

    def hotter(state: State) -> None:
        state.result.options["temperature"] = 2

    options = {"temperature": 1}
    request = REQUEST.with_(options=options)
    plan = build(request, PIPELINE.append(step("hotter", hotter)))
    assert (plan.options, request.options, options) == ({"temperature": 2}, {"temperature": 1}, {"temperature": 1})
    assert type(plan.options) is FrozenDict


def test_an_unknown_generation_is_noted() -> None:
    """A misspelt kind of generation builds a normal prompt and says so."""
    (note,) = build(REQUEST.with_(generation="zzz"), PIPELINE).notes
    assert (note.kind, "'zzz'" in note.message, note.data["input"]) == (NoteKind.IGNORED, True, "generation")


def test_tools_are_read_in_both_shapes() -> None:
    """A definition as a mapping or a `Tool`, or OpenAI's wrapping of one."""
    wrapped = {"type": "function", "function": {"name": "sub", "parameters": {"type": "object"}}}
    typed = Tool("mul", "Multiplies.", {"type": "object", "properties": {"a": {"type": "number"}}})
    assert build(REQUEST.with_(tools=[{"name": "add"}, wrapped, typed]), PIPELINE).tools == (
        Tool("add"),
        Tool("sub", parameters={"type": "object"}),
        typed,
    )


@pytest.mark.parametrize("tool", [{}, {"name": 5}, {"function": 5}, {"name": "a", "parameters": 5}])
def test_a_bad_tool_is_a_format_error(tool: Any) -> None:
    """The error says which one, and what a definition has."""
    with pytest.raises(FormatError, match=r"tools\[1\] is not a tool definition"):
        build(REQUEST.with_(tools=[{"name": "ok"}, tool]), PIPELINE)


@pytest.mark.parametrize(
    ("ports", "name"),
    [
        (Ports(hooks=InMemoryHooks()), "hooks"),
        (Ports(injections=InMemoryInjections()), "injections"),
        (Ports(random=lambda seed: Randomness(seed, lambda s, _n: Mulberry32(s))), "random"),
        (Ports(dialects=BARE), "dialects"),
        (Ports(token_counter=Characters()), "token_counter"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ports_that_decide_are_named(ports: Ports, name: str) -> None:
    """A plan that depends on more than data says so, and refuses to be replayed."""
    plan = build(REQUEST, PIPELINE, ports)
    assert plan.unreplayable == (name,)
    with pytest.raises(ReplayError, match=name):
        plan.replay()


def test_ports_that_only_look_do_not_prevent_a_replay() -> None:
    """An instrumenter, a warning handler and a store that was recorded leave the plan replayable."""
    ports = Ports(instrumenter=TraceCollector(), warning_handler=print, variables=InMemoryVariables())
    assert build(REQUEST, PIPELINE, ports).unreplayable == ()


@pytest.mark.parametrize("now", ["yesterday", "9999-12-31T23:59:59Z"])
def test_a_bad_moment_is_a_format_error(now: str) -> None:
    """Found before any step runs."""
    with pytest.raises(FormatError):
        build(REQUEST.with_(now=now), PIPELINE)
