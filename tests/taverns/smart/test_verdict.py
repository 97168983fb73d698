"""The reasons of the smart tavern's verdicts, and how they read."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.lore import Verdict
from innkeeper.taverns.smart.verdict import Rule, SmartLore, shown

STANDING = {"role": "system", "depth": 0, "order": 100}


@pytest.mark.parametrize(
    ("reason", "facts", "text"),
    [
        (Rule.KEPT, STANDING, "at depth 0, order 100, as system"),
        (
            Rule.KEPT,
            {**STANDING, "condition": "<<x>>", "value": "true"},
            "at depth 0, order 100, as system; its condition holds: '<<x>>' came to 'true'",
        ),
        (Rule.FRAMED, {"found": "before_char"}, "at before_char"),
        (Rule.CONDITION, {"condition": "no", "value": "no"}, "its condition does not hold: 'no' came to 'no'"),
        (Rule.POSITION, {"found": "'{x}'"}, "its position '{x}' is not in the chat"),
        (Rule.NOT_AN_OBJECT, {}, "it is not an object"),
    ],
    ids=lambda value: value.value if isinstance(value, Rule) else "",
)
def test_sentences(reason: Rule, facts: dict[str, Any], text: str) -> None:
    """A verdict reads as the rule and what it saw, and is data with the same sentence."""
    verdict = Verdict("", "x", "", reason, facts)
    assert str(verdict) == text
    assert verdict.fired is (reason in (Rule.KEPT, Rule.FRAMED))
    assert SmartLore((verdict,)).to_dict()["verdicts"][0]["text"] == text


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_has_a_sentence(rule: Rule) -> None:
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
