"""Verdicts: reasons with sentences, of this package and of a tavern's own."""

from __future__ import annotations

import pytest

from innkeeper.lore import BaseReason, Reason, Verdict


class OwnReason(BaseReason):
    """The reasons of a tavern that is not ours."""

    CHOSEN = "chosen", "the dice chose it: {roll:.1f}", True
    PASSED_OVER = "passed_over", "the dice passed it over"


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_a_word_and_has_a_sentence(reason: Reason) -> None:
    """A reason's value is its name in lower case; its sentence can be written even when no fact is known."""
    assert reason.value == reason.name.lower()
    assert reason.sentence({})
    assert "{" not in reason.sentence({})


def test_those_that_fire_an_entry() -> None:
    """An entry is in the prompt by a key, or by something that needs no key."""
    assert [reason.value for reason in Reason if reason.fired] == [
        "key",
        "constant",
        "sticky",
        "decorator",
        "forced",
        "searched",
        "external",
    ]


def test_a_taverns_own_reasons_make_the_same_kind_of_verdict() -> None:
    """A verdict takes its sentence, and whether the entry fired, from the reason that it was given."""
    chosen = Verdict("book", 1, "Gate", OwnReason.CHOSEN, {"roll": 2.25})
    assert (chosen.fired, str(chosen)) == (True, "the dice chose it: 2.2")
    assert chosen.to_dict() == {
        "book": "book",
        "uid": 1,
        "title": "Gate",
        "fired": True,
        "reason": "chosen",
        "text": "the dice chose it: 2.2",
        "facts": {"roll": 2.25},
    }
    assert not Verdict("book", 2, "Wall", OwnReason.PASSED_OVER).fired


@pytest.mark.parametrize(
    ("reason", "facts", "text"),
    [
        (
            Reason.TRIGGER,
            {"triggers": ("continue",), "generation": "normal"},
            "only for generation types continue; this is 'normal'",
        ),
        (Reason.KEY, {"key": r"/\bwr(?:ite|ote)\b/i"}, r"'/\bwr(?:ite|ote)\b/i'"),
    ],
)
def test_sentences_have_no_python_in_them(reason: Reason, facts: dict[str, object], text: str) -> None:
    """Lists are joined, and texts are quoted as they are written: no tuples, no doubled backslashes."""
    assert text in reason.sentence(facts)
