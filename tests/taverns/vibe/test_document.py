"""Every heading of *VibeTavern Prompt Pipeline* and the tests that hold what it says.

The table is checked against the document where that lies beside the checkout.
"""

import re
import types
from typing import Any

import pytest

from innkeeper.prompt import (
    BuildRequest,
    Context,
    InMemoryVariables,
    Message,
    PipelineError,
    Plan,
    State,
    Step,
    StepConfig,
    StrictModeError,
    TraceCollector,
)
from innkeeper.taverns import TAVERNS, vibe
from tests import shared

DOCUMENT = "spec/requirements/1-vibetavern-pipeline.md"

TESTS: dict[str, tuple[str, ...]] = {
    "VibeTavern Prompt Pipeline": ("test_output_contract",),
    "Goals / Non-goals": ("test_goals",),
    "Entry Points": ("test_entry_points",),
    "Minimal PromptRunner + RunnerConfig Example (Copy/Paste)": ("test_minimal_runner_example",),
    "Supported Inputs (DSL)": ("test_supported_inputs", "test_ignored_inputs"),
    "Output Contract": ("test_output_contract",),
    "Block Semantics (System + History + Post-history + User Message)": ("test_block_semantics",),
    "Context Contract": ("test_context_contract",),
    "VariablesStore Contract": ("test_variables_store_contract",),
    "Instrumentation": ("test_instrumentation",),
    "Default Steps (Order)": ("test_default_steps",),
    "Step Config Reference": ("test_config_sources",),
    "Config Sources (Two Levels)": ("test_config_sources",),
    "`:prepare` (`Steps::Prepare`)": ("test_prepare",),
    "`:plan_assembly` (`Steps::PlanAssembly`)": ("test_plan_assembly",),
    "`:language_policy` (`Steps::LanguagePolicy`)": ("test_language_policy",),
    "When to Use Platform Pipelines Instead": ("test_platform_pipelines",),
}
"""Heading → the tests of this file that hold it. Each has many finer ones in the files beside."""


def test_every_heading_has_a_test() -> None:
    """The document has the headings of the table and no other, and each is held by tests that exist."""
    text = re.sub(r"```.*?```", "", shared.need(DOCUMENT).read_text("utf-8"), flags=re.DOTALL)
    assert re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE) == list(TESTS)
    for name in {name for names in TESTS.values() for name in names}:
        assert isinstance(globals()[name], types.FunctionType)


def test_goals() -> None:
    """*Goals*: deterministic, typed, no I/O, extensible by own steps. *Non-goals*: no lore, no trimming."""
    request = BuildRequest(message="a", history=(Message("user", "x " * 100_000),), now="2026-01-01T00:00:00Z")
    plan = vibe.build(request)
    assert isinstance(plan, Plan)
    assert plan == vibe.build(request)
    assert (plan.lore, plan.trim_report, len(plan.blocks)) == (None, None, 2)

    class Loud(StepConfig, frozen=True, forbid_unknown_fields=True, kw_only=True):
        mark: str = "!"

    def shout(state: State, config: Loud) -> None:
        assert state.result.plan is not None
        blocks = [block.with_(content=block.content + config.mark) for block in state.result.plan.blocks]
        state.result.plan = state.result.plan.with_blocks(blocks)

    built = vibe.builder(message="a").insert_step_after("plan_assembly", Step("shout", shout, Loud), mark="?").build()
    assert built.messages[0].content == "a?"


