"""Step and StepConfig: typed options that fail early."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.prompt import (
    BuildRequest,
    ConfigError,
    Context,
    FormatError,
    FrozenDict,
    LimitError,
    NoConfig,
    Pipeline,
    PipelineError,
    Plan,
    Ports,
    State,
    Step,
    StepConfig,
    StrictModeError,
    TraceCollector,
    UnknownNameError,
    UsageError,
    Where,
)
from innkeeper.prompt.build import start
from tests.prompt.doubles import JSON, objects, step


class Options(StepConfig, frozen=True, kw_only=True):
    """Options of every kind."""

    count: int = 1
    names: tuple[str, ...] = ()
    table: FrozenDict = FrozenDict()
    build: Any = None

    def __post_init__(self) -> None:
        """A rule that types cannot say."""
        if self.count < 0:
            raise ValueError("count must not be negative")


def _run(_state: State, _config: Options) -> None: ...


STEP = Step("language_policy", _run, Options)


def test_plain_values_become_a_frozen_config() -> None:
    """JSON-like options are typed; callables pass as they are."""
    config = STEP.configure({"count": 2, "names": ["a"], "table": {"a": {"b": 1}}, "build": len})
    assert config == Options(count=2, names=("a",), table=FrozenDict(a=FrozenDict(b=1)), build=len)
    with pytest.raises(AttributeError):
        config.count = 3  # type: ignore[misc]


def test_a_config_passes_through() -> None:
    """An instance of the step's own config is taken as it is (tavernkit §2.4)."""
    config = Options(count=2)
    assert STEP.configure(config) is config


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"cuont": 1}, "unknown field 'cuont'"),
        ({"count": "1"}, "count must be a whole number, not text"),
        ({"count": -1}, "must not be negative"),
        ({"table": 5}, "table must be an object, not a whole number"),
        ({5: 1}, "a key that must be text"),
        (5, "must be an object, not a whole number"),
        (NoConfig(), "must be an object, not NoConfig"),
    ],
    ids=["unknown", "type", "rule", "table", "key", "number", "another-config"],
)
def test_options_that_do_not_fit_are_a_config_error(values: Any, says: str) -> None:
    """Unknown keys fail fast; the error names the step and lists its keys (*Step Config Reference*)."""
    with pytest.raises(ConfigError, match=f"invalid config for step language_policy: .*{says}") as caught:
        STEP.configure(values)
    assert caught.value.where == Where("configuration", "language_policy")
    assert caught.value.hint == "keys: count, names, table, build"


def test_a_step_without_options_refuses_any() -> None:
    """Every key is an error, and the hint says that there are none."""
    with pytest.raises(ConfigError) as caught:
        step("prepare").configure({"token_estimator": 1})
    assert caught.value.hint == "keys: none"


@given(objects("count", "names", "table", "build") | JSON)
def test_any_json_is_a_config_or_a_config_error(values: Any) -> None:
    """No JSON value raises anything else."""
    try:
        config = STEP.configure(values)
    except ConfigError:
        return
    assert config.count >= 0


@pytest.mark.parametrize("name", ["LanguagePolicy", "language-policy", "", " x"])
def test_names_are_snake_case(name: str) -> None:
    """A name is what configurations spell."""
    with pytest.raises(UsageError, match="must be snake case"):
        Step(name, _run, Options)


class Foreign(msgspec.Struct):
    """A struct that is no step config."""


@pytest.mark.parametrize("fields", [{"run": 5}, {"config": Foreign}, {"config": Options()}, {"config": Mapping}])
def test_a_step_needs_a_function_and_a_config_class(fields: dict[str, Any]) -> None:
    """What could only fail later fails at once."""
    with pytest.raises(UsageError, match="needs a callable run and a StepConfig class"):
        Step(**{"name": "x", "run": _run, "config": Options, **fields})


class PipelineOptions(StepConfig, frozen=True, kw_only=True):
    """Options with something to merge."""

    table: FrozenDict = FrozenDict()
    words: tuple[str, ...] = ()


def _keep(state: State, config: PipelineOptions) -> None:
    state.scratch["config"] = config


CONFIGURED = Step("configured", _keep, PipelineOptions)
ABC = Pipeline(step("a"), step("b"), step("c"))


