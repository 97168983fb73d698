"""The table of models: which family an id belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.tokens import FAMILIES, MODELS, PROFILES, VOCABULARIES, Family, Way, bare_model_id, canonical_model_hint
from innkeeper.tokens.engines.heuristic import FEATURES

IDS = {
    "gpt-4o": "o200k",
    "gpt-4o-mini-2024-07-18": "o200k",
    "openai/gpt-4o:extended": "o200k",
    "chatgpt-4o-latest": "o200k",
    "gpt-4.1-nano": "o200k",
    "gpt-4.5-preview": "o200k",
    "gpt-5": "o200k",
    "gpt-5.6-sol": "o200k",
    "gpt-oss-120b": "o200k",
    "o1": "o200k",
    "o3-mini": "o200k",
    "openai/o4-mini-high": "o200k",
    "ft:gpt-4o-mini:shop::abc": "o200k",
    "gpt-4": "cl100k",
    "gpt-4-turbo": "cl100k",
    "gpt-4-0613": "cl100k",
    "gpt-3.5-turbo-16k": "cl100k",
    "gpt-35-turbo": "cl100k",
    "text-embedding-3-large": "cl100k",
    "claude-2.1": "claude-2",
    "claude-instant-1.2": "claude-2",
    "anthropic.claude-v2": "claude-2",
    "claude-3-5-sonnet-20241022": "claude-3",
    "anthropic/claude-3.7-sonnet:thinking": "claude-3",
    "us.anthropic.claude-3-haiku-20240307-v1:0": "claude-3",
    "claude-opus-4-20250514": "claude-3",
    "claude-opus-4@20250514": "claude-3",
    "claude-sonnet-4-5-20250929": "claude-3",
    "claude-haiku-4-5": "claude-3",
    "claude-opus-4-6": "claude-3",
    "claude-opus-4-7": "claude-4.7",
    "anthropic/claude-opus-4.8": "claude-4.7",
    "claude-opus-4-7-20260101": "claude-4.7",
    "claude-sonnet-5": "claude-4.7",
    "claude-opus-5-20260601": "claude-4.7",
    "google/gemini-2.5-pro": "gemini",
    "gemma-3-27b-it": "gemini",
    "meta-llama/llama-3.3-70b-instruct:free": "llama-3",
    "nousresearch/hermes-3-llama-3.1-405b": "llama-3",
    "accounts/fireworks/models/llama-v3p1-70b-instruct": "llama-3",
    "llama3:8b": "llama-3",
    "meta-llama/llama-4-scout": "llama-4",
    "llama-2-13b-chat": "llama-2",
    "deepseek/deepseek-r1-distill-llama-70b": "llama-3",
    "deepseek/deepseek-r1-distill-qwen-32b": "qwen-3",
    "deepseek-chat": "deepseek",
    "deepseek/deepseek-v3.2": "deepseek",
    "qwen/qwen3-235b-a22b": "qwen-3",
    "qwen/qwq-32b": "qwen-3",
    "qwen/qwen3.5-397b-a17b": "qwen-3.5",
    "mistralai/mistral-nemo": "tekken",
    "mistralai/mistral-small-3.2-24b-instruct": "tekken",
    "mistralai/mixtral-8x22b-instruct": "mistral",
    "mistral-large-2411": "mistral",
    "mistral-large-latest": "mistral-any",
    "mistral-small-2402": "mistral",
    "mistral-small-2503": "tekken",
    "mistral-medium-2312": "mistral",
    "pixtral-large-2411": "mistral",
    "z-ai/glm-4.6": "glm-4",
    "z-ai/glm-5": "glm-5",
    "minimax/minimax-m2": "minimax",
    "moonshotai/kimi-k2": "kimi",
    "x-ai/grok-4": "grok",
    "cohere/command-r-plus": "command",
    "microsoft/phi-4": "cl100k",
}


@pytest.mark.parametrize("model", IDS)
def test_family(model: str) -> None:
    """Each id, as providers and routers write it, has its family."""
    match = MODELS.find(model)
    assert match is not None
    assert match.family.name == IDS[model]


@pytest.mark.parametrize("model", ["my-model", "", "o2", "gpt", "ollama-like"[1:3]])
def test_unknown(model: str) -> None:
    """An id of no family is not guessed at."""
    assert MODELS.find(model) is None


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_families_are_whole(family: Family) -> None:
    """Every way exists, estimates have an error, and the last way needs no vocabulary."""
    for way in family.ways:
        kind, _, profile = way.tokenizer.partition(":")
        assert (profile in PROFILES) if kind == "heuristic" else (way.tokenizer in VOCABULARIES)
        assert way.error > 0 or kind != "heuristic"
    assert family.ways[-1].tokenizer.startswith("heuristic:")
    assert family.basis


def test_every_row_has_a_family() -> None:
    """No row names a family that is not there."""
    assert {family for _, family in MODELS} <= {family.name for family in FAMILIES}


def test_with_adds_rows_in_front() -> None:
    """Further rows are asked first; exact ids win over globs; the old table stays."""
    mine = Family("mine", (Way("heuristic:generic", 50),))
    table = MODELS.with_({"gpt-*": "mine", "gpt-4o": "cl100k"}, (mine,))
    names = [table.find(model).family.name for model in ("gpt-4o", "gpt-5", "o1")]  # type: ignore[union-attr]
    assert names == ["cl100k", "mine", "o200k"]
    assert MODELS.find("gpt-4o").family.name == "o200k"  # type: ignore[union-attr]


def test_with_refuses_unknown_families() -> None:
    """A row to a family that is not there is refused at once."""
    with pytest.raises(UnknownNameError):
        MODELS.with_({"x": "no-such-family"})


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


def test_the_data_is_read_as_it_was_written() -> None:
    """The files beside the readers give every pattern in its order, each with a known family, and whole profiles."""
    assert len(MODELS.rows) == len({pattern for pattern, _ in MODELS.rows})
    assert {family for _, family in MODELS.rows} <= {family.name for family in FAMILIES}
    assert MODELS.rows[0] == ("gpt-4o*", "o200k")
    assert {len(profile.weights) for profile in PROFILES.values()} == {len(FEATURES)}
