"""Misspellings: a slip is put right where it was, and no word of the data is taken for one."""

import pytest

from innkeeper.gate.words.misspelling import put_right, unmasked
from innkeeper.text.views import views_of


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
    start, end = view.source_span(at, at + len(word))
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


@pytest.mark.parametrize(("slip", "word"), [("neetxis", "sixteen"), ("skoolgirl", "schoolgirl"), ("aderault", None)])
def test_words_backwards_and_by_their_sound(slip: str, word: str | None) -> None:
    """A word written from its end, and one written as it sounds, are put right."""
    view = put_right(next(views_of(f"here is {slip} now")))
    assert (view.text if view else None) == (f"here is {word} now" if word else None)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("a n*ked study", "a naked study"),
        ("s#xteen", "sixteen"),
        ("She is s**teen.", "She is sixteen."),
        ("2 * 3 * 4", None),
        ("snake_case and a+b", None),
        ("nothing", None),
    ],
)
def test_letters_behind_signs(text: str, right: str | None) -> None:
    """Signs in the place of letters are read as the letters, and the text stays as long as it was."""
    assert unmasked(text) == right
    assert right is None or len(right) == len(text)
