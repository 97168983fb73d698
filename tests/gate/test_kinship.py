"""Families: a few phrases tell of one, and anything else does not."""

from __future__ import annotations

import pytest

from innkeeper.gate.kinship import kinship_phrases
from innkeeper.library import Ceilings, TextKind, Tier, TierGate, TierPolicy


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


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("The kids are asleep upstairs; a romantic evening begins.", True),
        ("Their children are asleep. He kisses his wife, a romantic evening.", True),
        ("While the child sleeps in the next room, they make love.", False),
        ("The sleeping child is kissed by him, a romantic evening.", False),
        ("The children are in bed with him, a romantic night.", False),
        ("The kids were away. She is their age. A romantic evening.", False),
        ("Our kids were away. She is as old as they. A romantic evening.", False),
        ("She kisses the flower girl of five.", False),
    ],
)
def test_children_asleep(text: str, *, passed: bool) -> None:
    """A family's children who are asleep or away are no part of the romance, unless somebody is of their age."""
    gate = TierGate.of(TierPolicy(adult_enabled=True))
    assert gate.check({TextKind.USER_TEXT: text}, "nsfw", Ceilings(account=Tier.NSFW)).decision.passed is passed
