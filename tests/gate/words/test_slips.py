"""Slips: the ways in which a hand slips in a word, and none that is a word of its own."""

from innkeeper.gate.words.languages import languages
from innkeeper.gate.words.slips import misspellings, slips_of


def test_short_words_have_no_slips() -> None:
    """A word of three letters is another word with one letter changed; a number of three is doubled only."""
    assert list(misspellings("kid")) == []
    assert set(misspellings("ten", short=True)) == {"tten", "teen", "tenn"}


def test_a_word_of_the_data_is_no_slip() -> None:
    """What is told apart by one letter stays what it is: ``seventy`` is no slip of ``seventh``."""
    lines = [line for begun in slips_of(languages()).values() for line in begun.values()]
    slips = {slip for line in lines for slip in line.split(" ")}
    assert slips.isdisjoint({"seventy", "sixty", "teens", "girls", "boy"})
    assert {"sixten", "schoolgril"} <= slips
