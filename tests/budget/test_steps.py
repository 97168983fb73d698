"""The step *trimming* in a pipeline (2-wave4-contracts, *Stage 9*)."""

from typing import Any

import pytest

from innkeeper.budget import MAX_TOKENS, TRIMMING, TrimmingConfig, TrimReport, trim_state
from innkeeper.prompt import (
    Attachment,
    Block,
    BuildRequest,
    ConfigError,
    FormatError,
    FrozenDict,
    InsertionPoint,
    MaxTokensExceededError,
    Message,
    Pipeline,
    PipelineError,
    Plan,
    Ports,
    State,
    StrictModeError,
    TraceCollector,
    UsageError,
    build,
)
from innkeeper.taverns import vibe
from tests.budget.doubles import Characters, Rough, block
from tests.prompt.doubles import step

BLOCKS = (block("S" * 10, "system", role="system"), block("a" * 20), block("b" * 20, role="assistant"), block("c" * 10))
NOW = "2026-01-01T00:00:00Z"


def _assembling(blocks: tuple[Block, ...]) -> Any:
    def assemble(state: State) -> None:
        state.result.plan = Plan(blocks=blocks)

    return step("plan_assembly", assemble)


def _build(
    options: dict[str, Any] | None = None,
    *,
    blocks: tuple[Block, ...] = BLOCKS,
    ports: Ports | None = None,
    **fields: Any,
) -> Plan:
    """A plan of these blocks, trimmed; one token a character and no framing, if not told otherwise."""
    pipeline = Pipeline(_assembling(blocks)).append(TRIMMING, **{"framing": "none", **(options or {})})
    return build(BuildRequest.of({"now": NOW, **fields}), pipeline, ports or Ports(token_counter=Characters()))


def _kept(plan: Plan) -> str:
    return "".join(b.content[:1] for b in plan.enabled_blocks)


def test_the_window_is_the_requests() -> None:
    """Window and reserve come from the request; the report is in the plan, the blocks stay in it, disabled."""
    plan = _build(context_window=50, reserved_tokens=10)
    assert _kept(plan) == "Sbc"
    assert len(plan.blocks) == len(BLOCKS)
    report = plan.trim_report
    assert isinstance(report, TrimReport)
    assert (report.budget_tokens, report.max_tokens, report.reserve_tokens) == (40, 50, 10)
    assert (report.initial_tokens, report.final_tokens, report.eviction_count) == (60, 40, 1)
    assert report.fits
    assert plan.to_dict()["trim_report"] == report.to_dict()


def test_the_steps_own_numbers_win() -> None:
    """Options of the step over the request; a budget replaces window minus reserve."""
    assert _kept(_build({"max_tokens": 60, "reserve_tokens": 0}, context_window=5, reserved_tokens=5)) == "Sabc"
    assert _kept(_build({"budget_tokens": 20}, context_window=9_999)) == "Sc"


@pytest.mark.parametrize("fields", [{}, {"context_window": 0}, {"context_window": None, "reserved_tokens": 5}])
def test_without_a_window_nothing_is_trimmed(fields: dict[str, Any]) -> None:
    """An unknown window is not a window of zero: the plan stays, without a report."""
    plan = _build(**fields)
    assert _kept(plan) == "Sabc"
    assert plan.trim_report is None
    assert _build({"max_tokens": 0}, context_window=None).trim_report is None


def test_numbers_may_be_functions_of_the_state() -> None:
    """A tavern computes them from its preset; what comes out is checked."""
    plan = _build(
        {"max_tokens": lambda state: len(state.request.message) * 10, "strategy": lambda _s: "priority"},
        message="12345",
    )
    assert plan.trim_report.strategy == "priority"
    assert plan.trim_report.budget_tokens == 50
    with pytest.raises(PipelineError, match="max_tokens must be a whole number") as caught:
        _build({"max_tokens": lambda _state: -1})
    assert isinstance(caught.value.__cause__, UsageError)


