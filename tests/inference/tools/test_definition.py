"""Tool definitions: read from both shapes, written without what providers refuse, filtered for show and for use."""

from typing import Any

import pytest

from innkeeper.inference.tools.definition import (
    TOOL_PRESETS,
    ToolCallingConfig,
    ToolDefinition,
    ToolPreset,
    ToolRegistry,
    merged,
)
from innkeeper.prompt import ConfigError, FrozenDict, UnknownNameError, UsageError

LOOK = {
    "name": "look",
    "description": "Look around.",
    "parameters": {"type": "object", "required": [], "properties": {}},
}


class Parameters:
    """An object that knows its schema."""

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"x": {"type": "integer"}}}


SHAPES = {
    "ours": LOOK,
    "openai": {"type": "function", "function": LOOK},
    "itself": ToolDefinition.of(LOOK),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_shapes(shape: Any) -> None:
    """All shapes are the same definition, written in the provider's shape without empty ``required`` lists."""
    function = {"name": "look", "description": "Look around.", "parameters": {"type": "object", "properties": {}}}
    assert ToolDefinition.of(shape).openai() == {"type": "function", "function": function}


def test_required_lists_that_are_empty_go_at_every_depth() -> None:
    """Empty ones go, full ones stay, and a property of that name is no such list."""
    schema = {
        "required": ["a"],
        "properties": {"a": {"type": "object", "required": [], "properties": {"required": {"type": "string"}}}},
        "anyOf": [{"required": []}],
    }
    found = ToolDefinition.of({"name": "f", "parameters": schema}).openai()["function"]["parameters"]
    inner = {"type": "object", "properties": {"required": {"type": "string"}}}
    assert found == {"required": ["a"], "properties": {"a": inner}, "anyOf": [{}]}


@pytest.mark.parametrize("parameters", [Parameters(), type("P", (), {"json_schema": Parameters().json_schema()})()])
def test_schema_from_an_object(parameters: Any) -> None:
    """An object with a ``json_schema``, a method or an attribute, gives its schema."""
    found = ToolDefinition.of({"name": "f", "parameters": parameters}).openai()
    assert found["function"]["parameters"]["properties"] == {"x": {"type": "integer"}}


def test_no_parameters() -> None:
    """A tool without parameters takes an object without properties."""
    assert ToolDefinition.of({"name": "f"}).openai()["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize("value", [None, {}, {"name": " "}, {"function": {}}, {"name": "f", "parameters": [1]}, 3])
def test_mistakes(value: Any) -> None:
    """A definition needs a name and a schema that is a mapping."""
    with pytest.raises(UsageError):
        ToolDefinition.of(value)


def test_registry() -> None:
    """Definitions by name; hidden ones are there and not offered; doubles are a mistake."""
    registry = ToolRegistry([LOOK, {"name": "hide", "exposed_to_model": False}])
    assert (list(registry), len(registry), "look" in registry) == (["look", "hide"], 2, True)
    assert [registry.offers(name) for name in ("look", "hide", "nobody")] == [True, False, False]
    assert [tool["function"]["name"] for tool in registry.openai_tools()] == ["look"]
    assert ToolRegistry.of(registry) is registry
    assert len(ToolRegistry.of(None)) == 0
    with pytest.raises(UnknownNameError, match="unknown tool 'loo'"):
        registry["loo"]
    with pytest.raises(UsageError, match="two tools"):
        ToolRegistry([LOOK, LOOK])


@pytest.mark.parametrize(
    ("allow", "deny", "kept"),
    [
        (None, None, ["a", "b", "c"]),
        (["a", "b", "x"], None, ["a", "b"]),
        (None, ["b"], ["a", "c"]),
        (["a", "b"], ["b"], ["a"]),
        ([], None, []),
    ],
)
def test_filter(allow: list[str] | None, deny: list[str] | None, kept: list[str]) -> None:
    """Allow, then deny."""
    registry = ToolRegistry([{"name": name} for name in "abc"])
    assert list(registry.filtered(allow, deny)) == kept


RELIABLE = (
    "assistant_function_call_to_tool_calls",
    "assistant_tool_calls_object_to_array",
    "assistant_tool_calls_arguments_json_string_if_hash",
)

PRESETS = {
    "unknown": ("somebody", "m", {"tool_use_mode": "relaxed", "calls_per_turn": None, "message_transforms": ()}),
    "openai": ("openai", "m", {"tool_use_mode": "enforced", "calls_per_turn": 1}),
    "openrouter": ("Open-Router", "m", {"tool_use_mode": "enforced", "calls_per_turn": 1}),
    "volcano": ("volcano", "m", {"tool_use_mode": "enforced", "calls_per_turn": 1}),
    "minimax_her": ("openrouter", "minimax/minimax-m2-her", {"tool_use_mode": "disabled"}),
    "deepseek": (
        "openrouter",
        "deepseek/deepseek-chat",
        {
            "tool_use_mode": "enforced",
            "message_transforms": ("assistant_tool_calls_reasoning_content_empty_if_missing",),
        },
    ),
    "reasoner": (
        "somebody",
        "DeepSeek-Reasoner-2",
        {
            "tool_use_mode": "relaxed",
            "message_transforms": ("assistant_tool_calls_reasoning_content_empty_if_missing",),
        },
    ),
    "gemini": (
        "somebody",
        "google/gemini-2.5-pro",
        {
            "tool_use_mode": "enforced",
            "message_transforms": ("assistant_tool_calls_signature_skip_validator_if_missing",),
        },
    ),
}


@pytest.mark.parametrize(("provider", "model", "facts"), PRESETS.values(), ids=PRESETS)
def test_presets(provider: str, model: str, facts: dict[str, Any]) -> None:
    """Each provider and family of models starts from its preset; the repairs are everyone's."""
    config = ToolCallingConfig.of(provider, model)
    assert {name: getattr(config, name) for name in facts} == facts
    assert config.response_transforms == RELIABLE
    assert config.tool_call_transforms == ("assistant_tool_calls_arguments_blank_to_empty_object",)
    assert config.fix_empty_final


def test_documented_defaults() -> None:
    """Without presets the defaults are those of the table."""
    assert ToolCallingConfig.of("p", "m", presets=()) == ToolCallingConfig()
    found = ToolCallingConfig()
    assert (found.tool_failure_policy, found.fallback_retry_count) == ("tolerated", 0)
    assert (found.max_tool_args_bytes, found.max_tool_output_bytes) == (200_000, 200_000)
    assert (found.fix_empty_final_disable_tools, found.tool_choice, found.tool_timeout) == (True, None, None)


def test_context_goes_over_presets() -> None:
    """Lists are united, overrides merged deep, of anything else the last counts; transforms of a request never override."""
    values = {
        "tool_use_mode": "relaxed",
        "response_transforms": ["mine", RELIABLE[0]],
        "request_overrides": {"provider": {"order": ["a"]}, "tools": [], "model": "x", "response_format": {}},
        "tool_denylist": ["rm"],
    }
    config = ToolCallingConfig.of("openai", "m", values)
    assert config.tool_use_mode == "relaxed"
    assert config.response_transforms == (*RELIABLE, "mine")
    assert config.request_overrides == {"parallel_tool_calls": False, "provider": {"order": ("a",)}}
    assert config.tool_denylist == ("rm",)


def test_empty_lists_clear() -> None:
    """An explicit empty list takes the presets' transforms away."""
    assert ToolCallingConfig.of("openai", "m", {"response_transforms": []}).response_transforms == ()
    assert ToolCallingConfig.of("openai", "m", {"tool_allowlist": []}).tool_allowlist == ()


@pytest.mark.parametrize(
    ("values", "cap"),
    [
        ({}, 1),
        ({"max_tool_calls_per_turn": 3}, 3),
        ({"request_overrides": {"parallel_tool_calls": True}}, None),
    ],
)
def test_calls_per_turn(values: dict[str, Any], cap: int | None) -> None:
    """One call an answer where calls are not parallel, unless a number is given."""
    assert ToolCallingConfig.of("openai", "m", values).calls_per_turn == cap


WRONG = {
    "mode": {"tool_use_mode": "always"},
    "policy": {"tool_failure_policy": "shrug"},
    "unknown_key": {"tool_mode": "relaxed"},
    "bytes": {"max_tool_args_bytes": 0},
    "count": {"fallback_retry_count": -1},
    "calls": {"max_tool_calls_per_turn": 0},
    "timeout": {"tool_timeout": 0},
    "callable": {"message_transforms": [print]},
    "overrides": {"request_overrides": [1]},
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
def test_wrong_values(values: dict[str, Any]) -> None:
    """Every mistake says where it is."""
    with pytest.raises(ConfigError) as caught:
        ToolCallingConfig.of("openai", "m", values)
    assert caught.value.where is not None
    assert caught.value.where.path == "tool_calling"


def test_merged() -> None:
    """Layers do not change, and the order of names is that in which they come."""
    low, high = {"tool_transforms": ["a", "b"], "request_overrides": {"x": {"y": 1}}}, {"tool_transforms": ("b", "c")}
    assert merged([low, high, {"request_overrides": {"x": {"z": 2}}}]) == {
        "tool_transforms": ["a", "b", "c"],
        "request_overrides": {"x": {"y": 1, "z": 2}},
    }
    assert low["tool_transforms"] == ["a", "b"]


def test_own_presets() -> None:
    """Presets are data: others take their place or go beside them."""
    mine = ToolPreset(FrozenDict(tool_use_mode="disabled"), providers=("openai",), models=("tiny-*",))
    assert ToolCallingConfig.of("openai", "tiny-1", presets=(*TOOL_PRESETS, mine)).tool_use_mode == "disabled"
    assert ToolCallingConfig.of("openai", "big-1", presets=(*TOOL_PRESETS, mine)).tool_use_mode == "enforced"
