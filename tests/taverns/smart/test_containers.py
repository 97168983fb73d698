"""The containers that world books come in."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.taverns.smart.compat import Compat
from innkeeper.taverns.smart.containers import entries_of

A, B, C = ({"id": name, "content": name} for name in "abc")
NARROW, WIDE = Compat(wide_books=False), Compat()


@pytest.mark.parametrize(
    ("books", "narrow", "wide"),
    [
        (None, "", ""),
        (7, "", ""),
        ("text", "", ""),
        ([], "", ""),
        ([A, B], "ab", "ab"),
        ([[A], [[B]], C, 5], "abc", "abc"),
        ({"entries": [A, [B], 5]}, "a", "ab"),
        ({"world_book": {"entries": [A]}}, "a", "a"),
        ({"entries": {}, "world_book": {"entries": [A]}}, "a", "a"),
        ({"entries": [A], "world_book": {"entries": [B]}}, "a", "a"),
        ({"wb_0": {"entries": [A]}, "wb_1": [B], "name": "x", "empty": {}}, "", "ab"),
        ([{"name": "book", "entries": [A]}, B], None, "ab"),
        ([{**A, "entries": [B]}], "a", "a"),
        (A, "", ""),
    ],
    ids=repr,
)
def test_entries(books: Any, narrow: str | None, wide: str) -> None:
    """Each container's entries in their order; the wide reading also looks into books in lists and by name."""
    if narrow is not None:
        assert "".join(entry["id"] for entry in entries_of(books, NARROW)) == narrow
    assert "".join(entry["id"] for entry in entries_of(books, WIDE)) == wide
