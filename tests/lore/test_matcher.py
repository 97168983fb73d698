"""Tests of the index over keys."""

from __future__ import annotations

import pytest

from innkeeper.lore.limits import MAX_AUTOMATON_KEY
from innkeeper.lore.matcher import KeyIndex, Pattern

WORDS = ("bell", "reef", "lamp", "fog", "mail", "boat")


@pytest.mark.parametrize("length", [MAX_AUTOMATON_KEY, MAX_AUTOMATON_KEY + 1, 1_000_000])
def test_long_keys(length: int) -> None:
    """A key of any length is found beside short ones, and does not keep the index from being made."""
    index = KeyIndex([Pattern("a" * length), *map(Pattern, WORDS)])
    assert index.hits("A" * length + " and the Reef") == {0, 2}
    assert index.hits("a" * (length - 1)) == frozenset()
