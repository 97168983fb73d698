"""Messages, sources, and how entries are read: roles and numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from innkeeper.content.json.values import ShapeError
from innkeeper.taverns.smart import Compat
from innkeeper.taverns.smart.messages import (
    MAX_NUMBER,
    framed_history,
    history_text,
    normalised_history,
    preset_source,
    role_or,
    shown_number,
    whole_number,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        (0, 0),
        ("", 7),
        (None, 7),
        ([], 7),
        ("12", 12),
        (2.9, 2),
        (0.0, 0),
        ("x", None),
        (math.inf, None),
        ([1], None),
    ],
    ids=repr,
)
def test_whole_number(value: Any, number: int | None) -> None:
    """By Python's ``int``; the default for what is empty, nothing for what is not a number."""
    assert whole_number(value, 7) == number


def test_numbers_are_shown_within_what_json_holds() -> None:
    """A larger one is shown as the largest."""
    assert [shown_number(value) for value in (None, 3, 10**30, -(10**30))] == [None, 3, MAX_NUMBER, -MAX_NUMBER]


@pytest.mark.parametrize(
    ("role", "read"),
    [("USER", "user"), ("thinking", "thinking"), (" user", "system"), (5, "system"), (None, "system")],
    ids=repr,
)
def test_role_or(role: Any, read: str) -> None:
    """One of the four in any case, else the default."""
    assert role_or({"role": role}, "system", "x") == read


def test_strict_and_tolerant_histories() -> None:
    """Construct refuses a role that framing reads as the user's."""
    history = [{"role": "wizard", "content": "Hi"}, {"role": "system", "content": None}]
    with pytest.raises(ShapeError, match="wizard"):
        normalised_history(history, Compat())
    assert [(item["role"], item["content"]) for item in framed_history(history, Compat())] == [
        ("user", "Hi"),
        ("system", ""),
    ]
    assert framed_history({"messages": history}, Compat()) == framed_history(history, Compat())
    assert framed_history("text", Compat()) == []


def test_sources_share_nothing_with_their_entries() -> None:
    """A source holds copies, and its own keys come before the entry's."""
    entry = {"identifier": "main", "tags": ["a"]}
    source = preset_source(entry, 0, emit_source_id=True)
    source["tags"].append("b")
    assert entry["tags"] == ["a"]
    assert list(source) == ["type", "id", "identifier", "tags", "source_id"]


def test_history_text() -> None:
    """Only contents that are text are searched."""
    assert history_text([{"content": "a"}, {"content": 5}, "x", {"content": "b"}]) == "a\nb"