def _state(**fields: Any) -> State:
    ports = fields.pop("ports", Ports())
    return start(BuildRequest.of({"now": "2026-01-01T00:00:00Z", **fields}), ports)


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        (ABC.append(step("x")), "abcx"),
        (ABC.insert_before("a", step("x")), "xabc"),
        (ABC.insert_before("c", step("x")), "abxc"),
        (ABC.insert_after("a", step("x")), "axbc"),
        (ABC.insert_after("c", step("x")), "abcx"),
        (ABC.replace("a", step("x")), "xbc"),
        (ABC.replace("b", step("b")), "abc"),
        (ABC.replace("c", step("x")), "abx"),
        (ABC.without("b"), "ac"),
        (ABC.configure("b"), "abc"),
    ],
)
def test_every_change_is_a_new_pipeline(changed: Pipeline, names: str) -> None:
    """Steps are placed where asked, and the original stays (tavernkit §2.5)."""
    assert "".join(changed.names) == names
    assert "".join(ABC.names) == "abc"
    assert [s.name for s in changed] == list(names)
    assert len(changed) == len(names)


@pytest.mark.parametrize(
    "change",
    [
        lambda: ABC.insert_before("x", step("y")),
        lambda: ABC.insert_after("x", step("y")),
        lambda: ABC.replace("x", step("y")),
        lambda: ABC.without("x"),
        lambda: ABC.configure("x"),
        lambda: ABC.options("x"),
        lambda: ABC["x"],
    ],
)
def test_an_unknown_step_is_an_unknown_name(change: Any) -> None:
    """The error lists the steps."""
    with pytest.raises(UnknownNameError, match="unknown step 'x'") as caught:
        change()
    assert caught.value.known == ("a", "b", "c")


def test_names_are_unique() -> None:
    """A second step of the same name is refused, with the way to replace it."""
    attempts: list[Any] = [lambda: Pipeline(step("a"), step("a")), lambda: ABC.append(step("a"))]
    for attempt in (*attempts, lambda: ABC.replace("a", step("b"))):
        with pytest.raises(UsageError, match="already has a step"):
            attempt()
    assert "a" in ABC
    assert ABC["a"].name == "a"


def test_only_steps_are_taken() -> None:
    """A function is no step."""
    with pytest.raises(UsageError, match="holds Step values, not function"):
        Pipeline(lambda: None)  # type: ignore[arg-type]


def test_options_are_checked_when_they_are_given() -> None:
    """Wiring mistakes show at wiring time, and change nothing."""
    pipeline = Pipeline().append(CONFIGURED, words=["x"])
    with pytest.raises(ConfigError, match="invalid config for step configured"):
        Pipeline().append(CONFIGURED, colour=1)
    with pytest.raises(ConfigError, match="invalid config for step configured"):
        pipeline.configure("configured", words=5)
    assert pipeline.options("configured") == {"words": ("x",)}


def test_replacing_drops_the_old_options() -> None:
    """The new step starts with its own options."""
    pipeline = Pipeline(step("a")).append(CONFIGURED, words=["x"]).append(step("z"))
    assert pipeline.replace("configured", CONFIGURED).options("configured") == {}
    assert pipeline.replace("configured", CONFIGURED, words=["y"]).options("configured") == {"words": ("y",)}


def test_configs_merge_from_pipeline_request_and_context() -> None:
    """Dicts merge at every depth, lists are replaced; later layers win; any spelling of the step's name (*Config Sources*)."""
    pipeline = Pipeline().append(CONFIGURED, table={"a": {"x": 1, "y": 2}}, words=["x"])
    state = _state(
        step_options={"Configured": {"table": {"a": {"y": 3}}}},
        context=Context({}, module_configs={"CONFIGURED": {"table": {"b": 4}, "words": ["y", "z"]}}),
    )
    pipeline.run(state)
    assert state.scratch["config"] == PipelineOptions(
        table=FrozenDict({"a": {"x": 1, "y": 3}, "b": 4}), words=("y", "z")
    )
    assert pipeline.options("configured") == {"table": {"a": {"x": 1, "y": 2}}, "words": ("x",)}


@pytest.mark.parametrize(
    "options", [{"configured": {"cuolor": 1}}, {"configured": 5}, {"configured": None}, {"a": {"k": 1}}]
)
def test_b22_bad_options_fail_before_the_first_step(options: dict[str, Any]) -> None:
    """B22: an invalid override is found before anything runs, as a config error that names the step."""
    ran: list[str] = []
    pipeline = Pipeline(step("a", lambda _state: ran.append("a"))).append(CONFIGURED)
    with pytest.raises(ConfigError, match=r"invalid config for step (configured|a)"):
        pipeline.run(_state(step_options=options))
    assert ran == []


def test_options_for_steps_that_are_not_there_are_noted() -> None:
    """Unknown step keys are ignored (1-vibetavern-pipeline), and nothing is ignored silently."""
    state = _state(step_options={"lore": {"depth": 2}}, context={"module_configs": {"Other": {}}})
    ABC.run(state)
    assert [(note.kind, note.message.split(":")[0]) for note in state.result.notes] == [
        ("ignored", "configuration for 'lore'"),
        ("ignored", "configuration for 'other'"),
    ]


