"""Tokenizers: what hostile texts cost to count."""

from __future__ import annotations

import pytest

from innkeeper.tokens.counter import Counter
from tests.limits.growth import Family, fresh, held, spending

MODELS = ("gpt-4o", "qwen3-32b", "llama-3.3-70b-instruct", "claude-2.1", "clip-vit-large-patch14", "another-model")

TEXTS = {"letters": "a", "digits": "7", "blanks": " ", "lines": "a\n", "marks": "\u0301\u0323", "ideographs": "中文"}


def _family(model: str, name: str, text: str) -> Family:
    return Family(f"{model}: {name}", lambda n: Counter().count(fresh() + text * n, model), 5_000, "tokens")


FAMILIES = tuple(_family(model, name, text) for model in MODELS for name, text in TEXTS.items())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_text_costs_twice_as_much(family: Family) -> None:
    """One long word, a run of marks on a letter, thousands of lines: time and memory grow as the text does."""
    Counter().count("x", family.name.partition(":")[0])  # its vocabulary is read
    assert held(family)
    assert spending(family)["tokens"] > 100
