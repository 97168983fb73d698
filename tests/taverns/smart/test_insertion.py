"""Insertion and sorting, against the original's rule told in the plainest way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.smart import Compat, SmartOptions, construct

ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "depth": st.integers(-3, 7),
            "order": st.integers(-1, 2),
            "position": st.sampled_from(["user", "assistant", "system"]),
        }
    ),
    max_size=10,
)
RANK = {"assistant": 0, "user": 1, "system": 2}


def texts(history: int, entries: list[dict[str, Any]], compat: Compat) -> list[str]:
    """What construct makes of entries, which are called by their numbers."""
    chat = [{"role": "user", "content": f"h{n}"} for n in range(history)]
    books = [{**entry, "content": str(n)} for n, entry in enumerate(entries)]
    made = construct(chat, [], books, options=SmartOptions(compat=compat))
    return [message["content"] for message in made["messages"]]


def plainly(history: int, entries: list[dict[str, Any]], *, scrambled: bool) -> list[str]:
    """The document's words as a program: sort, group by depth, insert each group from its last to its first."""
    numbered = sorted(enumerate(entries), key=lambda each: (each[1]["order"], RANK[each[1]["position"]], each[0]))
    made = [f"h{n}" for n in range(history)]
    for depth in sorted({entry["depth"] for entry in entries}, reverse=True):
        group = [str(n) for n, entry in numbered if entry["depth"] == depth]
        at = max(0, len(made) - depth)
        if depth < 0 and not scrambled:
            made += group
        else:
            for text in reversed(group):
                made.insert(at, text)
    return made


@pytest.mark.parametrize("kind", ["sorted", "scrambled"])
def test_as_the_document_says(kind: Any) -> None:
    """For any entries, in both readings of negative depths."""

    @given(st.integers(0, 4), ENTRIES)
    def check(history: int, entries: list[dict[str, Any]]) -> None:
        found = texts(history, entries, Compat(negative_depth=kind))
        assert found == plainly(history, entries, scrambled=kind == "scrambled")

    check()


def test_depths_beyond_the_history() -> None:
    """Groups that clamp to the front stand before and within one another, as in the original."""
    entries = [{"depth": depth, "order": 100, "position": "system"} for depth in (5, 3, 2, 1, 0)]
    assert texts(1, entries, Compat()) == ["1", "2", "0", "3", "h0", "4"]
