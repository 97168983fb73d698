"""Budgets: limit less reserve, apart from what a model may write; and texts cut after sentences and words only."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import OverBudgetError
from innkeeper.library.models.facts import CLIP, Measure, TokenizerSpec
from innkeeper.library.prepare.budget import Budget, budget_of, chat_budget, cut_text, fit_text
from innkeeper.prompt.errors import ConfigError

WORDS = Measure("words", lambda text: len(text.split()))
SPEC = TokenizerSpec("clip", "clip", 20, reserve=2)


def test_a_budget_is_the_limit_less_what_is_reserved() -> None:
    """The spec's reserve and every overlay are taken off, and listed."""
    budget = budget_of(SPEC, overlays={"ui": "wide shot", "suffix": ""}, measure=WORDS)
    assert (budget.target, budget.limit, dict(budget.reserved)) == (16, 20, {"spec": 2, "ui": 2})
    assert budget_of(CLIP, measure=WORDS).target == 75


def test_target_and_output_are_two_numbers() -> None:
    """What a prompt may take and what a model may write are never taken for one another."""
    budget = budget_of(SPEC, target_budget=10, max_output_tokens=200, measure=WORDS)
    assert (budget.target, budget.max_output_tokens) == (10, 200)
    assert budget_of(SPEC, target_budget=1000, measure=WORDS).target == 18
    assert budget_of(SPEC, measure=WORDS).max_output_tokens is None


@pytest.mark.parametrize(
    "options",
    [{"overlays": {"ui": "x " * 18}}, {"target_budget": 0}, {"max_output_tokens": 0}, {"char_limit": -1}],
    ids=str,
)
def test_budgets_leave_room(options: dict[str, object]) -> None:
    """A budget of nothing is an error, not a prompt of nothing."""
    with pytest.raises(ConfigError):
        budget_of(SPEC, measure=WORDS, **options)  # type: ignore[arg-type]


def test_characters_are_a_limit_beside() -> None:
    """A text must fit both the tokens and the characters."""
    budget = budget_of(TokenizerSpec("chars", limit_usable=100), char_limit=10)
    assert (budget.unit, budget.fits("x" * 10, WORDS), budget.fits("x" * 11, WORDS)) == ("chars", True, False)


def test_chat_budgets() -> None:
    """The window less the reply and a margin."""
    assert chat_budget(8192, 1024, 100) == 7068
    for window, reply, safety in ((1000, 1000, 0), (1000, -1, 0), (1000, 0, -1)):
        with pytest.raises(ConfigError):
            chat_budget(window, reply, safety)


TEXT = "A lamp is lit. The door stands open, the fire is low. Nobody is there at all tonight."

CUTS = {
    "all of it": (99, TEXT),
    "a sentence": (12, "A lamp is lit. The door stands open, the fire is low."),
    "a clause": (10, "A lamp is lit. The door stands open"),
    "a short sentence": (5, "A lamp is lit."),
    "words": (3, "A lamp is"),
    "nothing": (0, ""),
}


@pytest.mark.parametrize(("room", "kept"), CUTS.values(), ids=CUTS)
def test_cuts(room: int, kept: str) -> None:
    """After a sentence where that keeps enough, else after a clause, else after a word."""
    assert cut_text(TEXT, lambda part: len(part.split()) <= room) == kept


@given(st.text(alphabet="ab .,!\n", max_size=60), st.integers(0, 12))
def test_no_cut_is_inside_a_word(text: str, room: int) -> None:
    """What is kept is a beginning that fits, and its words are whole words of the text."""
    kept = cut_text(text, lambda part: len(part) <= room)
    assert len(kept) <= room or kept == text
    assert text.startswith(kept)
    rest = text[len(kept) :]
    assert not (re.search(r"\w$", kept) and re.match(r"\w", rest))


def test_scripts_without_spaces_are_cut_between_characters() -> None:
    """A Chinese text has no spaces; it ends after a sentence or a character."""
    assert cut_text("灯亮了。门开着，火很小", lambda part: len(part) <= 5) == "灯亮了。"


@given(st.sets(st.integers(0, 5)))
def test_an_unsteady_measure_still_fits(sizes: set[int]) -> None:
    """Where a longer text may measure less, what is kept fits all the same."""
    kept = cut_text("a b c d e", lambda part: len(part.split()) in sizes)
    assert not kept or len(kept.split()) in sizes


def test_overflow() -> None:
    """``truncate`` cuts, ``error`` refuses, and what does not fit at all is refused by both."""
    budget = Budget(3, 3)
    assert fit_text("A lamp", budget, WORDS, "error").cut == ""
    fitted = fit_text(TEXT, budget, WORDS, "truncate")
    assert (fitted.text, fitted.size, fitted.text + fitted.cut) == ("A lamp is", 3, TEXT)
    with pytest.raises(OverBudgetError) as caught:
        fit_text(TEXT, budget, WORDS, "error")
    assert caught.value.to_dict()["details"] == {"size": 18, "target": 3, "unit": "tokens"}
    with pytest.raises(OverBudgetError):
        fit_text("x" * 50, Budget(3, 3), Measure("chars", len), "truncate")


GROUPED = {
    "weights": ("fox (long golden hair:1.2), lamp", 3, "fox"),
    "a group first": ("(long golden hair:1.2), lamp", 2, ""),
    "references": ("fox <lora:my own style:0.8> lamp", 2, "fox"),
    "macros": ("the {{ character name }} sings", 3, "the"),
    "a smile is no group": ("fox :( and lamp", 3, "fox :( and"),
}


@pytest.mark.parametrize(("text", "room", "kept"), GROUPED.values(), ids=GROUPED)
def test_no_cut_is_inside_a_group(text: str, room: int, kept: str) -> None:
    """A weighted group, a macro or a reference is kept whole or goes whole."""
    assert cut_text(text, lambda part: len(part.split()) <= room) == kept
