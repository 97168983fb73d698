"""Directive configs: modes in their order, presets for providers, mistakes with their place."""

from typing import Any

import pytest

from innkeeper.inference.capabilities import Capabilities
from innkeeper.inference.run.config import MODES, RESERVED_OPTIONS, DirectivesConfig, RunnerConfig, supports
from innkeeper.prompt import (
    Block,
    BuildRequest,
    ConfigError,
    Context,
    NoConfig,
    Pipeline,
    Plan,
    Ports,
    State,
    Step,
    StepConfig,
    UnknownNameError,
    UsageError,
)
from innkeeper.taverns import TAVERNS
from innkeeper.taverns.tavern import Tavern

MODE_CASES = {
    "default": ({}, MODES),
    "order": ({"modes": ["prompt_only", "json_object"]}, ("prompt_only", "json_object")),
    "spelling": ({"modes": ["JSON-Object", "json_object"]}, ("json_object",)),
    "unknown_dropped": ({"modes": ["xml", "prompt_only"]}, ("prompt_only",)),
    "none_left": ({"modes": ["xml"]}, MODES),
    "empty": ({"modes": []}, MODES),
}


@pytest.mark.parametrize(("values", "modes"), MODE_CASES.values(), ids=MODE_CASES)
def test_modes(values: dict[str, Any], modes: tuple[str, ...]) -> None:
    """Modes are tried as given; without a known one all are."""
    assert DirectivesConfig.of("openai", values).modes == modes


@pytest.mark.parametrize(
    ("mode", "sent"),
    [
        ("json_schema", {"a": 1, "provider": {"require_parameters": True, "order": ["x"]}}),
        ("prompt_only", {"a": 1, "provider": {"require_parameters": False}}),
    ],
)
def test_overrides(mode: str, sent: dict[str, Any]) -> None:
    """Fields for all requests, and for structured or unstructured ones, over the provider's preset."""
    values = {"request_overrides": {"a": 1}, "structured_request_overrides": {"provider": {"order": ["x"]}}}
    assert DirectivesConfig.of("OpenRouter", values).overrides(mode) == sent
    assert DirectivesConfig.of("openai").overrides(mode) == {}


@pytest.mark.parametrize(
    "values", [{"mode": "x"}, {"modes": "json"}, {"repair_retry_count": -1}, {"repair_retry_count": "1"}, [1]]
)
def test_wrong_values(values: Any) -> None:
    """Every mistake says where it is."""
    with pytest.raises(ConfigError) as caught:
        DirectivesConfig.of("openai", values)
    assert caught.value.where is not None
    assert caught.value.where.path == "directives"


def test_the_documented_capability_case() -> None:
    """A model of OpenAI's behind OpenRouter has neither structured mode; prompts work everywhere."""
    able = Capabilities.of("openrouter", "openai/gpt-x")
    assert [supports(mode, able) for mode in MODES] == [False, False, True]


class GuardConfig(StepConfig, frozen=True, forbid_unknown_fields=True, kw_only=True):
    max_tokens: int | None = None
    reserve_tokens: int = 0
    mode: str = "warn"


def plan_step(state: State, _config: Any) -> None:
    """The smallest plan."""
    state.result.plan = Plan(blocks=(Block(role="user", content=state.request.message),))


SMALL = Pipeline(Step("plan", plan_step, NoConfig))
GUARDED = SMALL.append(Step("max_tokens", lambda _state, _config: None, GuardConfig))


def test_defaults() -> None:
    """Provider and model suffice: the vibe tavern, its steps, and presets for the provider."""
    config = RunnerConfig.build("Open-Router", "openai/gpt-4o-mini", tavern="vibe")
    assert (config.provider, config.model, config.tavern) == ("open_router", "openai/gpt-4o-mini", "vibe")
    assert config.pipeline.names == TAVERNS["vibe"].pipeline.names
    assert config.tool_calling.tool_use_mode == "enforced"
    assert not config.output_tags.enabled
    assert config.context.type == "vibe_tavern"
    assert "gpt-4o-mini" in repr(config)


def test_a_pipeline_without_language_policy() -> None:
    """A pipeline that has no language step serves; the context's policy is kept for whoever asks."""
    config = RunnerConfig.build("openai", "m", {"language_policy": {"enabled": True}}, pipeline=SMALL)
    assert config.pipeline.names == ("plan",)
    assert config.language_policy == {"enabled": True}


def test_language_policy_layers() -> None:
    """The context's policy goes over the step's defaults, ``step_options`` over both, whatever their spelling."""
    context = {"language_policy": {"enabled": True, "target_lang": "ja-JP", "style_hint": "plain"}}
    options = {"LanguagePolicy": {"style_hint": "warm"}}
    config = RunnerConfig.build("openai", "m", context, step_options=options, tavern="vibe")
    assert config.pipeline.options("language_policy") == {
        "enabled": True,
        "target_lang": "ja-JP",
        "style_hint": "warm",
    }
    assert "enabled" not in TAVERNS["vibe"].pipeline.options("language_policy")


