"""Conditions of triggers, and the comparisons of ``v2If``."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.risu.triggers.conditions import compares, slice_of

HOLDS = (
    ("1.0", "=", "1"), ("a", "=", "a"), ("a", "!=", "b"), ("2", ">", "1"), ("1", "<=", "1"), ("a", "∈", '["a"]'),
    ("a", "∈", '"cat"'), ("b", "∉", '["a"]'), ('["a"]', "∋", "a"), ('["a"]', "∌", "b"), ("A b", "≒", "ab"), ("a", "∉", "bad"),
    ("a", "∌", "5"),
    ("1", "≒", "1.00001"), ("1", "≡", "true"), ("x", "≡", "false"), ("x", "≡", "x"),
)  # fmt: skip
FAILS = (
    ("1", "=", "2"), ("x", ">", "1"), ("x", "<", "1"), ("a", "∈", "bad"), ("a", "∉", '["a"]'), ("[5", "∋", "5"),
    ("1", "≒", "1.1"), ("0", "≡", "true"), ("1", "?", "1"),
)  # fmt: skip


@pytest.mark.parametrize(("left", "condition", "right"), HOLDS)
def test_a_comparison_holds(left: str, condition: str, right: str) -> None:
    """Numbers are compared as numbers where both are."""
    assert compares(condition, left, right)


@pytest.mark.parametrize(("left", "condition", "right"), FAILS)
def test_a_comparison_fails(left: str, condition: str, right: str) -> None:
    """So does one of what is no number, no JSON, or an unknown one."""
    assert not compares(condition, left, right)


@given(items=st.lists(st.integers(), max_size=6), start=st.integers(-9, 9), end=st.integers(-9, 9))
def test_a_slice_is_that_of_lists(items: list[int], start: int, end: int) -> None:
    """JavaScript's slices of whole numbers are Python's."""
    assert list(slice_of(items, start, end)) == items[start:end]


def test_a_slice_without_numbers_is_empty() -> None:
    """NaN is 0, infinity the end."""
    assert (slice_of("abc", 1, math.nan), slice_of("abc", math.nan, math.inf), slice_of("abc", -1.5)) == (
        "",
        "abc",
        "c",
    )
