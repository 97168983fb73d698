"""Families: a few phrases tell of one, and anything else does not."""

from __future__ import annotations

import pytest

from innkeeper.gate.kinship import kinship_phrases


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("they raised two children", ["raised two children"]),
        ("a mother of three", []),
        ("a mother of three kids", ["mother of three kids"]),
        ("she looked after the children", ["looked after the children"]),
        ("a family with several children", ["family with several children"]),
        ("a toy for children and adults", ["for children and adults"]),
        ("at the school reunion", ["school reunion"]),
        ("put the kids to bed", ["put the kids to bed"]),
        ("while their little children played", ["their little children"]),
        ("anna 41 geschieden zwei kinder", ["geschieden zwei kinder"]),
        ("veuve avec deux enfants", ["veuve avec deux enfants"]),
        ("madre de tres hijos", ["madre de tres hijos"]),
        ("zwei kinder im garten", []),
        ("in love with her children", []),
        ("he kissed their kids", []),
        ("had a child lover", []),
        ("the child smiled", []),
        ("", []),
    ],
)
def test_words_of_family(text: str, phrases: list[str]) -> None:
    """A few phrases tell of a family; an age word alone, or beside a word of love, does not."""
    assert [text[start:end] for start, end in kinship_phrases(text)] == phrases
