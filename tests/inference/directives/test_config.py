"""Directive configs: modes in their order, presets for providers, mistakes with their place."""

from typing import Any

import pytest

from innkeeper.inference.capabilities import Capabilities
from innkeeper.inference.directives.config import MODES, DirectivesConfig, supports
from innkeeper.prompt import ConfigError

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
