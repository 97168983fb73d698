"""Keyword search: always the answer of looking for each keyword by itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.taverns.smart import SmartOptions, construct
from innkeeper.taverns.smart.conditions import Conditions, KeywordSearch

WORDS = st.text("ab艾\n\ud800\ufffd", max_size=4)


@settings(max_examples=100)
@given(st.text("ab艾\n\ud800\ufffd", max_size=60), st.lists(WORDS, max_size=30), st.lists(WORDS, max_size=5))
def test_as_looking_for_each(text: str, told: list[str], others: list[str]) -> None:
    """For keywords that were told and others, empty ones and halves of surrogate pairs included."""
    search = KeywordSearch(text, told)
    assert [search.contains(word) for word in told + others] == [word in text for word in told + others]


def test_keywords_inside_one_another() -> None:
    """A text in which very many keywords end at every place is searched all the same."""
    told = ["a" * length for length in range(1, 200)] + ["b"]
    search = KeywordSearch("a" * 100_000, told)
    assert [search.contains(word) for word in (told[0], told[63], told[198], "b")] == [True, True, True, False]


LISTS = st.lists(st.text("ab 艾", max_size=3), max_size=3).map(",".join)
CONDITIONS = st.one_of(
    st.builds("{{{{keywords:{}}}}}".format, LISTS),
    st.builds("<<keywords:{}::{}>>".format, st.sampled_from(["any", "all", "none", "xor", "expr", "include"]), LISTS),
    st.builds("{{{{setvar:chat_history_text:{}}}}}<<keywords:{}>>".format, st.text("ab", max_size=3), LISTS),
    st.builds("<<keywords:{{{{getvar:x}}}},{}>>".format, LISTS),
    st.text("true{}<>:,", max_size=12),
)


@settings(max_examples=100)
@given(st.text("ab 艾\n", max_size=30), st.lists(CONDITIONS, min_size=1, max_size=15))
def test_conditions_judge_the_same_without_it(text: str, conditions: list[str]) -> None:
    """Told of all conditions or of none, with the search or without, each condition has the same answer."""
    options, variables = SmartOptions().macros, {"x": "a"}
    judges = [
        Conditions(conditions * 9, text, variables, options),
        Conditions([], text, variables, options),
    ]
    plain = Conditions([], text, {**variables, "chat_history_text": text}, options)
    plain._env.contains = None
    answers = [[judge.hold(condition) for condition in conditions] for judge in (*judges, plain)]
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(
    ("text", "kept"), [("Ayla is here", True), (["Ayla"], True), (None, False), ("nobody", False)], ids=repr
)
def test_a_callers_own_history_text(text: object, kept: bool) -> None:
    """A caller's ``chat_history_text`` is searched in place of the history's, whatever it is."""
    book = [{"content": "W", "mode": "conditional", "condition": "<<keywords:Ayla>>"}]
    made = construct([{"role": "user", "content": "Ayla?"}], [], book, {"chat_history_text": text})
    assert (len(made["messages"]) == 2) is kept