@pytest.mark.parametrize(
    "options",
    [{"max_tokens": -1}, {"max_tokens": "5"}, {"max_tokens": 5.0}, {"reserve_tokens": True}, {"strategy": "newest"},
     {"strategy": "stepped", "step_tokens": 0}, {"on_overflow": "ignore"}, {"framing": "nobody"}, {"window": 5}],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_options_that_make_no_sense_fail_at_wiring_time(options: dict[str, Any]) -> None:
    """Before anything runs, as a config error that names the step."""
    with pytest.raises(ConfigError, match="invalid config for step trimming"):
        Pipeline().append(TRIMMING, **options)


def test_options_come_as_json() -> None:
    """A request may set them: plain numbers and names."""
    plan = _build(step_options={"trimming": {"strategy": "stepped", "step_messages": 2, "max_tokens": 45}})
    assert (plan.trim_report.strategy, _kept(plan)) == ("stepped", "Sc")


def test_negative_numbers_in_a_request_are_typed_errors() -> None:
    """A window below zero is a mistake, not an empty window; the error names the field."""
    wrong: list[dict[str, Any]] = [{"context_window": -5}, {"context_window": 5, "reserved_tokens": -5}]
    for fields in wrong:
        with pytest.raises(FormatError) as caught:
            _build(**fields)
        assert caught.value.where is not None
        assert caught.value.where.path == list(fields)[-1]


def test_what_must_stay_and_does_not_fit_is_an_error_of_the_step() -> None:
    """The parameters of the document, unwrapped; or the best effort, which says that it does not fit."""
    with pytest.raises(MaxTokensExceededError) as caught:
        _build(context_window=25, reserved_tokens=10)
    error = caught.value
    assert (error.step, error.estimated_tokens, error.max_tokens, error.reserve_tokens) == ("trimming", 20, 25, 10)
    plan = _build({"on_overflow": "return"}, context_window=25, reserved_tokens=10)
    assert (_kept(plan), plan.trim_report.fits) == ("Sc", False)


def test_evictions_are_noted_and_measured() -> None:
    """One note a group, and the summary stats of *Observability*."""
    blocks = (block("e" * 9, "examples"), *BLOCKS)
    ports = Ports(token_counter=Characters(), instrumenter=TraceCollector())
    plan = _build(blocks=blocks, ports=ports, context_window=40)
    assert [(note.kind, note.data["group"], note.data["blocks"], note.data["tokens"]) for note in plan.notes] == [
        ("evicted", "examples", 1, 9),
        ("evicted", "history", 1, 20),
    ]
    assert "1 of history (20 tokens) left out: 69 tokens did not fit into 40" in plan.notes[1].message
    assert plan.trace is not None
    trimming = plan.trace.step("trimming")
    assert trimming is not None
    assert trimming.stats == {
        "token_estimator": {"tokenizer": "characters", "exact": True, "error_percent": 0},
        "budget_tokens": 40,
        "initial_tokens": 69,
        "final_tokens": 40,
        "eviction_count": 2,
    }


def test_estimates_are_noted() -> None:
    """A counter that is not exact says so in the plan, with its margin; so do media of a kind that no rule knows."""
    media = (block("a", attachments=(Attachment("sticker", url="u"),)),)
    plan = _build(blocks=media, ports=Ports(token_counter=Rough()), context_window=50)
    assert [note.message.split(":")[0] for note in plan.notes] == [
        "tokens are estimated (rough, ± 20 %)",
        "1 attachments of an unknown kind are not counted",
    ]
    assert _build({"attachment_tokens": 20}, blocks=media, context_window=50).notes == ()


def test_a_trimmed_plan_fits_as_it_is_sent() -> None:
    """Joining in-chat blocks costs line breaks: what is sent is counted again, and trimmed again where it is too much."""
    notes = tuple(
        Block(role="system", content="n" * 4, group="lore", insertion_point=InsertionPoint.IN_CHAT, depth=4)
        for _ in range(5)
    )
    plan = _build(blocks=(*notes, block("u" * 5)), context_window=25)
    assert plan.trim_report.sent_tokens == sum(len(message.content) for message in plan.messages) <= 25
    assert plan.trim_report.eviction_count == 1
    assert plan.trim_report.budget_tokens == 25


def test_joined_blocks_that_must_stay_and_do_not_fit_are_an_error() -> None:
    """Also when only the joining makes them too much."""
    notes = tuple(
        Block(role="system", content="n" * 4, group="system", insertion_point=InsertionPoint.IN_CHAT) for _ in range(5)
    )
    with pytest.raises(MaxTokensExceededError) as caught:
        _build(blocks=notes, context_window=20)
    assert (caught.value.estimated_tokens, caught.value.limit_tokens) == (24, 20)
    assert not _build({"on_overflow": "return"}, blocks=notes, context_window=20).trim_report.fits


def test_tools_and_the_reply_take_room() -> None:
    """What the provider adds to the blocks is in the budget: tool definitions, the framing and the start of the reply."""
    tools = [{"name": "add", "description": "adds", "parameters": {}}]
    fixed = _build(context_window=500, tools=tools).trim_report.fixed_tokens
    assert fixed > len("add") + len("adds")
    assert _build({"framing": "openai"}, context_window=500).trim_report.initial_tokens > 60


def test_the_framing_is_the_dialects() -> None:
    """Without an option a plan is counted by its dialect's rule."""
    report = _build({"framing": None}, context_window=500, dialect="anthropic").trim_report
    assert report.initial_tokens == 60 + 4 * len(BLOCKS) + 3


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({"model": "m"}, "m"),
        ({"model": "m", "meta": {"default_model_hint": "d"}}, "d"),
        ({"model": "m", "meta": {"model_hint": "h", "default_model_hint": "d"}}, "h"),
        ({"model": "m", "meta": {"model_hint": " "}}, "m"),
        ({}, None),
    ],
)
def test_tokens_are_counted_for_the_model_of_the_request(fields: dict[str, Any], model: str | None) -> None:
    """An explicit hint, the default hint, the model; the step's own hint over all of them."""

    class Asked(Characters):
        def count(self, text: str, model: str | None = None) -> int:
            asked.add(model)
            return len(text)

    asked: set[str | None] = set()
    _build(context_window=500, ports=Ports(token_counter=Asked()), **fields)
    assert asked == {model}
    asked.clear()
    _build({"model_hint": "own"}, context_window=500, ports=Ports(token_counter=Asked()), **fields)
    assert asked == {"own"}


