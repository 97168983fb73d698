"""The step *max_tokens*: a guard that never trims (tavernkit §5.3)."""

from typing import Any

import pytest

from innkeeper.budget import MAX_TOKENS
from innkeeper.prompt import (
    BuildRequest,
    ConfigError,
    FrozenDict,
    MaxTokensExceededError,
    Pipeline,
    PipelineError,
    Plan,
    Ports,
    State,
    StrictModeError,
    TraceCollector,
    build,
)
from tests.budget.doubles import Characters, block
from tests.prompt.doubles import step

BLOCKS = (block("S" * 10, "system", role="system"), block("a" * 20, message_metadata=FrozenDict(k=1)))


def _assemble(state: State) -> None:
    state.result.plan = Plan(blocks=BLOCKS)


def _build(options: dict[str, Any], ports: Ports | None = None, **fields: Any) -> Plan:
    pipeline = Pipeline(step("plan_assembly", _assemble)).append(MAX_TOKENS, **{"framing": "none", **options})
    request = BuildRequest.of({"now": "2026-01-01T00:00:00Z", **fields})
    return build(request, pipeline, ports or Ports(token_counter=Characters()))


def test_it_warns_and_never_trims() -> None:
    """Over the limit there is a warning with the numbers; the plan is as it was."""
    plan = _build({"max_tokens": 30, "reserve_tokens": 5})
    (warning,) = plan.warnings
    assert warning.message.startswith(
        "Prompt estimated tokens 30 exceeded limit 25 (max_tokens: 30, reserve_tokens: 5)"
    )
    assert warning.data == {"estimated_tokens": 30, "max_tokens": 30}
    assert len(plan.enabled_blocks) == 2


def test_a_warning_is_an_error_in_strict_mode() -> None:
    """As every warning."""
    with pytest.raises(PipelineError) as caught:
        _build({"max_tokens": 20}, strict=True)
    assert isinstance(caught.value.__cause__, StrictModeError)


def test_it_may_raise() -> None:
    """With mode ``error``, under its own name."""
    with pytest.raises(MaxTokensExceededError) as caught:
        _build({"max_tokens": 20, "mode": "error"})
    assert (caught.value.step, caught.value.estimated_tokens, caught.value.limit_tokens) == ("max_tokens", 30, 20)


@pytest.mark.parametrize(
    "options",
    [{}, {"max_tokens": 0}, {"max_tokens": None}, {"max_tokens": 30}, {"max_tokens": 5, "mode": "off"},
     {"max_tokens": 5, "mode": "none"}, {"max_tokens": 5, "mode": None}],
    ids=str,
)  # fmt: skip
def test_it_is_silent_where_it_should_be(options: dict[str, Any]) -> None:
    """Without a window, with one of zero, switched off, or when the prompt fits."""
    assert _build(options).warnings == ()


def test_the_window_may_be_the_requests() -> None:
    """The request's window and reserve guard too; the step's own numbers come first."""
    assert len(_build({}, context_window=30, reserved_tokens=1).warnings) == 1
    assert _build({"max_tokens": 50, "reserve_tokens": 0}, context_window=5, reserved_tokens=5).warnings == ()


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
    (warning,) = _build({"max_tokens": 1, **options}).warnings
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
        _build(options, context_window=20)
    assert (caught.value.estimated_tokens, caught.value.max_tokens, caught.value.reserve_tokens) == (38, 10, 1)


@pytest.mark.parametrize(
    "options", [{"max_tokens": -1}, {"reserve_tokens": 1.5}, {"mode": "loud"}, {"framing": "x"}, {"limit": 5}]
)
def test_options_that_make_no_sense_fail_at_wiring_time(options: dict[str, Any]) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError, match="invalid config for step max_tokens"):
        Pipeline().append(MAX_TOKENS, **options)


@pytest.mark.parametrize(
    "options", [{"max_tokens": lambda _s: "5"}, {"mode": lambda _s: "loud"}, {"model_hint": lambda _s: 5}]
)
def test_functions_are_checked_when_they_are_asked(options: dict[str, Any]) -> None:
    """What they give must be what a plain option must be."""
    with pytest.raises(PipelineError):
        _build({"max_tokens": 5, **options})


def test_it_measures_before_it_decides() -> None:
    """The stats of tavernkit §2.7, also when everything fits."""
    ports = Ports(token_counter=Characters(), instrumenter=TraceCollector())
    plan = _build(
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
