"""Evidence: what stands around a word says whether it depicts, and distances are those of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.evidence import REPORTED, Mention, relations_of, weighed
from innkeeper.gate.tier import Relation

TEXT = "five " * 500
"""A sentence without an end."""


def mention(start: int, category: str, weight: float = 0.5, *, own: bool = True) -> Mention:
    """A word of five letters."""
    return Mention(start, start + 5, category, f"{category}.{start}", weight, own=own)


def test_a_word_depicts_where_nothing_educational_stands() -> None:
    """An age and a context give a relation with the characters between them."""
    found = weighed([mention(0, "age"), mention(20, "sexual")], TEXT)
    assert found.relations == (Relation("minor", "sexual", "depicted", 15),)
    assert found.ages["minor"] == (0, 5)


def test_words_of_lessons_and_courts_make_it_a_report() -> None:
    """Then the word is told as a report and makes no context."""
    found = weighed([mention(0, "age"), mention(20, "sexual"), mention(40, "educational", 0.6)], TEXT)
    assert {relation.state for relation in found.relations} == {REPORTED}
    assert {each.category for each in found.mentions} == {"age", REPORTED}


def test_one_such_word_does_not_outweigh_a_strong_one() -> None:
    """A word that is hardly ever used in another sense stays doubtful."""
    found = weighed([mention(0, "age"), mention(20, "sexual", 0.6), mention(40, "educational", 0.6)], TEXT)
    assert {relation.state for relation in found.relations} == {"doubtful"}


def test_far_words_say_nothing() -> None:
    """What stands elsewhere in a long text does not lift anything."""
    found = weighed([mention(0, "age"), mention(20, "sexual"), mention(2_000, "educational", 0.9)], TEXT)
    assert {relation.state for relation in found.relations} == {"depicted"}


def sentences(sentence: str, beside: str) -> set[str]:
    """The states of a word of sex at 20 with one of lessons at 60, in another sentence or part of it."""
    text = f"{sentence:55}{beside}"
    lesson = mention(60, "educational", 0.9)
    return {relation.state for relation in weighed([mention(0, "age"), mention(20, "sexual"), lesson], text).relations}


@pytest.mark.parametrize(
    ("sentence", "beside", "state"),
    [
        ("five five five five five", "     lesson of nine words in a row", REPORTED),
        ("five five five five five.", "    lesson of nine words in a row", "depicted"),
        ("five five five five five,", "    lesson", "depicted"),
        ("five five five five five,", "    lesson plan, and so on", "depicted"),
        ("five five five five five,", "    lesson of nine words in a row", REPORTED),
    ],
)
def test_an_innocent_word_beside_others_tells_nothing(sentence: str, beside: str, state: str) -> None:
    """What is told of a word stands in its own sentence, in more than two words."""
    assert sentences(sentence, beside) == {state}


def test_around_counts_where_the_sentence_tells_something_itself() -> None:
    """Then a second sentence of the same kind adds to it."""
    text = f"{'five ' * 8}. {'lesson five five ' * 9}"
    own, strong = mention(30, "educational", 0.5), mention(20, "sexual", 0.6)
    alone = weighed([mention(0, "age"), strong, own], text)
    assert {relation.state for relation in alone.relations} == {"depicted"}
    both = weighed([mention(0, "age"), strong, own, mention(60, "educational", 0.9)], text)
    assert {relation.state for relation in both.relations} == {REPORTED}


def test_what_a_family_asks_is_asked_of_what_was_said() -> None:
    """``How do I explain`` counts from another sentence, where the age is that of somebody's child, and not before it."""
    text = f"{'five ' * 8}. {'five ' * 20}"
    child, sexual, advice = mention(0, "age_kin"), mention(20, "sexual"), mention(60, "advice", 0.6)
    assert {relation.state for relation in weighed([child, sexual, advice], text).relations} == {REPORTED}
    for others in ([mention(0, "age"), sexual, advice], [child, mention(70, "sexual"), advice]):
        assert {relation.state for relation in weighed(others, text).relations} == {"depicted"}


@pytest.mark.parametrize(
    ("text", "state"), [("Sex: F, 14", REPORTED), ("sexo: masculino", REPORTED), ("sex with her", "depicted")]
)
def test_a_line_of_a_form_depicts_nothing(text: str, state: str) -> None:
    """``Sex: F`` says which somebody is."""
    end = text.lower().index("sex") + (4 if "sexo" in text else 3)
    found = weighed([Mention(0, end, "sexual", "sexual.sex", 0.5)], text)
    assert set(found.contexts) == {f"sexual:{state}"}


def test_a_limit_below_which_nobody_is_is_nobodys_age() -> None:
    """``No characters under eighteen`` is told, and stands beside nothing."""
    barred = Mention(0, 5, "age", "age.barred", 0.9, 0, 17)
    found = weighed([barred, mention(20, "sexual")], TEXT)
    assert (found.relations, barred in found.mentions) == ((), True)


def test_lists_of_operators_mean_what_they_say() -> None:
    """Their words are never taken for a report."""
    found = weighed([mention(20, "sexual", own=False), mention(40, "educational", 0.9)], TEXT)
    assert set(found.contexts) == {"sexual:depicted"}


places = st.lists(st.integers(0, 500).map(lambda at: (at, at + 5)), min_size=1, max_size=20)


@given(places, places)
def test_the_nearest_pair_counts(ages: list[tuple[int, int]], contexts: list[tuple[int, int]]) -> None:
    """The distance is the least of all pairs."""
    least = min(max(0, c[0] - a[1], a[0] - c[1]) for a in ages for c in contexts)
    (relation,) = relations_of({"minor": ages}, {"sexual:depicted": contexts})
    assert relation.distance == least