def test_any_kind_of_counter_is_taken() -> None:
    """A function will do: the step's own counter comes before the port's."""
    plan = _build({"token_estimator": lambda text: len(text) * 2}, context_window=60)
    assert plan.trim_report.initial_tokens == 120


def test_b15_what_is_added_after_trimming_can_be_trimmed_too() -> None:
    """B15: a step that lets hooks add blocks at the end trims once more; the report is of the last trimming."""

    def add(state: State, _config: Any) -> None:
        assert state.result.plan is not None
        state.result.plan = state.result.plan.append(block("late" * 5, "custom", role="system"))
        trim_state(state, TrimmingConfig(framing="none"))

    pipeline = Pipeline(step("hooks", finish=add), _assembling(BLOCKS)).append(TRIMMING, framing="none")
    plan = build(BuildRequest(context_window=40), pipeline, Ports(token_counter=Characters()))
    assert _kept(plan) == "Scl"
    assert (plan.trim_report.initial_tokens, plan.trim_report.final_tokens) == (60, 40)


def test_trimming_needs_a_plan() -> None:
    """Before the plan is made there is nothing to trim."""
    with pytest.raises(PipelineError, match="there is no plan to trim") as caught:
        build(BuildRequest(context_window=5), Pipeline(TRIMMING))
    assert isinstance(caught.value.__cause__, UsageError)


