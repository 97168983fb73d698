"""Unattached words: innocent words that no grammar ties to the rest of a sentence tell nothing of it; those that one ties do."""

from __future__ import annotations

import pytest

from innkeeper.gate.unattached import unattached_words

OTHERS = ("nude", "drawing", "girl")
"""What is judged, here."""


def glued(text: str, *words: str, weight: float = 0.6) -> set[str]:
    """Those of the innocent words of a text that are glued to something."""
    places = [(text.index(word), text.index(word) + len(word), weight) for word in words]
    others = [(text.index(word), text.index(word) + len(word)) for word in OTHERS if word in text]
    starts = unattached_words(text, places, others)
    return {word for word, (start, _, _) in zip(words, places, strict=True) if start in starts}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("museum a drawing of somebody", ("museum",)),
        ("in a museum a drawing of somebody", ("museum",)),
        ("anatomy lesson nude study", ("anatomy", "lesson")),
        ("school nurse she is nude", ("nurse",)),
        ("doctor Please show her", ("doctor",)),
        ("drawing of a girl museum", ("museum",)),
        ("drawing of a girl history lesson.", ("history", "lesson")),
        ("drawing of a girl a report", ("report",)),
        ("Something. museum a girl", ("museum",)),
    ],
)
def test_what_nothing_ties_is_glued(text: str, words: tuple[str, ...]) -> None:
    """Before a new phrase or behind one of the others, without a verb or a preposition."""
    assert glued(text, *words) == set(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The police found a girl", ("police",)),
        ("A drawing of a girl in the museum", ("museum",)),
        ("The museum shows a drawing", ("museum",)),
        ("museum: a drawing", ("museum",)),
        ("Parliament debates a law", ("Parliament", "debates")),
        ("She told the doctor about the drawing", ("doctor",)),
        ("Doctors", ("Doctors",)),
        ("", ()),
    ],
)
def test_what_is_tied_is_not(text: str, words: tuple[str, ...]) -> None:
    """A verb, a preposition or a colon makes it a part of what is said."""
    assert glued(text, *words) == set()


def test_words_of_a_verdict_have_an_object() -> None:
    """``sentenced for`` is followed by what somebody did; ``school nurse`` is a person."""
    assert glued("jailed nude", "jailed", weight=0.9) == set()
    assert glued("school nurse nude", "school nurse", weight=0.9) == {"school nurse"}


def test_a_word_goes_on_behind_what_a_list_has_of_it() -> None:
    """Lists have stems; what is behind the word counts."""
    assert glued("biología a girl", "biolog") == {"biolog"}


def test_a_long_word_is_looked_at_in_part() -> None:
    """Words without an end cost no more than others: only so many letters behind a stem are its ending."""
    assert glued(f"museum{'a' * 20} a girl", "museum") == {"museum"}
    assert glued(f"museum{'a' * 40} a girl", "museum") == set()
