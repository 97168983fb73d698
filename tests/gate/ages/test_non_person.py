"""Things: years are a thing's where the sentence is about it, and somebody's where a thing is only beside."""

from __future__ import annotations

import pytest

from innkeeper.gate.ages.grammar import read_ages
from innkeeper.gate.ages.non_person import is_broken, sentence_of, text_between
from innkeeper.gate.words.vocabulary import vocabulary_of
from innkeeper.text.views import views_of


def young(text: str) -> list[float]:
    """The ages below adulthood in the plain form of a text."""
    view = next(views_of(text))
    words = vocabulary_of(view)
    return [age.low for age in read_ages(view, words, words.hits(view), text) if age.minor]


@pytest.mark.parametrize(
    "text",
    [
        "The whisky is twelve years old.",
        "A twelve-year-old romantic novel is in print again.",
        "My dress is eight years old and still fits.",
        "A Rioja, fifteen years old.",
        "The bookshop in Lyon is sixteen years old.",
        "The bench in the park is only ten years old.",
        "Her wedding dress, sixteen years old, still fits.",
        "Le musée de la ville a quinze ans.",
        "La statue du parc n'a que quinze ans, dit-on.",
        "El museo tiene quince años.",
        "O vinho tem doze anos.",
        "Un rum di dodici anni.",
        "Der Turm ist neun Jahre alt.",
        "Ein zwölfjähriger Whisky.",
        "Музею пятнадцать лет.",
    ],
)
def test_years_of_things(text: str) -> None:
    """A thing has years where nothing but linking words stands between, or where they describe it."""
    assert young(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "In the car, fifteen years old.",
        "On the sofa she is fifteen years old.",
        "The maid of the hotel is fifteen years old.",
        "The castle's princess is fifteen years old.",
        "A fifteen-year-old car model.",
        "A fifteen-year-old book lover.",
        "A car, fifteen-year-old maid included.",
        "A drawing, fifteen years old.",
        "The violin player of the orchestra is fifteen years old.",
        "The dancer in the club is fifteen years old.",
        "La danseuse du club a quinze ans.",
        "La cameriera del castello ha quindici anni.",
        "La voiture de la fille de quinze ans.",
        "Im Auto, fünfzehn Jahre alt.",
        "В машине, пятнадцать лет.",
        "Una chica de quince años museo.",
        "Eine Zeichnung, sie ist fünfzehn Jahre alt Museum.",
        "Ей пятнадцать лет музей.",
    ],
)
def test_years_of_somebody_beside_a_thing(text: str) -> None:
    """A thing that is only where somebody is, what somebody is of or does, or that shows somebody, takes no years."""
    assert young(text)[0] == 15


@pytest.mark.parametrize(
    "text",
    [
        "Canary a nude fifteen year old.",
        "Whisky, naked, fifteen years old.",
        "The sofa was nude fifteen years old.",
        "The violin naked only fifteen years old.",
        "Coche desnuda de quince años.",
        "Das Auto nackt, fünfzehn Jahre alt.",
        "Un rum sensuale di quindici anni.",  # a rum, perhaps: what is in doubt is somebody's
    ],
)
def test_who_is_described_beside_years_is_somebody(text: str) -> None:
    """A word for how a body looks between a thing and years is of whoever has the years."""
    assert young(text)[0] == 15


@pytest.mark.parametrize("text", ["Two old friends.", "It took eleven years to build.", "Nine naked bikes for sale."])
def test_what_is_counted_has_no_years(text: str) -> None:
    """A number counts the word behind it, whatever describes that."""
    assert young(text) == []


def test_a_place_in_the_text_as_given() -> None:
    """Breaks and what stands between two places are read from the text as given, not from its view."""
    text = "A car, twelve years old"
    view = next(views_of(text))
    assert is_broken(view, text, len("a car"))
    assert not is_broken(view, text, 1)
    assert text_between(view, text, 5, 6) == ", "
    assert sentence_of("One. Two, three") == " Two, three"