def test_trimming_with_the_built_in_counter() -> None:
    """Nothing needs to be handed over."""
    history = [Message("user", f"message number {i}") for i in range(50)]
    blocks = tuple(Block.of_message(m, group="history") for m in history)
    plan = _build({"framing": None}, blocks=blocks, ports=Ports(), context_window=120, reserved_tokens=20)
    assert plan.trim_report.final_tokens <= 100
    assert plan.trim_report.tokenizer
    assert plan.enabled_blocks[-1].content == "message number 49"


MAX_TOKENS_BLOCKS = (block("S" * 10, "system", role="system"), block("a" * 20, message_metadata=FrozenDict(k=1)))


def _assemble(state: State) -> None:
    state.result.plan = Plan(blocks=MAX_TOKENS_BLOCKS)


def _max_tokens_build(options: dict[str, Any], ports: Ports | None = None, **fields: Any) -> Plan:
    pipeline = Pipeline(step("plan_assembly", _assemble)).append(MAX_TOKENS, **{"framing": "none", **options})
    request = BuildRequest.of({"now": "2026-01-01T00:00:00Z", **fields})
    return build(request, pipeline, ports or Ports(token_counter=Characters()))


def test_it_warns_and_never_trims() -> None:
    """Over the limit there is a warning with the numbers; the plan is as it was."""
    plan = _max_tokens_build({"max_tokens": 30, "reserve_tokens": 5})
    (warning,) = plan.warnings
    assert warning.message.startswith(
        "Prompt estimated tokens 30 exceeded limit 25 (max_tokens: 30, reserve_tokens: 5)"
    )
    assert warning.data == {"estimated_tokens": 30, "max_tokens": 30}
    assert len(plan.enabled_blocks) == 2


def test_a_warning_is_an_error_in_strict_mode() -> None:
    """As every warning."""
    with pytest.raises(PipelineError) as caught:
        _max_tokens_build({"max_tokens": 20}, strict=True)
    assert isinstance(caught.value.__cause__, StrictModeError)


def test_it_may_raise() -> None:
    """With mode ``error``, under its own name."""
    with pytest.raises(MaxTokensExceededError) as caught:
        _max_tokens_build({"max_tokens": 20, "mode": "error"})
    assert (caught.value.step, caught.value.estimated_tokens, caught.value.limit_tokens) == ("max_tokens", 30, 20)


@pytest.mark.parametrize(
    "options",
    [{}, {"max_tokens": 0}, {"max_tokens": None}, {"max_tokens": 30}, {"max_tokens": 5, "mode": "off"},
     {"max_tokens": 5, "mode": "none"}, {"max_tokens": 5, "mode": None}],
    ids=str,
)  # fmt: skip
def test_it_is_silent_where_it_should_be(options: dict[str, Any]) -> None:
    """Without a window, with one of zero, switched off, or when the prompt fits."""
    assert _max_tokens_build(options).warnings == ()


def test_the_window_may_be_the_requests() -> None:
    """The request's window and reserve guard too; the step's own numbers come first."""
    assert len(_max_tokens_build({}, context_window=30, reserved_tokens=1).warnings) == 1
    assert (
        _max_tokens_build({"max_tokens": 50, "reserve_tokens": 0}, context_window=5, reserved_tokens=5).warnings == ()
    )


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({}, 30),
        ({"message_overhead_tokens": 4}, 38),
        ({"include_message_metadata_tokens": True}, 30 + len('{"k":1}')),
        ({"framing": "anthropic"}, 30 + 2 * 4 + 3),
        ({"token_estimator": lambda text: 2 * len(text)}, 60),
    ],
    ids=["content", "overhead", "metadata", "framing", "counter"],
)
def test_what_counts(options: dict[str, Any], tokens: int) -> None:
    """Content; on request an overhead a message, metadata as JSON, a provider's framing, a counter of one's own."""
    (warning,) = _max_tokens_build({"max_tokens": 1, **options}).warnings
    assert warning.data["estimated_tokens"] == tokens


