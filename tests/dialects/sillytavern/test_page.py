"""What the page asks its server for, by source and model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.page import page_options
from innkeeper.dialects.sillytavern.request import SAMPLING
from innkeeper.dialects.sillytavern.sources import rules_for

SAMPLERS = {"temperature", "top_p", "presence_penalty", "frequency_penalty"}


def asked(source: str, model: str = "m", **options: Any) -> dict[str, Any]:
    """The page's options with SillyTavern's defaults."""
    return page_options({**SAMPLING, **options}, source, model, Report("test"))


@dataclass(frozen=True)
class Case:
    """A source and a model with options, what is asked and what is not."""

    source: str
    model: str
    options: dict[str, Any]
    has: dict[str, Any] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()


CASES = (
    Case("openai", "gpt-4o", {"seed": 3, "n": 2}, {"seed": 3, "n": 2, "max_tokens": 300}),
    Case("openai", "gpt-4o", {"seed": -1, "n": 1}, {}, frozenset({"seed", "n", "max_completion_tokens", "stop"})),
    Case("openai", "gpt-4o", {"n": 2, "generation": "quiet", "stream": True}, {"stream": False}, frozenset({"n"})),
    Case("openai", "o3", {"stop": ["x"]}, {"max_completion_tokens": 300}, frozenset(SAMPLERS | {"max_tokens", "stop"})),
    Case("custom", "o3", {"stop": ["x"]}, {"max_tokens": 300, "temperature": 1, "stop": ["x"]}),
    Case("openai", "gpt-5.1", {}, {"temperature": 1}, frozenset({"presence_penalty", "max_tokens"})),
    Case("openai", "gpt-5.1", {"reasoning_effort": "low"}, {}, frozenset(SAMPLERS)),
    Case("openai", "gpt-5-chat-latest", {}, {"temperature": 1, "presence_penalty": 0}, frozenset({"max_tokens"})),
    Case("openai", "gpt-6-astra", {"stop": ["x"]}, {"stop": ["x"], "presence_penalty": 0}, frozenset({"temperature"})),
    Case("openrouter", "anthropic/claude-opus-5", {}, {}, frozenset(SAMPLERS | {"top_k"})),
    Case("xai", "grok-4", {"stop": ["x"]}, {"temperature": 1}, frozenset({"stop", "presence_penalty"})),
    Case("xai", "grok-4-fast-non-reasoning", {"stop": ["x"]}, {"stop": ["x"]}, frozenset({"presence_penalty"})),
    Case("moonshot", "kimi-k2.5", {}, {}, frozenset(SAMPLERS)),
    Case("claude", "claude-3-opus", {}, {"stop": [], "top_k": 0}),
    Case("mistralai", "m", {"stop": list("abcdef")}, {"stop": list("abcdef"), "safe_prompt": False}),
    Case("makersuite", "m", {"stop": ["a", "b" * 17, *"cdef"]}, {"stop": ["a", "c", "d", "e"]}),
    Case("cohere", "m", {"top_p": 1, "presence_penalty": -1}, {"top_p": 0.99, "presence_penalty": 0, "stop": []}),
    Case("zai", "m", {"stop": ["a", "b"], "top_p": 0}, {"stop": ["a"], "top_p": 0.01}, frozenset({"presence_penalty"})),
    Case("workers_ai", "m", {"top_k": 99, "seed": 0, "top_p": 0}, {"top_k": 50, "top_p": 0.001}, frozenset({"seed"})),
    Case("chutes", "m", {"top_k": 0}, {}, frozenset({"top_k"})),
    Case("minimax", "m", {"temperature": 1.7}, {"temperature": 1}),
    Case("perplexity", "m", {"stop": ["a"], "top_k": 4}, {"top_k": 4}, frozenset({"stop", "seed"})),
    Case("openai", "gpt-4o", {"logprobs": True}, {"logprobs": 5}),
    Case("groq", "m", {"logprobs": True, "logit_bias": {"5": 1}}, {}, frozenset({"logprobs", "logit_bias"})),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source} {case.model} {case.options}")
def test_options(case: Case) -> None:
    """Each source is asked what it takes, less what the model must not be sent, within the source's bounds."""
    page = asked(case.source, case.model, **case.options)
    assert {name: page.get(name) for name in case.has} == case.has
    assert not case.lacks & page.keys()


EFFORTS = (
    ("openai", "gpt-5", ("minimal", "low", "medium", "high", "high")),
    ("openai", "gpt-5.4", ("none", "low", "medium", "high", "high")),
    ("openai", "gpt-5.6", ("none", "low", "medium", "high", "xhigh")),
    ("openai", "gpt-6-astra", ("low", "low", "medium", "high", "max")),
    ("custom", "gpt-5", ("low", "low", "medium", "high", "high")),
    ("custom", "koboldcpp/m", ("minimal", "low", "medium", "high", "xhigh")),
    ("deepseek", "m", ("low", "low", "high", "high", "max")),
    ("fireworks", "m", ("low", "low", "medium", "high", "max")),
    ("claude", "m", ("min", "low", "medium", "high", "max")),
    ("electronhub", "m", (None,) * 5),
)
WORDS = ("min", "low", "medium", "high", "max")


@pytest.mark.parametrize(("source", "model", "sent"), EFFORTS)
def test_effort(source: str, model: str, sent: tuple[str | None, ...]) -> None:
    """The words of a preset in the words of the source; where nothing is chosen, nothing is sent to those that take words."""
    assert tuple(asked(source, model, reasoning_effort=word).get("reasoning_effort") for word in WORDS) == sent
    assert asked(source, model).get("reasoning_effort") == ("auto" if source == "claude" else None)


def test_what_the_list_of_models_says() -> None:
    """ElectronHub is sent an effort that the list names; OpenRouter with hidden thoughts takes the least as none."""
    listed = {"reasoning_efforts": ["low"]}
    assert asked("electronhub", reasoning_effort="min", model_list=listed)["reasoning_effort"] == "low"
    assert asked("openrouter", reasoning_effort="min", show_thoughts=False)["reasoning_effort"] == "none"


def test_tools_and_system_text() -> None:
    """The first models that reason take neither."""
    rules = rules_for("openai", "o1")
    assert any(rule.no_tools for rule in rules)
    assert any(rule.no_system for rule in rules)
    assert not rules_for("custom", "o1")


def test_a_schema() -> None:
    """A JSON schema that is asked for goes by its parts; any JSON is none."""
    shape = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": False}}
    assert asked("openai", response_format=shape)["json_schema"] == {
        "name": "a",
        "strict": False,
        "value": {"type": "object"},
    }
    assert "json_schema" not in asked("openai", response_format={"type": "json_object"})
    assert asked("workers_ai", response_format=shape, stream=True)["stream"] is False
