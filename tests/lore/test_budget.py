"""LoreBudget: the figures of counting everything anew, without doing so."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.lore.budget import LoreBudget

OVERHEAD = 3

texts = st.lists(st.text("ab \n.é", max_size=6), max_size=8)


def part(text: str) -> int:
    """Words, marks and runs of blanks: as tokenizers do, it joins blanks, but never a letter to what stands before a line."""
    return len(re.findall(r"\w+|\s+(?=\w)|\s+|[^\w\s]", text))


def whole(text: str) -> int:
    """A text counted alone."""
    return OVERHEAD + part(text) if text else 0


def joined(pieces: list[str]) -> str:
    """The pieces as they are counted."""
    return "".join(f"{piece}\n" for piece in pieces)


@given(texts, texts, texts, st.integers(0, 40), st.booleans())
def test_it_counts_the_texts_joined_behind_those_given_to_recursion(
    first: list[str], second: list[str], now: list[str], tokens: int, adds_up: bool
) -> None:
    """After every text the answer is that of counting the recursion's texts and the pass's, each joined, newest first."""
    count = whole if adds_up else part
    budget = LoreBudget(tokens, count, part if adds_up else None, OVERHEAD if adds_up else 0)
    budget.spread(first)
    budget.spread(second)
    budget.begin()
    for number, text in enumerate(now, 1):
        expected = count(joined([*second, *first])) + count(joined(now[:number]))
        assert budget.reached_by(text) == (expected if expected >= tokens else None)


@given(texts)
def test_nothing_is_counted_while_the_bytes_fit(now: list[str]) -> None:
    """A budget that even the bytes of all texts do not fill costs no counting."""

    def never(text: str) -> int:
        raise AssertionError(text)

    budget = LoreBudget(1_000, never, never, OVERHEAD)
    assert [budget.reached_by(text) for text in now] == [None] * len(now)


def test_a_part_that_nothing_can_join_is_counted_once() -> None:
    """Where counts add up, each text is counted by itself, and no part a second time."""
    counted: list[str] = []

    def counting(text: str) -> int:
        counted.append(text)
        return part(text)

    budget = LoreBudget(1, whole, counting, OVERHEAD)
    for name in ("One.", "Two.", "Three."):
        budget.reached_by(name)
    assert counted == ["One.\n", "Two.\n", "Three.\n"]