def test_entry_points() -> None:
    """*Entry Points*: build a plan, render it, fingerprint it."""
    plan = vibe.builder().history([{"role": "user", "content": "a"}]).message("b").build()
    assert plan.to_messages(dialect="openai") == [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert re.fullmatch(r"[0-9a-f]{64}", plan.fingerprint(dialect="openai"))


class Client:
    """A client of the example: it answers everything alike."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def chat_completions(self, **request: Any) -> Any:
        self.requests.append(request)
        message = {"role": "assistant", "content": "你好"}
        return types.SimpleNamespace(body={"choices": [{"message": message, "finish_reason": "stop"}]})


def test_minimal_runner_example() -> None:
    """*Minimal PromptRunner + RunnerConfig Example*: the context's policy and override reach the request that is sent."""
    from innkeeper.inference import PromptRunner, RunnerConfig

    context = {
        "language_policy": {"enabled": True, "target_lang": "zh-CN", "special_tags": ["lang"]},
        "module_configs": {"language_policy": {"style_hint": "casual"}, "no_such_step": {"a": 1}},
    }
    config = RunnerConfig.build(
        provider="openrouter", model="openai/gpt-4o-mini", context=context, llm_options_defaults={"temperature": 0.2}
    )
    client = Client()
    runner = PromptRunner(client)
    result = runner.perform(runner.build_request(config, [], system=None, strict=True, dialect="openai"))
    assert result.assistant_message["content"] == "你好"
    (sent,) = client.requests
    assert (sent["model"], sent["temperature"]) == ("openai/gpt-4o-mini", 0.2)
    (policy,) = sent["messages"]
    assert policy["role"] == "system"
    for words in ("zh-CN", "casual", "<lang code="):
        assert words in policy["content"]


def test_supported_inputs() -> None:
    """*Supported Inputs*: everything the pipeline uses has its effect."""
    steps: list[str] = []
    store = InMemoryVariables()
    plan = (
        vibe.builder()
        .history([{"role": "assistant", "content": "Hi"}])
        .message("Hello")
        .character("Sera")
        .user({"name": "Alice", "persona": "X"})
        .context({"app": 1})
        .variables_store(store)
        .token_estimator(types.SimpleNamespace(count=lambda text, _model=None: len(text), describe=dict))
        .strict(strict=True)
        .instrumenter(lambda _event, **payload: steps.append(payload.get("name", "")))
        .meta("system_template", "{% setvar seen = char %}{{ char }} {{ user }} {{ context.app }}")
        .meta("post_history_template", "{{ persona }}")
        .build()
    )
    assert [block.content for block in plan.blocks] == ["Sera Alice 1", "Hi", "X", "Hello"]
    assert store.get("seen") == "Sera"
    assert set(vibe.PIPELINE.names) <= set(steps)
    assert plan.notes == ()


def test_ignored_inputs() -> None:
    """*Accepted but ignored*: no effect on the blocks, and a note for each."""
    ignored: dict[str, Any] = {
        "dialect": "openai",
        "preset": {"a": 1},
        "lore_books": [{"entries": []}],
        "lore_engine": object(),
        "expander": object(),
    }
    plan = vibe.build(message="a", meta={"persona_depth": 2}, **ignored)
    assert plan.blocks == vibe.build(message="a").blocks
    assert len(plan.notes) == len(ignored) + 1


def test_output_contract() -> None:
    """*Output Contract*: blocks from history and message; no warnings; no trace unless one is asked for."""
    plan = vibe.build(history=[{"role": "user", "content": "a"}], message="b")
    assert [block.slot for block in plan.blocks] == ["history", "user_message"]
    assert (plan.warnings, plan.trace) == ((), None)
    warned = vibe.build(message="a", meta={"system_template": "{{"})
    assert len(warned.warnings) == 1


CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_block_semantics() -> None:
    """*Block Semantics*: slots, groups, sources; templates are Liquid, card texts are not."""
    texts = {"name": "Sera", "description": "{{ char }}", "post_history_instructions": "{{ user }}"}
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": texts}
    history = [{"role": "assistant", "content": "c", "metadata": {"tool_calls": [CALL]}}]
    plan = vibe.build(character=card, user="Bob", history=history, message=" m ")
    assert [(b.role, b.slot, b.group, b.source) for b in plan.blocks] == [
        ("system", "system", "system", "default_system"),
        ("assistant", "history", "history", "history"),
        ("system", "post_history_instructions", "system", "post_history_instructions"),
        ("user", "user_message", "history", "user_message"),
    ]
    assert [b.content for b in plan.blocks] == ["You are Sera.\n\n{{ char }}", "c", "{{ user }}", " m "]
    assert plan.to_messages("openai")[1]["tool_calls"] == [CALL]
    meta = {"system_template": "{{ char }}", "post_history_template": "{{ user }}"}
    rendered = vibe.build(character=card, user="Bob", meta=meta).blocks
    assert [(b.content, b.slot, b.group, b.source) for b in rendered] == [
        ("Sera", "system", "system", "system_template"),
        ("Bob", "post_history_instructions", "system", "post_history_template"),
    ]


def test_context_contract() -> None:
    """*Context Contract*: a hash becomes a context; top-level keys are normalised, nested ones are not; it is frozen."""
    seen: list[Context] = []

    def look(state: State, config: vibe.PlanAssemblyConfig) -> None:
        seen.append(state.context)
        with pytest.raises(AttributeError):
            state.context.chat_index = 2

    step = Step("look", look, vibe.PlanAssemblyConfig)
    vibe.builder(context={"chatIndex": 1, "toggles": {"camelKey": 1}}).insert_step_after("prepare", step).build()
    vibe.builder(context=Context({"a": 1}, type="mine", id="7")).insert_step_after("prepare", step).build()
    assert (seen[0].chat_index, seen[0].type, dict(seen[0].toggles)) == (1, "app", {"camelKey": 1})
    assert (seen[1].type, seen[1].id) == ("mine", "7")


def test_variables_store_contract() -> None:
    """*VariablesStore Contract*: one by default; a given one is written only by a build that succeeds."""
    meta = {"system_template": "{% incvar n %}{{ var.n }}"}
    assert vibe.build(message="a", meta=meta).blocks[0].content == "1"
    store = InMemoryVariables()
    for turn in ("1", "2"):
        assert vibe.build(message="a", meta=meta, variables_store=store).blocks[0].content == turn
    assert store.to_dict() == {"local": {"n": 2}, "global": {}}


def test_instrumentation() -> None:
    """*Instrumentation*: the number of blocks is a stat of plan assembly; the collector keeps it."""
    plan = vibe.build(message="a", instrumenter=TraceCollector())
    assert plan.trace is not None
    step = plan.trace.step("plan_assembly")
    assert step is not None
    assert step.stats["plan_blocks"] == 1


def test_default_steps() -> None:
    """*Default Steps (Order)*: prepare, plan assembly, language policy; the token guard of the reference comes last."""
    assert vibe.PIPELINE.names == ("prepare", "plan_assembly", "language_policy", "max_tokens")


def test_config_sources() -> None:
    """*Config Sources*: static options, then overrides of the context; unknown keys fail, unknown steps do not."""
    context = {"module_configs": {"language_policy": {"target_lang": "fr"}, "nothing": {"a": 1}}}
    builder = vibe.builder(context=context, message="a")
    plan = builder.configure_step("language_policy", enabled=True, target_lang="ja").build()
    assert plan.blocks[0].metadata["target_lang"] == "fr"
    with pytest.raises(Exception, match="invalid config for step language_policy"):
        vibe.build(context={"module_configs": {"language_policy": {"colour": 1}}})


def test_prepare() -> None:
    """*:prepare*: token settings belong to the context; as options of the step they are an error."""
    context = {"token_estimation": {"model_hint": "gpt-4o", "registry": {}}}
    assert vibe.build(message="a", context=context, meta={"default_model_hint": "x"}).notes == ()
    with pytest.raises(Exception, match="invalid config for step prepare"):
        vibe.build(configs={"prepare": {"model_hint": "gpt-4o"}})


def test_plan_assembly() -> None:
    """*:plan_assembly*: a builder of your own gives the default system text; blank disables it."""
    for text, slots in (("mine", ["system"]), ("", [])):
        options = {"plan_assembly": {"default_system_text_builder": lambda _state, text=text: text}}
        assert [block.slot for block in vibe.build(character="Sera", step_options=options).blocks] == slots


def test_language_policy() -> None:
    """*:language_policy*: outside the allowlist it warns and does nothing; strictly that is an error."""
    context = {"language_policy": {"enabled": True, "target_lang": "xx-XX"}}
    plan = vibe.build(message="a", context=context)
    assert ([block.slot for block in plan.blocks], len(plan.warnings)) == (["user_message"], 1)
    with pytest.raises(PipelineError) as caught:
        vibe.build(message="a", context=context, strict=True)
    assert isinstance(caught.value.__cause__, StrictModeError)


def test_platform_pipelines() -> None:
    """*When to Use Platform Pipelines Instead*: the request names its tavern; this is the default one."""
    assert BuildRequest().tavern == "vibe"
    assert TAVERNS["vibe"].name == "vibe"
