"""Estimates: near the exact counts in every script, never free, never slow, never failing."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.tokens import PROFILES, VOCABULARIES, CharsPerToken, Utf8Bytes, estimator
from innkeeper.tokens.engines.heuristic import FEATURES, features
from innkeeper.tokens.engines.loading import available, engine_of
from tests.tokens.texts import CHINESE, HOSTILE, LANGUAGES, TRADITIONAL

EXACT = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
    "claude-2": "claude-2",
    "llama-3": "llama-3",
    "qwen-3": "qwen-3",
    "deepseek": "deepseek",
    "tekken": "tekken",
    "mistral": "mistral-v3",
}
"""Profiles whose vocabulary the test environment has."""

WITHIN = 0.20
"""What any language may be off by; `BETTER` has those that hold more."""

BETTER = {
    "english": 0.05,
    "chinese": 0.15,
    "traditional chinese": 0.15,
    "japanese": 0.15,
    "korean": 0.15,
    "russian": 0.15,
    "greek": 0.15,
    "hindi": 0.15,
    "thai": 0.15,
    "hebrew": 0.15,
    "french": 0.15,
    "german": 0.15,
    "spanish": 0.15,
    "code": 0.15,
    "emoji": 0.15,
}
"""What most languages hold for the default vocabulary."""


def _off(profile: str, text: str) -> float:
    exact = engine_of(VOCABULARIES[EXACT[profile]]).count(text)
    return estimator(profile).count(text) / exact - 1


@pytest.mark.parametrize("profile", ["o200k", "cl100k"])
@pytest.mark.parametrize("text", [CHINESE, TRADITIONAL], ids=["simplified", "traditional"])
def test_2000_chinese_characters_are_within_15_percent(profile: str, text: str) -> None:
    """2,000 Chinese characters are counted within 15 % of the family's exact count."""
    long = (text * 10)[:2000]
    assert abs(_off(profile, long)) <= 0.15


@pytest.mark.parametrize("profile", [name for name in EXACT if available(VOCABULARIES[EXACT[name]])])
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_script_is_near_the_exact_count(profile: str, language: str) -> None:
    """Prose of each script, code and emoji stay within the tolerance of the profile's own vocabulary."""
    assert abs(_off(profile, LANGUAGES[language])) <= WITHIN


@pytest.mark.parametrize("language", BETTER)
def test_main_languages_are_nearer(language: str) -> None:
    """Nearly all languages are within 15 % for the vocabulary of OpenAI's current models."""
    assert abs(_off("o200k", LANGUAGES[language])) <= BETTER[language]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_cost_something(profile: str, name: str) -> None:
    """No text but the empty one is free, and none costs more than 4 tokens a byte."""
    text = HOSTILE[name]
    count = estimator(profile).count(text)
    assert (count == 0) is (text == "")
    assert count <= 4 * len(text.encode("utf-8", "surrogatepass"))


@given(st.text(max_size=200))
def test_every_character_is_in_a_feature(text: str) -> None:
    """What is not a single space leaves a trace in the features; all are at least 0."""
    found = features(text)
    assert len(found) == len(FEATURES)
    assert min(found) >= 0
    assert any(found) is bool(text.replace(" ", "")) or text.isspace()


@given(st.text(max_size=100), st.text(max_size=100))
def test_more_text_costs_more(first: str, second: str) -> None:
    """A text with another behind it costs no less than 70 % of both apart, and hardly more than both."""
    engine = estimator("o200k")
    both, apart = engine.count(first + second), engine.count(first) + engine.count(second)
    assert 0.7 * apart - 4 <= both <= 1.4 * apart + 4


@dataclass(frozen=True)
class Case:
    name: str
    chars: float
    text: str
    tokens: int


CASES = [
    Case("rounds up", 4.0, "hello", 2),
    Case("fits", 4.0, "word", 1),
    Case("empty", 4.0, "", 0),
    Case("one a token", 1.0, "abc", 3),
    Case("characters, not bytes", 2.0, "世界世界", 2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_characters_per_token(case: Case) -> None:
    """Characters divided by characters a token, rounded up."""
    assert CharsPerToken(case.chars).count(case.text) == case.tokens


@given(st.text(max_size=100))
def test_bytes_per_token(text: str) -> None:
    """UTF-8 bytes divided by 3.35, rounded up."""
    assert Utf8Bytes().count(text) == math.ceil(len(text.encode("utf-8", "surrogatepass")) / 3.35)


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_have_a_weight_for_each_feature(name: str) -> None:
    """Weights and features go together, none is negative, and the error is stated."""
    profile = PROFILES[name]
    assert len(profile.weights) == len(FEATURES)
    assert min(profile.weights) >= 0
    assert 0 < profile.typical <= profile.error


def test_unknown_profile() -> None:
    """A profile that does not exist is refused by name."""
    with pytest.raises(UnknownNameError, match="profile"):
        estimator("no-such")


def test_estimates_have_no_tokens() -> None:
    """An estimate only has a count."""
    assert not estimator("o200k").tokenize("hello").detailed
