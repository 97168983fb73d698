"""The user's input before it is stored."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.macros.engine.errors import UnknownMacroError
from innkeeper.prompt import (
    Clock,
    ConfigError,
    Context,
    InMemoryHooks,
    InMemoryInjections,
    InMemoryVariables,
    NoConfig,
    NoteKind,
    Plan,
    State,
    Step,
)
from innkeeper.prompt.errors import PipelineError
from innkeeper.taverns import vibe
from innkeeper.taverns.vibe import preprocess_user_input
from innkeeper.taverns.vibe.prepare import INPUTS, PREPARE, Prepared, prepared

ON = {"toggles": {"expand_user_input_macros": True}}


@pytest.mark.parametrize(
    ("context", "enabled", "text"),
    [
        (None, None, "{{ char }}"),
        (ON, None, "Sera"),
        (ON, False, "{{ char }}"),
        (None, True, "Sera"),
        (Context(ON), None, "Sera"),
        ({"toggles": {"expand_user_input_macros": "true"}}, None, "{{ char }}"),
        ({"toggles": {"expand_user_input_macros": 1}}, None, "{{ char }}"),
        ({"toggles": {"expandUserInputMacros": True}}, None, "{{ char }}"),
        ({"toggles": True}, None, "{{ char }}"),
    ],
)
def test_toggle(context: Any, enabled: bool | None, text: str) -> None:
    """It is on where it is said so, or where the context's toggle is exactly true under exactly its name."""
    assert preprocess_user_input("{{ char }}", context=context, enabled=enabled, assigns={"char": "Sera"}).text == text


def test_writes_variables_once() -> None:
    """Write tags change the chat's variables: what is stored is their result."""
    store = InMemoryVariables()
    stored = preprocess_user_input("{% incvar n %}turn {{ var.n }}", variables=store, enabled=True).text
    assert (stored, store.get("n")) == ("turn 1", 1)


def test_errors_and_context() -> None:
    """Strictly an error is raised, otherwise the input stays as it is; filters read the context and the clock."""
    with pytest.raises(UnknownMacroError):
        preprocess_user_input("{{ x }}", enabled=True, strict=True)
    assert preprocess_user_input("{{ x", enabled=True).text == "{{ x"
    clock = Clock.at("2026-01-15T00:00:00Z")
    context = {"rng_word": "seed"}
    text = "{{ 'a,b,c' | pick }} {{ nil | isodate }}"
    assert preprocess_user_input(text, enabled=True, context=context, clock=clock).text == "b 2026-1-15"


class Estimator:
    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return 7


def _prepared(**inputs: Any) -> Prepared:
    """What *prepare* left behind in a build with these inputs."""
    found: list[Prepared] = []

    def look(state: State, config: NoConfig) -> None:
        found.append(prepared(state))

    vibe.builder(**inputs).insert_step_after("prepare", Step("look", look, NoConfig)).build()
    return found[0]


@dataclass(frozen=True)
class Hint:
    id: str
    hint: str | None
    source: str | None
    inputs: dict[str, Any] = field(default_factory=dict)


CONTEXT = {"token_estimation": {"model_hint": "openai/gpt-4o:free"}}

HINTS = [
    Hint("none", None, None),
    Hint("request", "gpt-4o", "default", {"model": "openai/gpt-4o:free"}),
    Hint(
        "default",
        "deepseek-v3",
        "default",
        {"meta": {"default_model_hint": "deepseek/deepseek-chat-v3-0324"}, "model": "x"},
    ),
    Hint("context over default", "gpt-4o", "context", {"context": CONTEXT, "meta": {"default_model_hint": "x"}}),
    Hint("explicit as it is", "My/Model:tag", "meta", {"context": CONTEXT, "meta": {"model_hint": " My/Model:tag "}}),
    Hint("blank ones do not count", "gpt-4o", "context", {"context": CONTEXT, "meta": {"model_hint": "  "}}),
]


@pytest.mark.parametrize("case", HINTS, ids=lambda case: case.id)
def test_model_hint(case: Hint) -> None:
    """The hint comes from the first source that has one, and says from which."""
    found = _prepared(**case.inputs)
    assert (found.model_hint, found.model_hint_source) == (case.hint, case.source)


def test_counter_given_with_the_build() -> None:
    """A counter that is given wins over the context's."""
    found = _prepared(token_estimator=Estimator(), context={"token_estimation": {"registry": {}}})
    assert found.token_counter is not None
    assert (found.token_counter.count("x"), found.token_counter_source) == (7, "input")


