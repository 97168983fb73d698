"""The table of sources, and the little that single ones do."""

from __future__ import annotations

import pytest

from innkeeper.dialects.sillytavern.sources import SOURCES
from tests.dialects.sillytavern.requests import TOOL, body_of, said


def test_there_are_twenty_six() -> None:
    """All chat-completion sources of SillyTavern 1.19."""
    assert len(SOURCES) == 26


@pytest.mark.parametrize(
    ("source", "mode"), [("perplexity", "strict"), ("deepseek", "semi_tools"), ("minimax", "merge_tools")]
)
def test_a_mode_of_its_own(source: str, mode: str) -> None:
    """Some sources are post-processed whatever the preset says."""
    assert SOURCES[source].mode == mode
    assert len(body_of(said("user", "a"), said("user", "b"), source=source)["messages"]) == 1


def test_what_single_sources_do() -> None:
    """One line each."""
    assert "model" not in body_of(source="azure_openai", model="gpt-4o")
    assert body_of(source="electronhub", enable_web_search=True, stop=["x"])["web_search"] is True
    assert "stop" not in body_of(source="electronhub", stop=["x"])
    assert body_of(source="nanogpt", model="m", enable_web_search=True)["model"] == "m:online"
    assert body_of(source="nanogpt", nanogpt_payg_override=True)["billing_mode"] == "paygo"
    assert body_of(said("user", "a"), said("assistant", "b"), source="moonshot")["messages"][-1]["partial"] is True
    assert body_of(source="minimax", model="M2-her", max_tokens=9000)["max_tokens"] == 2048
    assert "tool_choice" not in body_of(source="ai21", tools=(TOOL,))


def test_pollinations_always_has_a_seed() -> None:
    """One of the prompt's own where none is chosen: the same for the same prompt."""
    assert body_of(source="pollinations", seed=4)["seed"] == 4
    one, other = (body_of(said("user", text), source="pollinations")["seed"] for text in "ab")
    assert one != other
    assert body_of(said("user", "a"), source="pollinations")["seed"] == one