def test_window_becomes_the_guards_default() -> None:
    """A known window is the guard's limit, and its reserve; explicit options win, of the pipeline and of the caller."""
    overrides = {"context_window_tokens": 8192, "reserved_response_tokens": 512}
    config = RunnerConfig.build("openai", "m", pipeline=GUARDED, capabilities_overrides=overrides)
    assert config.pipeline.options("max_tokens") == {"max_tokens": 8192, "reserve_tokens": 512, "mode": "error"}
    own = GUARDED.configure("max_tokens", mode="warn")
    config = RunnerConfig.build(
        "openai",
        "m",
        pipeline=own,
        capabilities_overrides=overrides,
        step_options={"max_tokens": {"reserve_tokens": 64}},
    )
    assert config.pipeline.options("max_tokens") == {"max_tokens": 8192, "reserve_tokens": 64, "mode": "warn"}
    assert RunnerConfig.build("openai", "m", pipeline=GUARDED).pipeline.options("max_tokens") == {}


@pytest.mark.parametrize("name", RESERVED_OPTIONS)
def test_reserved_defaults(name: str) -> None:
    """What belongs to one request cannot be a default."""
    with pytest.raises(ConfigError, match=name):
        RunnerConfig.build("openai", "m", llm_options_defaults={name: None}, tavern="vibe")


WRONG = {
    "unknown_step": ({"step_options": {"lore": {}}}, UnknownNameError),
    "step_options_no_mapping": ({"step_options": {"language_policy": 3}}, ConfigError),
    "unknown_step_key": ({"step_options": {"language_policy": {"langauge": "x"}}}, ConfigError),
    "unknown_tavern": ({"tavern": "inn"}, UnknownNameError),
    "pipeline_of_another_kind": ({"pipeline": [SMALL]}, UsageError),
    "defaults_no_mapping": ({"llm_options_defaults": [1]}, ConfigError),
    "context_no_mapping": ({"context": "x"}, UsageError),
    "section_no_mapping": ({"context": {"language_policy": "ja"}}, ConfigError),
    "tool_calling_no_mapping": ({"context": {"tool_calling": []}}, ConfigError),
    "tool_mode": ({"context": {"tool_calling": {"tool_use_mode": "often"}}}, ConfigError),
    "directives_key": ({"context": {"directives": {"mode": "x"}}}, ConfigError),
    "output_tags_key": ({"context": {"output_tags": {"rule": []}}}, ConfigError),
    "capability": ({"capabilities_overrides": {"x": 1}}, ConfigError),
}


@pytest.mark.parametrize(("arguments", "error"), WRONG.values(), ids=WRONG)
def test_mistakes(arguments: dict[str, Any], error: type[Exception]) -> None:
    """Each mistake is found when the config is built, as the error that it is."""
    with pytest.raises(error):
        RunnerConfig.build("openai", "m", **{"tavern": "vibe", **arguments})


def test_arguments_stay_as_they_are() -> None:
    """Neither the context nor the options of the caller change, nor does the config when they change later."""
    context = {"languagePolicy": {"enabled": True, "target_lang": "ja-JP"}}
    defaults = {"temperature": 0.2, "nested": {"a": [1]}}
    config = RunnerConfig.build("openai", "m", context, llm_options_defaults=defaults, tavern="vibe")
    defaults["nested"]["a"].append(2)  # type: ignore[index]
    context["languagePolicy"]["enabled"] = False
    assert config.llm_options_defaults == {"temperature": 0.2, "nested": {"a": (1,)}}
    assert config.language_policy["enabled"] is True
    with pytest.raises(AttributeError):
        config.model = "other"  # type: ignore[misc]


def test_context_is_kept_whole() -> None:
    """A context of the caller's is taken with its type and module configs."""
    context = Context({"a": 1}, type="app", module_configs={"plan_assembly": {}})
    assert RunnerConfig.build("openai", "m", context, tavern="vibe").context is context


def test_taverns_that_choose() -> None:
    """Where a tavern has several pipelines, each request gets its own, with the config's options for the steps it has."""
    house = Tavern(
        name="inn", pipeline=GUARDED, choose=lambda request: SMALL if request.profile == "small" else GUARDED
    )
    config = RunnerConfig.build(
        "openai", "gpt-4o", tavern="inn", taverns=TAVERNS.with_(house), step_options={"max_tokens": {"mode": "off"}}
    )
    small, large = (config.plan(BuildRequest(profile=profile), Ports()) for profile in ("small", None))
    assert small.request is not None
    assert large.request is not None
    assert (small.request.step_options, small.notes) == ({}, ())
    assert large.request.step_options == {"max_tokens": {"mode": "off"}}


@pytest.mark.parametrize(
    ("arguments", "tavern"),
    [
        ({}, "silly"),
        ({"context": {"language_policy": {"enabled": True}}}, "vibe"),
        ({"step_options": {"language_policy": {"style_hint": "warm"}}}, "vibe"),
        ({"tavern": "smart"}, "smart"),
    ],
)
def test_the_usual_tavern_is_that_of_all_doors(arguments: dict[str, Any], tavern: str) -> None:
    """Without a tavern it is silly, as for the command line and the service; a policy of language is a step of vibe's."""
    assert RunnerConfig.build("openai", "m", **arguments).tavern == tavern


@pytest.mark.parametrize(
    ("name", "near"), [("opnai", "openai"), ("Open-Ruter", "openrouter"), ("antropic", "anthropic")]
)
def test_a_misspelt_provider_is_refused(name: str, near: str) -> None:
    """With the nearest name; a name that is like none is a provider of one's own."""
    with pytest.raises(UnknownNameError, match="unknown provider") as caught:
        RunnerConfig.build(name, "m")
    assert near in str(caught.value.hint)
    assert RunnerConfig.build("my-own-server", "m").provider == "my_own_server"
