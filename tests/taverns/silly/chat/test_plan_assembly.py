"""Greetings: the first message and its alternatives, with macros resolved."""

from __future__ import annotations

import pytest

from tests.taverns.silly.builds import build, card

CARD = card(first_mes="Hello, {{user}}.", alternate_greetings=["Ahoy!"])


@pytest.mark.parametrize(
    ("index", "text", "place"),
    [(None, None, None), (0, "Hello, Sam.", 0), (-1, "Hello, Sam.", 0), (1, "Ahoy!", 1)],
    ids=["none", "first", "minus one", "alternative"],
)
def test_greetings(index: int | None, text: str | None, place: int | None) -> None:
    """The plan's greeting and which it is."""
    plan = build(character=CARD, greeting=index)
    assert (plan.greeting, plan.greeting_index) == (text, place)


def test_a_blank_quiet_prompt() -> None:
    """White space that macros leave is sent; nothing is not."""
    for prompt, sent in (("{{newline}} ", ["\n "]), ("{{setvar::v::1}}", [])):
        plan = build(generation="quiet", message="hi", settings={"generation": {"quiet_prompt": prompt}})
        assert [block.content for block in plan.blocks if block.source == "quiet_prompt"] == sent


def test_a_greeting_that_is_not_there() -> None:
    """The first one, with a warning."""
    plan = build(character=CARD, greeting=5)
    assert plan.greeting == "Hello, Sam."
    assert "no greeting 5" in plan.warnings[0].message
