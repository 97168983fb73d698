"""Effort and verbosity as sources have them."""

from __future__ import annotations

import pytest

from tests.dialects.sillytavern.requests import body_of

LISTED = (
    ("openai", "gpt-5", "high"),
    ("openai", "gpt-5.1-2025-11-13", "high"),
    ("openai", "o1-2024-12-17", None),
    ("openai", "gpt-5-codex", None),
    ("openai", "gpt-5.3-chat-latest", "medium"),
    ("custom", "koboldcpp/anything", "high"),
    ("custom", "my-model", None),
)


@pytest.mark.parametrize(("source", "model", "sent"), LISTED)
def test_listed_models(source: str, model: str, sent: str | None) -> None:
    """OpenAI's models that are known by their whole names get an effort."""
    assert body_of(source=source, model=model, reasoning_effort="high").get("reasoning_effort") == sent


def test_azure_has_one_effort_for_one_model() -> None:
    """It is sent even where none was chosen."""
    assert body_of(source="azure_openai", model="gpt-5.3-chat-latest")["reasoning_effort"] == "medium"
    assert "reasoning_effort" not in body_of(source="openai", model="gpt-5.3-chat-latest")


@pytest.mark.parametrize(("model", "sent"), [("gpt-5", "low"), ("gpt-6-astra", "low"), ("gpt-4o", None)])
def test_verbosity(model: str, sent: str | None) -> None:
    """Newer models are told how much to say."""
    assert body_of(source="openai", model=model, verbosity="low").get("verbosity") == sent


def test_words_of_single_sources() -> None:
    """Grok knows low and high, NanoGPT's words are one step lower, others are told whether to think at all."""
    assert body_of(source="xai", model="grok-3-mini", reasoning_effort="medium")["reasoning_effort"] == "low"
    assert body_of(source="nanogpt", reasoning_effort="low")["reasoning"] == {"effort": "minimal"}
    assert body_of(source="nanogpt")["reasoning"] == {}
    assert body_of(source="zai", show_thoughts=False)["thinking"] == {"type": "disabled"}
