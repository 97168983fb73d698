"""Misspellings: a slip is put right where it was, and no word of the data is taken for one."""

import pytest

from innkeeper.library.tiers.misspelling import misspellings, put_right
from innkeeper.text.confusables import views_of


@pytest.mark.parametrize(
    ("slip", "word"),
    [("sixten", "sixteen"), ("fiftteen", "fifteen"), ("schoolgril", "schoolgirl"), ("teenagar", "teenager")],
)
def test_slips_are_put_right(slip: str, word: str) -> None:
    """The word stands in the view, and its place is that of the slip."""
    text = f"Yesterday, the {slip} came, as one says."
    view = put_right(next(views_of(text)))
    assert view is not None
    at = view.text.index(word)
    start, end = view.place(at, at + len(word))
    assert text[start:end] == slip
    assert view.text.startswith("yesterday the")


def test_a_text_without_slips_has_no_such_view() -> None:
    """Nothing is made where nothing is wrong."""
    assert put_right(next(views_of("There was an old inn, and three exotic beasts drank there."))) is None


def test_passages_around_slips_are_parted() -> None:
    """Only what stands around slips is looked at again, and two passages do not become one sentence."""
    text = "a sixten " + "far away " * 20 + "a teenagar"
    view = put_right(next(views_of(text)))
    assert view is not None
    assert view.text.count("|") == 1
    assert len(view.text) < len(text)


def test_short_words_have_no_slips() -> None:
    """A word of three letters is another word with one letter changed; a number of three is doubled only."""
    assert list(misspellings("kid")) == []
    assert set(misspellings("ten", short=True)) == {"tten", "teen", "tenn"}