def test_everything_may_be_a_function_of_the_state() -> None:
    """Each number, flag, mode and hint."""
    options = {
        "max_tokens": lambda state: state.request.context_window // 2,
        "reserve_tokens": lambda _state: 1,
        "mode": lambda _state: "error",
        "model_hint": lambda _state: "m",
        "message_overhead_tokens": lambda _state: 4,
        "include_message_metadata_tokens": lambda _state: False,
    }
    with pytest.raises(MaxTokensExceededError) as caught:
        _max_tokens_build(options, context_window=20)
    assert (caught.value.estimated_tokens, caught.value.max_tokens, caught.value.reserve_tokens) == (38, 10, 1)


@pytest.mark.parametrize(
    "options", [{"max_tokens": -1}, {"reserve_tokens": 1.5}, {"mode": "loud"}, {"framing": "x"}, {"limit": 5}]
)
def test_max_tokens_options_that_make_no_sense_fail_at_wiring_time(options: dict[str, Any]) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError, match="invalid config for step max_tokens"):
        Pipeline().append(MAX_TOKENS, **options)


@pytest.mark.parametrize(
    "options", [{"max_tokens": lambda _s: "5"}, {"mode": lambda _s: "loud"}, {"model_hint": lambda _s: 5}]
)
def test_functions_are_checked_when_they_are_asked(options: dict[str, Any]) -> None:
    """What they give must be what a plain option must be."""
    with pytest.raises(PipelineError):
        _max_tokens_build({"max_tokens": 5, **options})


def test_it_measures_before_it_decides() -> None:
    """The stats of tavernkit §2.7, also when everything fits."""
    ports = Ports(token_counter=Characters(), instrumenter=TraceCollector())
    plan = _max_tokens_build(
        {
            "max_tokens": 100,
            "reserve_tokens": 10,
            "message_overhead_tokens": 4,
            "include_message_metadata_tokens": True,
        },
        ports,
    )
    assert plan.trace is not None
    measured = plan.trace.step("max_tokens")
    assert measured is not None
    assert measured.stats == {
        "token_estimator": {"tokenizer": "characters", "exact": True, "error_percent": 0},
        "estimated_prompt_tokens": 45,
        "estimated_content_tokens": 30,
        "estimated_metadata_tokens": 7,
        "message_overhead_per_message_tokens": 4,
        "message_overhead_tokens": 8,
        "message_count": 2,
        "max_prompt_tokens": 90,
    }


def test_it_measures_blocks_where_there_is_no_plan() -> None:
    """A pipeline whose plan comes later is measured by its blocks."""
    from innkeeper.prompt.build import start

    state = start(BuildRequest(now="2026-01-01T00:00:00Z"), Ports(token_counter=Characters()))
    state.result.blocks = [block("abc"), block("x", enabled=False)]
    Pipeline().append(MAX_TOKENS, framing="none", max_tokens=2).run(state)
    assert state.result.warnings[0].data["estimated_tokens"] == 3


@pytest.mark.parametrize("limit", [None, 10])
def test_what_fit_counted_is_not_counted_again(limit: int | None) -> None:
    """The guard takes what *fit* counted, where it counts in the same way; so it does with a trace, which wants the parts."""
    options = {} if limit is None else {"max_tokens": {"max_tokens": limit}}
    asked, warnings = [], []
    for instrumenter in (None, TraceCollector()):
        counter = Characters()
        plan = vibe.build(
            message="hello " * 10,
            context_window=1000,
            step_options=options,
            token_counter=counter,
            instrumenter=instrumenter,
        )
        asked.append(len(counter.asked))
        warnings.append([note.data for note in plan.warnings])
    assert 0 < asked[0] == asked[1]
    assert warnings[0] == warnings[1]
    assert len(warnings[0]) == (limit is not None)