def test_steps_run_in_order_and_finish_in_reverse() -> None:
    """An onion: work down, closing up; the current step is set during each and gone afterwards."""
    ran: list[str] = []

    def note(word: str) -> Any:
        return lambda state, _config=None: ran.append(f"{word} {state.step}")

    state = _state()
    Pipeline(*(step(name, note("run"), finish=note("finish")) for name in "ab"), step("c", note("run"))).run(state)
    assert ran == ["run a", "run b", "run c", "finish b", "finish a"]
    assert state.step is None


def _raise(error: Exception) -> Any:
    def work(_state: State) -> None:
        raise error

    return work


def test_a_foreign_error_becomes_a_pipeline_error() -> None:
    """Class and message in the text, the step in its field, the cause kept; nothing runs afterwards."""
    ran: list[str] = []
    pipeline = Pipeline(
        step("a", finish=lambda _s, _c: ran.append("a")),
        step("b", _raise(KeyError("x"))),
        step("c", lambda _s: ran.append("c")),
    )
    state = _state()
    with pytest.raises(PipelineError, match=r"KeyError: 'x' \(step: b\)") as caught:
        pipeline.run(state)
    assert (caught.value.step, type(caught.value.__cause__), ran, state.step) == ("b", KeyError, [], None)


def test_an_error_of_ours_keeps_its_facts() -> None:
    """Place, hint, numbers and exit code of the cause are those of the failure."""
    cause = LimitError("a text", limit="size", allowed=1, found=2, where=Where("book"), hint="shorten it")
    with pytest.raises(PipelineError) as caught:
        Pipeline(step("a", _raise(cause))).run(_state())
    failure = caught.value
    assert (failure.where, failure.hint, failure.exit_code, failure.http_status) == (
        Where("book"),
        "shorten it",
        65,
        413,
    )
    assert failure.to_dict()["details"] == {"limit": "size", "allowed": 1, "found": 2, "step": "a"}
    assert failure.to_dict()["cause"]["kind"] == "limit"


def test_a_pipeline_error_passes_unchanged() -> None:
    """It already says which step failed."""
    error = PipelineError("x", step="inner")
    with pytest.raises(PipelineError) as caught:
        Pipeline(step("a", _raise(error))).run(_state())
    assert caught.value is error


def test_strict_mode_fails_the_step_that_warned() -> None:
    """Callers see a pipeline error of the strict mode, which keeps the step and its cause (tavernkit §2.5)."""
    with pytest.raises(PipelineError) as caught:
        Pipeline(step("a", lambda state: state.warn("odd"))).run(_state(strict=True))
    error = caught.value
    assert isinstance(error, StrictModeError)
    assert isinstance(error.__cause__, StrictModeError)
    assert (error.kind, error.step, error.http_status, error.exit_code) == ("strict_mode", "a", 422, 65)


def test_a_failing_finish_names_its_step() -> None:
    """The closing of a step fails as its work does."""

    def finish(_state: State, _config: Any) -> None:
        raise FormatError("late")

    with pytest.raises(PipelineError, match="late") as caught:
        Pipeline(step("a", finish=finish), step("b")).run(_state())
    assert caught.value.step == "a"


def test_b14_the_trace_has_all_steps() -> None:
    """B14: the trace is taken after the build, with every step finished, its stats and its warnings."""
    from innkeeper.prompt import build

    def assemble(state: State) -> None:
        state.stat("plan_blocks", 0)
        state.warn("odd")
        state.result.plan = Plan()

    pipeline = Pipeline(step("prepare"), step("plan_assembly", assemble, finish=lambda _s, _c: None))
    plan = build(BuildRequest(), pipeline, Ports(instrumenter=TraceCollector()))
    assert plan.trace is not None
    assert [s.name for s in plan.trace.steps] == ["prepare", "plan_assembly"]
    assert plan.trace.steps[1].stats == {"plan_blocks": 0}
    assert plan.trace.total_warnings == 1
    assert all(0 <= s.own_ms <= s.total_ms for s in plan.trace.steps)


def test_a_failing_step_is_in_the_trace() -> None:
    """The collector is told of the error and left with no open step."""
    collector = TraceCollector()
    with pytest.raises(PipelineError):
        Pipeline(step("a"), step("b", _raise(ZeroDivisionError()))).run(_state(ports=Ports(instrumenter=collector)))
    trace = collector.to_trace()
    assert [(s.name, s.error) for s in trace.steps] == [("a", None), ("b", "ZeroDivisionError")]