def test_counter_of_the_context() -> None:
    """The context may bring an estimator, or a registry for the usual counter."""
    found = _prepared(context={"token_estimation": {"token_estimator": Estimator()}})
    assert found.token_counter is not None
    assert (found.token_counter.count("x"), found.token_counter_source) == (7, "context")
    registry = {"toy*": {"tokenizer_family": "heuristic", "chars_per_token": 1}}
    found = _prepared(context={"token_estimation": {"registry": registry}})
    assert found.token_counter is not None
    assert (found.token_counter.count("four", "toy-1"), found.token_counter_source) == (4, "context_registry")


def test_defect_b24_no_tokenizer_is_needed() -> None:
    """Without any tokenizer configured a build succeeds, also for a model that nobody knows (B24)."""
    found = _prepared(model="nobody/knows-this", message="a")
    assert (found.token_counter, found.token_counter_source) == (None, None)


@pytest.mark.parametrize(
    "settings", [5, "text", {"token_estimator": Ellipsis}, {"registry": ["a"]}, {"token_estimator": "text"}], ids=str
)
def test_wrong_token_settings(settings: Any) -> None:
    """Token settings that cannot be meant are refused, with their place."""
    with pytest.raises(PipelineError) as caught:
        vibe.build(context={"token_estimation": settings})
    assert caught.value.step == "prepare"
    assert isinstance(caught.value.__cause__, ConfigError)
    assert str(caught.value.where) == "context: token_estimation"


def test_prepare_has_no_options() -> None:
    """Token settings under the step's own name are an error, before anything runs."""
    started: list[str] = []
    with pytest.raises(ConfigError, match="prepare"):
        vibe.build(
            context={"module_configs": {"prepare": {"model_hint": "x"}}},
            instrumenter=lambda event, **_: started.append(event),
        )
    assert started == []


IGNORED: dict[str, Any] = {
    "dialect": "anthropic",
    "preset": {"name": "p"},
    "lore_books": [{"entries": []}],
    "force_world_info": ["x"],
    "lore_engine": object(),
    "expander": object(),
    "macro_registry": object(),
    "generation_type": "continue",
    "greeting": 1,
    "group": {"members": []},
    "authors_note": {"depth": 1},
    "macro_vars": {"a": 1},
    "injections": [{"id": "a", "content": "x"}],
    "injection_registry": InMemoryInjections(),
    "hook_registry": InMemoryHooks(),
    "settings": {"a": 1},
    "lore_state": {"a": 1},
    "profile": "p",
    "locale": "de",
    "seed": 1,
}


@pytest.mark.parametrize("name", IGNORED)
def test_inputs_without_effect_are_noted(name: str) -> None:
    """An input that this tavern does nothing with changes no message, and is noted with a reason."""
    plan = vibe.build(message="a", history=[{"role": "assistant", "content": "Hi"}], **{name: IGNORED[name]})
    usual = vibe.build(message="a", history=[{"role": "assistant", "content": "Hi"}])
    assert plan.blocks == usual.blocks
    assert [note.kind for note in plan.notes] == [NoteKind.IGNORED]
    assert "has no effect: " in plan.notes[0].message
    assert usual.notes == ()


def test_used_inputs_are_not_noted() -> None:
    """What is used, and what is carried to the plan, is not called ignored."""
    plan = vibe.build(
        character="Sera",
        user="Bob",
        history=[{"role": "user", "content": "a"}],
        message="b",
        context={"a": 1},
        strict=True,
        meta=dict.fromkeys((*(INPUTS.meta or ()), "model_hint", "default_model_hint"), "x"),
        model="m",
        context_window=8_192,
        options={"temperature": 1},
        variables={"local": {"a": 1}},
        tools=[{"name": "t"}],
        now="2026-01-01T00:00:00Z",
        step_options={"plan_assembly": {}},
        instrumenter=lambda *_, **__: None,
    )
    assert plan.notes == ()
    assert (plan.model, plan.options, plan.tools[0].name) == ("m", {"temperature": 1}, "t")


@pytest.mark.parametrize(
    "inputs", [{"meta": {"persona_position": 1}}, {"context": {"token_estimation": {"root": "/"}}}], ids=str
)
def test_unknown_settings_are_noted(inputs: dict[str, Any]) -> None:
    """Meta keys of other taverns and unknown token settings are noted."""
    assert [note.kind for note in vibe.build(message="a", **inputs).notes] == [NoteKind.IGNORED]


def test_nobody_prepared() -> None:
    """Where *prepare* did not run, nobody takes part; the other steps do without."""
    plan = vibe.builder(character="Sera", message="a").remove_step("prepare").build()
    assert isinstance(plan, Plan)
    assert [block.slot for block in plan.blocks] == ["user_message"]
    assert PREPARE.name == "prepare"
