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
        ("single father of a teenage son", ["father of a teenage son"]),
        ("my mother had me at 17", ["mother had me at 17"]),
        ("her son is a teenager", ["her son is a teenager"]),
        ("my 14 year old caught us", ["my 14 year old caught"]),
        ("my 14 year old is my lover", []),
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


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("The firefighter carried the seven-year-old out. Later his wife kissed the soot from his face.", True),
        ("A teenager saved a couple from drowning during their honeymoon.", True),
        ("His wife kissed the seven-year-old.", False),
        ("His wife kissed him. The fifteen-year-old is his wife.", False),
        ("The fourteen-year-old bride and groom kiss.", False),
        ("The fifteen-year-old kissed her husband.", False),
        ("I kissed my wife, a fifteen-year-old.", False),
        ("A fifteen-year-old girl became his bride. Her husband kissed her.", False),
    ],
)
def test_children_beside_spouses(text: str, *, passed: bool) -> None:
    """A child who is told of beside a romance of spouses is no part of it, unless the child may be one of them."""
    assert TierGate.of().check({TextKind.USER_TEXT: text}).decision.passed is passed


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("At 16 he left home; now, at 31, he kisses his wife.", True),
        ("I was sixteen when my father died. I am 48 now; my lover knows.", True),
        ("At 15 he kissed her; now, at 31, he kisses her again.", False),
        ("At 15 she moved in. He is 31 now and kisses her.", False),
        ("When she was 12 she met him; now she is 15 and kisses him.", False),
        ("She was fourteen then; she is 30 now and remembers how he kissed her.", False),
    ],
)
def test_grown_since(text: str, *, passed: bool) -> None:
    """An age that is past is none of who is depicted, if the same one's age today is told before any romance."""
    assert TierGate.of().check({TextKind.USER_TEXT: text}).decision.passed is passed


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("The governess read the children a romance about a knight.", True),
        ("She taught kindergarten for forty years and wrote romance novels.", True),
        ("They met at the school where they both work, and kissed.", True),
        ("She has lived for fifteen years and kisses him.", False),
        ("He told the children a love story and kissed the girl of 13.", False),
        ("What grade is she in? Sixth. He kisses her.", False),
        ("She is thirteen and my girlfriend.", False),
        ("I am dating a fourteen-year-old.", False),
        ("A preteen girl and her adult lover.", False),
        ("She becomes an adult next year. They are lovers.", False),
    ],
)
def test_who_is_loved(text: str, *, passed: bool) -> None:
    """What is told to children or of one's work is no romance of theirs; a girlfriend or an adult lover is."""
    assert TierGate.of().check({TextKind.USER_TEXT: text}).decision.passed is passed


@pytest.mark.parametrize(
    ("word", "passed"),
    [("teen", False), ("kid", False), ("kids", False), ("little boy", False), ("boy", True), ("girl", True)],
)
def test_words_in_the_adult_tier(word: str, *, passed: bool) -> None:
    """A teen or a kid indicates an age by itself; a boy or a girl is common speech of adults."""
    gate, text = TierGate.of(TierPolicy(adult_enabled=True)), f"The {word} undresses by the fire."
    assert gate.check({TextKind.USER_TEXT: text}, "nsfw", Ceilings(account=Tier.NSFW)).decision.passed is passed


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("The children are excited about the zoo.", True),
        ("Any suggestions for a gift for an eight-year-old?", True),
        ("A luxurious cot for a baby of six months.", True),
        ("The nine-year-old plays the violin in a string quartet.", True),
        ("Be kinder to your husband, kiss him, and try all kinds of tea.", True),
        ("The singer's love songs are for everybody. Her son, 6, sings along.", True),
        ("My two kids are 6 and 9, so date night with my wife is short.", True),
        ("My girlfriend is 5'3 and I'm 6'4, and kissing her is a sport.", True),
        ("She put her sleepy toddler in the car seat and kissed her husband.", True),
        ("My parents divorced when I was seven. At forty they fell in love with each other again.", True),
        ("Teenagers eat like wolves. Mine finished what I had made for date night.", True),
        ("She was ten in 1980. A romantic evening with him today.", True),
        ("She was ten in 2024. A romantic evening.", False),
        ("He became fourteen over the summer. A romantic evening.", False),
        ("In three years she will be eighteen. A romantic evening.", False),
        ("She is a toddler in a princess dress. A romantic evening.", False),
        ("He kissed her pretty toddler, a romantic evening.", False),
        ("A romantic evening with her little toddler.", False),
        ("The schoolgirl kisses her husband.", False),
        ("The first child at the table kisses him, a romantic evening.", False),
        ("She is in her early teens. A romantic evening.", False),
        ("Mia = 15. Romantic evening.", False),
    ],
)
def test_what_is_beside_a_romance_and_who_is_in_it(text: str, *, passed: bool) -> None:
    """Words that resemble others, feet, years gone by and a family beside a couple pass; whoever a romance is with does not."""
    gate = TierGate.of(TierPolicy(adult_enabled=True))
    assert gate.check({TextKind.USER_TEXT: text}, "sfw", Ceilings(account=Tier.NSFW)).decision.passed is passed
