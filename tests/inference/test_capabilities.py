"""Capabilities: the table as TavernKit documents it, and the order in which its layers win."""

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.inference.capabilities import CAPABILITIES, Capabilities, ModelRule, ProviderRule, provider_id
from innkeeper.prompt import ConfigError, FrozenDict


@dataclass(frozen=True)
class Case:
    provider: str
    model: str
    can: str


FEATURES = {
    "t": "supports_tools",
    "o": "supports_response_format_json_object",
    "s": "supports_response_format_json_schema",
    "r": "supports_streaming",
    "p": "supports_parallel_tool_calls",
}

CASES = {
    "openai": Case("openai", "gpt-4o", "tosrp"),
    "openai_any_case": Case("OpenAI", "gpt-4o", "tosrp"),
    "openrouter": Case("openrouter", "meta/llama-3", "tosrp"),
    "openrouter_alias": Case("Open-Router", "meta/llama-3", "tosrp"),
    "openrouter_anthropic": Case("openrouter", "anthropic/claude-3", "torp"),
    "openrouter_openai": Case("openrouter", "openai/gpt-x", "trp"),
    "openrouter_openai_in_capitals": Case("openrouter", "OpenAI/GPT-X", "trp"),
    "openrouter_minimax": Case("openrouter", "minimax/minimax-m1", "trp"),
    "openrouter_minimax_her": Case("openrouter", "minimax/minimax-m2-her", "rp"),
    "openrouter_minimax_her_is_exact": Case("openrouter", "minimax/minimax-m2-her-2", "trp"),
    "prefix_is_anchored": Case("openrouter", "x/openai/gpt-x", "tosrp"),
    "volcano": Case("volcano", "doubao", "torp"),
    "volcano_engine": Case("volcano-engine", "doubao", "torp"),
    "unknown": Case("somebody", "openai/gpt-x", "tor"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_table(case: Case) -> None:
    """Each provider and family of models can do what the table says."""
    found = Capabilities.of(case.provider, case.model)
    assert "".join(key for key, name in FEATURES.items() if getattr(found, name)) == case.can
    assert (found.context_window_tokens, found.reserved_response_tokens) == (None, 0)


def test_names() -> None:
    """The provider is spelled as the table spells it, without resolving aliases; the model stays as it is."""
    found = Capabilities.of(" Open-Router ", " openai/GPT-X ")
    assert (found.provider, found.model) == ("open_router", "openai/GPT-X")
    assert provider_id("Volcano-Engine") == "volcano_engine"


def test_overrides_win_and_none_does_not_count() -> None:
    """What the caller knows goes over the table; an override of ``None`` is none."""
    overrides = {"supports_tools": False, "context_window_tokens": 8192, "supports_streaming": None}
    found = Capabilities.of("openai", "gpt-4o", overrides)
    assert (found.supports_tools, found.context_window_tokens, found.supports_streaming) == (False, 8192, True)


@pytest.mark.parametrize(
    "overrides",
    [
        {"supports_telepathy": True},
        {"supports_tools": "yes"},
        {"context_window_tokens": 0},
        {"context_window_tokens": 1.5},
        {"reserved_response_tokens": -1},
        {"context_window_tokens": 100, "reserved_response_tokens": 101},
    ],
)
def test_overrides_that_do_not_fit(overrides: dict[str, Any]) -> None:
    """Unknown keys, wrong types and impossible windows are refused."""
    with pytest.raises(ConfigError):
        Capabilities.of("openai", "gpt-4o", overrides)


@pytest.mark.parametrize("names", [("", "m"), ("p", " "), (None, "m"), ("p", 3)])
def test_blank_names(names: tuple[Any, Any]) -> None:
    """A provider and a model are needed."""
    with pytest.raises(ConfigError, match="must be a name"):
        Capabilities.of(*names)


def test_layers() -> None:
    """Common facts, provider facts, model rules in order, overrides: each goes over the one before. The table is a value."""
    rules = (ModelRule("a*", FrozenDict(supports_tools=True)), ModelRule("ab", FrozenDict(supports_streaming=False)))
    mine = ProviderRule(("mine",), FrozenDict(supports_tools=False), rules)
    table = CAPABILITIES.with_(mine, supports_response_format_json_object=False, context_window_tokens=100)
    first, second = Capabilities.of("mine", "ab", table=table), Capabilities.of("mine", "x", table=table)
    assert (first.supports_tools, first.supports_streaming, first.context_window_tokens) == (True, False, 100)
    assert (second.supports_tools, second.supports_streaming) == (False, True)
    assert not second.supports_response_format_json_object
    assert Capabilities.of("mine", "x").supports_tools
