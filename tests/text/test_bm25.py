"""BM25 finds texts by the words they share with a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text.bm25 import Bm25

TEXTS = ["The inn has two rooms.", "Rain falls on the ford.", "The keeper of the inn sleeps.", ""]


@pytest.mark.parametrize(
    ("query", "places"),
    [("rain", [1]), ("INN rooms", [0, 2]), ("nothing like that", []), ("", []), ("the keeper", [2, 0, 1])],
)
def test_nearest_first(query: str, places: list[int]) -> None:
    """Texts that share a word are found, the one that shares the rarer words first; case does not matter."""
    hits = [place for place, _ in Bm25().search(TEXTS, query)]
    assert (hits[:1], sorted(hits)) == (places[:1], sorted(places))


@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=30))
def test_scores_are_shares(texts: list[str], query: str) -> None:
    """Scores are above 0 and not above 1, in falling order, and each text is found once."""
    hits = Bm25().search(texts, query)
    scores = [score for _, score in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert len({place for place, _ in hits}) == len(hits)
