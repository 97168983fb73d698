"""The reasons of the smart tavern's verdicts, and how they read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.lore import Verdict
from innkeeper.taverns.smart import SmartOptions, construct
from innkeeper.taverns.smart.conditions import ConditionRule, Conditions, KeywordSearch, SmartLore, shown

STANDING = {"role": "system", "depth": 0, "order": 100}


@pytest.mark.parametrize(
    ("reason", "facts", "text"),
    [
        (ConditionRule.INCLUDED, STANDING, "at depth 0, order 100, as system"),
        (
            ConditionRule.INCLUDED,
            {**STANDING, "condition": "<<x>>", "value": "true"},
            "at depth 0, order 100, as system; its condition holds: '<<x>>' came to 'true'",
        ),
        (ConditionRule.FRAMED, {"found": "before_char"}, "at before_char"),
        (ConditionRule.CONDITION, {"condition": "no", "value": "no"}, "its condition does not hold: 'no' came to 'no'"),
        (ConditionRule.POSITION, {"found": "'{x}'"}, "its position '{x}' is not in the chat"),
        (ConditionRule.NOT_AN_OBJECT, {}, "it is not an object"),
    ],
    ids=lambda value: value.value if isinstance(value, ConditionRule) else "",
)
def test_sentences(reason: ConditionRule, facts: dict[str, Any], text: str) -> None:
    """A verdict reads as the rule and what it saw, and is data with the same sentence."""
    verdict = Verdict("", "x", "", reason, facts)
    assert str(verdict) == text
    assert verdict.fired is (reason in (ConditionRule.INCLUDED, ConditionRule.FRAMED))
    assert SmartLore((verdict,)).to_dict()["verdicts"][0]["text"] == text


@pytest.mark.parametrize("rule", ConditionRule)
def test_every_rule_has_a_sentence(rule: ConditionRule) -> None:
    """Also where the facts are not known."""
    assert rule.sentence({})


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "'a'"), (10**5_000, "<int>"), ("x" * 100, "'" + "x" * 79 + "…")],
    ids=["text", "number", "long"],
)
def test_shown(value: Any, text: str) -> None:
    """As Python writes it, of limited length; of what cannot be written, its type."""
    assert shown(value) == text


WORDS = st.text("ab艾\n\ud800\ufffd", max_size=4)


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
