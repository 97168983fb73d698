"""The vibe tavern as a whole: worked examples, promises, and the defects of the reference that it does not have."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import (
    BuildRequest,
    ConfigError,
    InMemoryVariables,
    InnkeeperError,
    MaxTokensExceededError,
    Message,
    PipelineError,
    Plan,
    Ports,
    TraceCollector,
)
from innkeeper.prompt.data import to_json
from innkeeper.taverns import vibe

CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Seraphina", "description": "D", "scenario": "S", "post_history_instructions": "P"},
}
CARD_V3 = {**CARD, "spec": "chara_card_v3", "spec_version": "3.0", "data": {**CARD["data"], "nickname": "Sera"}}  # type: ignore[dict-item]  # the test's own data
NOW = "2026-01-15T12:00:00+00:00"


def _example(**changed: Any) -> Plan:
    inputs: dict[str, Any] = {
        "character": CARD_V3,
        "user": {"name": "Alice", "persona": "X"},
        "history": [{"role": "assistant", "content": "Hi"}],
        "message": "  Hello ",
        "context": {"language_policy": {"enabled": True, "target_lang": "zh-Hans"}},
        "now": NOW,
    }
    return vibe.build(**{**inputs, **changed})


def test_worked_example() -> None:
    """The reference's example: default system, history, post-history, policy, the message as it was written."""
    plan = _example()
    assert [(block.role, block.slot) for block in plan.blocks] == [
        ("system", "system"),
        ("assistant", "history"),
        ("system", "post_history_instructions"),
        ("system", "language_policy"),
        ("user", "user_message"),
    ]
    assert plan.blocks[0].content == "You are Sera.\n\nD\n\nScenario:\nS\n\nUser persona:\nX"
    assert plan.blocks[3].metadata["target_lang"] == "zh-CN"
    assert plan.blocks[4].content == "  Hello "
    assert (plan.warnings, plan.notes) == ((), ())


def test_worked_example_without_a_system_block() -> None:
    """With an empty ``system_template`` the first block is gone."""
    assert _example(meta={"system_template": ""}).blocks[0].slot == "history"


def test_same_request_same_bytes() -> None:
    """A request gives the same bytes each time, through JSON as well, and its plan can be replayed."""
    meta = {"system_template": "{{ 'now' | date: '%c' }} {{ 'a,b,c' | pick }} {{ '9d9' | rollp }} {{ user }}"}
    plans = [_example(meta=meta) for _ in range(2)]
    assert plans[0].request is not None
    plans.append(vibe.build(BuildRequest.from_json(plans[0].request.to_json())))
    assert len({plan.fingerprint() for plan in plans}) == 1
    assert len({to_json(plan.to_dict()) for plan in plans}) == 1


def test_another_moment_shows_only_where_it_is_printed() -> None:
    """Time reaches the prompt only where a template asks for it."""
    later = "2027-01-15T12:00:00+00:00"
    assert _example().fingerprint() == _example(now=later).fingerprint()
    meta = {"system_template": "{{ 'now' | date: '%Y' }}"}
    assert [_example(meta=meta, now=now).blocks[0].content for now in (NOW, later)] == ["2026", "2027"]


def test_looking_changes_nothing() -> None:
    """A build that fails, or that is only a preview, leaves the caller's variables and options as they were."""
    store = InMemoryVariables({"local": {"a": 1}})
    options = {"temperature": 0.5}
    meta = {"system_template": "{% setvar a = 2 %}S", "post_history_template": "{{ nobody }}"}
    with pytest.raises(PipelineError):
        vibe.build(message="x", meta=meta, variables_store=store, llm_options=options, strict=True)
    assert store.to_dict() == {"local": {"a": 1}, "global": {}}
    preview = vibe.TAVERN.build({"message": "x", "meta": meta}, Ports(variables=store), commit=False)
    assert preview.variables["local"] == {"a": 2}
    assert store.get("a") == 1
    vibe.build(message="x", meta=meta, variables_store=store, llm_options=options)
    assert (store.get("a"), options) == (2, {"temperature": 0.5})


def test_trace_changes_nothing() -> None:
    """With and without a collector the plan's blocks are the same."""
    traced = _example(instrumenter=TraceCollector())
    assert traced.blocks == _example().blocks


def test_defect_b14_the_trace_is_filled() -> None:
    """A collector's trace is part of the plan, a step an entry (B14)."""
    plan = _example(instrumenter=TraceCollector())
    assert plan.trace is not None
    assert [step.name for step in plan.trace.steps] == [*vibe.PIPELINE.names, "fit"]
    assert plan.trace.success


def test_defect_b22_configurations_survive_and_fail_first() -> None:
    """Module configs of a context reach their steps, and a wrong one fails before the first step (B22)."""
    configs = {"language_policy": {"style_hint": "casual"}}
    plan = _example(configs=configs)
    assert "Style: casual." in plan.blocks[3].content
    started: list[str] = []
    with pytest.raises(ConfigError):
        _example(configs={"language_policy": {"nothing": 1}}, instrumenter=lambda event, **_: started.append(event))
    assert started == []


