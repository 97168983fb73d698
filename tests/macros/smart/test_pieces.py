"""Pieces: the first word of a macro, and texts whose values are veiled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.smart.pieces import MacroValue, first_word, inner_of


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (["user"], ("user", "")),
        ([" us", "er ", " "], ("user", "")),
        (["user: x"], ("user", ":")),
        (["user ", " :x"], ("user", " :")),
        (["user x"], ("user", "?")),
        (["user ", "{{"], ("user", "?")),
        (["a" * 20], ("a" * 11, "?")),
        (["a" * 10, "b"], ("a" * 10 + "b", "?")),
        ([" ", ":x"], ("", ":")),
        ([""], ("", "")),
        (["us", MacroValue("er")], ("us", "?")),
        (["user", MacroValue(""), ":x"], ("user", ":")),
        ([" ", MacroValue("user")], ("", "?")),
        (["user:", MacroValue("x")], ("user", ":")),
    ],
    ids=str,
)
def test_first_word(pieces: list[str], found: tuple[str, str]) -> None:
    """The word, at most ten characters and one, and what follows it."""
    assert first_word(["{{", *pieces], 1, 10) == found


@given(st.lists(st.text(alphabet="ab: \n", max_size=5), max_size=6), st.integers(min_value=1, max_value=8))
def test_pieces_read_as_one_text(pieces: list[str], longest: int) -> None:
    """Where a text is cut does not matter."""
    assert first_word(pieces, 0, longest) == first_word(["".join(pieces)], 0, longest)


def test_values_are_veiled() -> None:
    """Structure is looked for outside of values, and cut out of the whole text."""
    inner = inner_of([" a:", MacroValue("b::c"), "::d "])
    found = inner.cut("::")
    assert inner.text == "a:b::c::d"
    assert found is not None
    assert [part.text for part in found] == ["a:b::c", "d"]
    assert inner.cut("b") is None


def test_blank_space_of_values_is_cut_as_well() -> None:
    """The text begins and ends where it does with its values in it."""
    inner = inner_of([MacroValue("  "), "a", MacroValue(" \n")])
    assert (inner.text, inner.plain) == ("a", "a")
