"""Model ids: what is left of them, and the hints VibeTavern's registry uses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.tokens import bare_model_id, canonical_model_hint

HINTS = {
    "openai/gpt-4o": "gpt-4o",
    "gpt-4o:extended": "gpt-4o",
    "deepseek/deepseek-v3.2-exp:free": "deepseek-v3.2",
    "deepseek/deepseek-chat-v3-0324:nitro": "deepseek-v3",
    "deepseek-ai/DeepSeek-V3-0324": "deepseek-v3",
    "deepseek-reasoner": "deepseek-v3.2",
    "qwen/qwen3-next-80b-a3b-instruct": "qwen3-next-80b-a3b-instruct",
    "qwen/qwen3-235b-a22b": "qwen3-235b-a22b-instruct-2507",
    "qwen/qwen3-30b-a3b-instruct-2507": "qwen3-30b-a3b-instruct",
    "qwen/qwen3-14b:free": "qwen3",
    "z-ai/glm-4.7-flash": "glm-4.7-flash",
    "z-ai/glm-4.7": "glm-4.7",
    "moonshotai/kimi-k2.5": "kimi-k2.5",
    "minimax/minimax-m2": "minimax-m2.1",
    "anthropic/claude-3.7-sonnet:thinking": "anthropic/claude-3.7-sonnet",
    "": "",
}


@pytest.mark.parametrize("model", HINTS)
def test_canonical_hints(model: str) -> None:
    """The rules apply in their order, after everything from the colon on is dropped."""
    assert canonical_model_hint(model) == HINTS[model]


BARE = {
    "Meta-Llama/Llama-3.1-8B-Instruct:free": "llama-3.1-8b-instruct",
    "ft:gpt-4o-mini:shop::abc": "gpt-4o-mini",
    "accounts/fireworks/models/llama-v3p1-8b": "llama-v3p1-8b",
    "models/gemini-2.5-pro": "gemini-2.5-pro",
    " gpt-4 ": "gpt-4",
    "folder/": "folder",
}


@pytest.mark.parametrize("model", BARE)
def test_bare_ids(model: str) -> None:
    """Vendor, route, variant and fine-tuning parts are dropped."""
    assert bare_model_id(model) == BARE[model]


@given(st.text(max_size=60))
def test_never_raises(model: str) -> None:
    """Any text is an id."""
    assert isinstance(canonical_model_hint(model) + bare_model_id(model), str)
