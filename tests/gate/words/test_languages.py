"""Languages: the data of each is complete, and nothing in it is beyond what the grammar reads."""

import pytest

from innkeeper.gate.ages.age import KINDS
from innkeeper.gate.evidence import ABSOLUTE
from innkeeper.gate.words.languages import LANGUAGES, Language, languages

EACH = pytest.mark.parametrize("language", languages(), ids=LANGUAGES)


@EACH
def test_numbers_are_those_from_0_to_99(language: Language) -> None:
    """No number is missing, and no spelling means two of them."""
    spellings = [word for words in language.numbers for word in words.split("|")]
    assert len(language.numbers) == 100
    assert len(spellings) == len(set(spellings))


@EACH
def test_forms_have_a_number_and_a_known_meaning(language: Language) -> None:
    """Each form stands around exactly one number, and its kind is one that the grammar knows."""
    for kind, forms in language.forms.items():
        assert kind in KINDS or kind.startswith("school+")
        assert all(form.count("{n}") + form.count("{o}") == 1 for form in forms)


@EACH
def test_words_have_weights(language: Language) -> None:
    """Every class of the gate has words in every language; weights are above 0 up to 1, and ages have years."""
    assert {"age", "age_setting", "sexual", "romantic", "educational", "adult", "cue"} <= set(language.words)
    assert ABSOLUTE - {"age_ambiguous"} <= set(language.words)
    for category, weights in language.words.items():
        for key, words in weights.items():
            years, _, weight = key.rpartition(" ")
            assert 0 < float(weight) <= 1
            assert bool(years) is (category == "age")
            assert words
    assert language.harmless


@EACH
def test_alternatives_are_written_out(language: Language) -> None:
    """No phrase keeps the signs of its alternatives, and none stands twice in its list."""
    lists = [
        *language.forms.values(),
        language.harmless,
        *(each for kept in language.words.values() for each in kept.values()),
    ]
    for phrases in lists:
        assert not any(set("()|") & set(phrase) for phrase in phrases)
        assert len(phrases) == len(set(phrases))
