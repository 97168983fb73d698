"""A second reader lifts doubts of the general tier alone, and one that fails never opens the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from innkeeper.gate.gate import TierGate, TierPolicy, block
from innkeeper.gate.tier import Ceilings, Decision, Tier
from innkeeper.prompt.tier import TierBlockedError
from tests import labelled

DOUBTFUL = f"A sensual evening.{' The road is long.' * 25} The classroom is empty."
ROMANCE = "Mia is fifteen. A romantic evening follows."
SEXUAL = "A nude of a fifteen-year-old girl."
CLEAN = "The road to the sea is long."
ADULT = Ceilings(account=Tier.NSFW)


class Fake:
    """Answers one score, or raises; remembers what it was asked."""

    label = "fake"

    def __init__(self, score: float | None = 0.0) -> None:
        self.answer, self.asked = score, list[str]()

    def score(self, text: str, /) -> float:
        """The score."""
        self.asked.append(text)
        if self.answer is None:
            raise RuntimeError
        return self.answer


def gate_with(reader: Fake, *, always: bool = False) -> TierGate:
    """The packaged gate, read a second time, with the adult tier."""
    return replace(TierGate.of(TierPolicy(adult_enabled=True)), reader=reader, always=always)


@pytest.mark.parametrize("text", [DOUBTFUL, ROMANCE])
def test_a_doubt_of_the_general_tier_is_lifted(text: str) -> None:
    """What is held, and a romance beside an age without a word of sex; the stack below knows of it."""
    reader, texts = Fake(0.0), {"user_text": f"{text} Once."}
    assert gate_with(reader).require(texts).decision is Decision.REVIEW
    assert reader.asked
    block(texts)


@pytest.mark.parametrize("score", [None, 0.3, 1.0, 7.0, -1.0, float("nan")])
def test_whoever_fails_or_doubts_lifts_nothing(score: float | None) -> None:
    """An error, no number, and every score but a low one leave the doubt."""
    with pytest.raises(TierBlockedError):
        gate_with(Fake(score)).require({"user_text": f"{ROMANCE} {score}"})


def test_no_block_beside_sex_and_none_of_the_adult_tier_is_lifted() -> None:
    """Nobody is asked about them."""
    for text, tier in ((SEXUAL, "sfw"), (SEXUAL, "nsfw"), (ROMANCE, "nsfw"), (DOUBTFUL, "nsfw")):
        reader = Fake(0.0)
        with pytest.raises(TierBlockedError):
            gate_with(reader).require({"user_text": text}, tier, ADULT)
        assert reader.asked == []


def test_it_is_asked_about_every_text_only_where_that_is_wanted() -> None:
    """And may block what passed; a failure lets pass what the grammar let pass."""
    reader = Fake(0.9)
    assert gate_with(reader).require({"user_text": CLEAN}).passed
    assert reader.asked == []
    with pytest.raises(TierBlockedError):
        gate_with(reader, always=True).require({"user_text": CLEAN}, observe=True)
    assert gate_with(Fake(None), always=True).require({"user_text": CLEAN}).passed


class ByLabel:
    """Knows which texts are innocent."""

    label = "labels"

    def __init__(self, innocent: set[str]) -> None:
        self._innocent = innocent

    def score(self, text: str, /) -> float:
        """0 of an innocent text."""
        return 0.0 if text in self._innocent else 1.0


@pytest.mark.parametrize("half", labelled.OTHER_HANDS)
def test_false_alarms_with_a_reader_that_answers_by_label(half: str) -> None:
    """Only those innocent texts stay stopped that have a word of sex beside an age: no reader lifts that."""
    texts = list(labelled.texts_of(half))
    innocent = {"\n\n".join(each.texts.values()) for each in texts if each.expect == "allow"}
    gate, stopped, general = replace(TierGate.of(), reader=ByLabel(innocent)), 0, 0
    for each in texts:
        if each.expect != "allow" or "sfw" not in each.tiers:
            continue
        general += 1
        try:
            gate.require(each.texts)
        except TierBlockedError:
            stopped += 1
    assert stopped / general <= 0.05
