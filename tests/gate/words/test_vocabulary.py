"""The vocabulary: words of all languages in every kind of view, with what covers them."""

import pytest

from innkeeper.gate.words.vocabulary import vocabulary_of
from innkeeper.text.views import views_of


def entries(text: str) -> set[str]:
    """The entries found in all views of a text."""
    return {term.entry for view in views_of(text) for _, _, term in vocabulary_of(view).hits(view).terms}


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("a toddler", "age.toddler"),
        ("T0DDL3R", "age.toddler"),
        ("t o d d l e r", "age.toddler"),
        ("школьницу", "age.школьни"),
        ("女子高生です", "age.女子高生"),
        ("여고생이다", "age.여고생"),
        ("eine Schülerin", "age.schulerin"),
        ("昨天 初中生", "age.初中生"),
        ("ヌ ー ド", "sexual.ヌード"),
    ],
)
def test_words_are_found(text: str, entry: str) -> None:
    """With borders or endings as their script has them, and however they are written."""
    assert entry in entries(text)


@pytest.mark.parametrize("text", ["teenth", "preschooling", "a minor key", "child process", "tot ziens"[:2], "kinda"])
def test_parts_of_words_and_harmless_phrases_are_not(text: str) -> None:
    """A word inside another, and one that a phrase gives another meaning."""
    assert not {entry for entry in entries(text) if entry.startswith("age.")}


def test_the_longer_word_counts() -> None:
    """Of words inside one another only the outer one is a find."""
    assert entries("sexual health") == {"educational.sexual-health"}


def test_each_kind_is_made_once() -> None:
    """Views of a kind share their vocabulary."""
    one, other = next(views_of("a")), next(views_of("b"))
    assert vocabulary_of(one) is vocabulary_of(other)


@pytest.mark.parametrize(("text", "way"), [("fvkgrra", "rot13"), ("neetxis", "back"), ("sixteen", None)])
def test_texts_written_in_another_way_are_known(text: str, way: str | None) -> None:
    """By a word of weight in it."""
    view = next(views_of(text))
    assert vocabulary_of(view).hits(view).turned == ({way} if way else set())
