"""Many texts searched at once: what building and searching cost."""

from __future__ import annotations

import pytest

from innkeeper.taverns.smart.conditions import KeywordSearch
from innkeeper.text.automaton import Automaton
from tests.limits.growth import Family, fresh, held, spending

NESTED = ["a" * length for length in range(1, 300)]

FAMILIES = (
    Family("keys with one beginning", lambda n: Automaton([f"k{i}" for i in range(n)]), 2_500, "automata"),
    Family("keys of one letter", lambda n: Automaton(["a" * (i % 300) + str(i) for i in range(n)]), 200, "automata"),
    Family("keys of another script", lambda n: Automaton([f"汉字{i}" for i in range(n)]), 2_500, "automata"),
    Family("long keys", lambda n: Automaton([f"{i:03}" * 100 for i in range(n)]), 30, "automata"),
    Family("a text", lambda n: Automaton(NESTED).contained("a" * n + "b"), 4_000, "automata"),
    Family("finds", lambda n: list(Automaton(NESTED[:20]).find("a" * n)), 1_000, "automata"),
    Family(
        "texts not together",
        lambda n: Automaton(["x" * 2_000 + str(number) for number in range(9)]).contained("x" * n),
        50_000,
        "automata",
    ),
    Family(
        "finds that do not count",
        lambda n: Automaton(["a", "b", "c", "d", "e"], [lambda *_: False] * 5).contained("abc" * n),
        4_000,
        "automata",
    ),
    Family(
        "keywords",
        lambda n: KeywordSearch("text", [f"{fresh()}w{i}" for i in range(n)]).contains("w1"),
        2_500,
        "automata",
    ),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_twice_the_keys_cost_twice_as_much(family: Family) -> None:
    """Time and memory grow as keys and texts do."""
    assert held(family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_automata_are_charged(family: Family) -> None:
    """Building, searching and finding are charged."""
    assert spending(family)[family.engine] > 1_000