def test_defect_b23_the_caller_keeps_his_options() -> None:
    """Options, history and context of the caller are copied, not changed (B23)."""
    inputs: dict[str, Any] = {
        "llm_options": {"stop": ["a"]},
        "history": [{"role": "user", "content": "a"}],
        "context": {"a": {"b": [1]}},
    }
    before = json.dumps(inputs)
    plan = vibe.build(**inputs)
    assert json.dumps(inputs) == before
    inputs["llm_options"]["stop"].append("b")
    assert plan.options == {"stop": ("a",)}


def test_defect_b28_dice_are_bounded() -> None:
    """A million dice in a template are refused by name, and the build goes on with the text (B28)."""
    plan = vibe.build(message="x", meta={"system_template": "{{ '1000000d6' | rollp }}"})
    assert plan.blocks[0].content == "{{ '1000000d6' | rollp }}"
    assert "dice" in plan.warnings[0].message


class Letters:
    """A counter of letters, which remembers for which model it was asked."""

    def __init__(self) -> None:
        self.models: set[str | None] = set()

    def count(self, text: str, model: str | None = None) -> int:
        self.models.add(model)
        return len(text)

    def describe(self, model: str | None = None) -> dict[str, Any]:
        return {"exact": True, "error_percent": 0}


def test_the_guard_measures_and_never_trims() -> None:
    """A prompt above a limit of the guard's own is a warning, or an error; its blocks stay."""
    history = [{"role": "user", "content": "x" * 100}]
    fits = vibe.build(history=history, token_counter=Letters())
    assert fits.warnings == ()
    options = {"max_tokens": {"max_tokens": 50}}
    plan = vibe.build(history=history, token_counter=Letters(), step_options=options)
    assert [warning.step for warning in plan.warnings] == ["max_tokens"]
    assert plan.blocks == fits.blocks
    with pytest.raises(MaxTokensExceededError) as caught:
        vibe.build(
            history=history, token_counter=Letters(), step_options={"max_tokens": {"max_tokens": 50, "mode": "error"}}
        )
    assert caught.value.limit_tokens == 50


def test_the_window_of_the_request_holds() -> None:
    """Old history goes until the prompt fits; what may not go and does not fit is an error, not a warning."""
    history = [{"role": "user", "content": "x" * 100}, {"role": "assistant", "content": "y" * 20}]
    plan = vibe.build(history=history, message="Hi", token_counter=Letters(), context_window=150, reserved_tokens=20)
    assert [message.content[:1] for message in plan.messages] == ["y", "H"]
    assert plan.warnings == ()
    assert [(record.slot, record.reason) for record in plan.trim_report.evictions] == [("history", "budget_exceeded")]
    with pytest.raises(MaxTokensExceededError) as caught:
        vibe.build(history=history[:1], token_counter=Letters(), context_window=150, reserved_tokens=100)
    assert (caught.value.step, caught.value.limit_tokens) == ("fit", 50)


def test_the_guard_counts_as_prepare_found() -> None:
    """The counter and the model hint of the context reach the guard."""
    letters = Letters()
    context = {"token_estimation": {"token_estimator": letters, "model_hint": "openai/gpt-4o"}}
    vibe.build(message="a", context=context, context_window=1000, model="other")
    assert letters.models == {"gpt-4o"}


def test_unused_module_configs_are_noted() -> None:
    """A configuration for a step that is not there is ignored, with a note."""
    plan = _example(configs={"trimming": {"strategy": "priority"}})
    assert ["trimming" in note.message for note in plan.notes] == [True]


MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "system", "tool"]),
        content=st.text(max_size=20),
        name=st.none(),
    ),
    max_size=6,
)


@given(MESSAGES, st.text(max_size=20), st.text(max_size=60), st.text(max_size=60), st.booleans())
def test_any_input_builds_or_fails_typed(
    history: list[Message], message: str, system: str, after: str, strict: bool
) -> None:
    """Whatever the texts: a plan whose history is the history, or an `InnkeeperError`."""
    meta = {"system_template": system, "post_history_template": after}
    try:
        plan = vibe.build(history=history, message=message, meta=meta, strict=strict, now=NOW)
    except InnkeeperError:
        assert strict
        return
    assert [block.message() for block in plan.blocks if block.slot == "history"] == history
    assert plan.fingerprint() == vibe.build(plan.request).fingerprint()


@given(MESSAGES, st.builds(Message, role=st.just("user"), content=st.text(max_size=20)))
def test_a_new_message_changes_no_block_before_it(history: list[Message], more: Message) -> None:
    """With one more message the blocks before it are the same: a provider's cache stays warm."""
    shorter = vibe.build(character="Sera", history=history, now=NOW).blocks
    longer = vibe.build(character="Sera", history=[*history, more], now=NOW).blocks
    assert longer[: len(shorter)] == shorter
