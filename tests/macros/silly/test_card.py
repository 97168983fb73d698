"""Example dialogue: its blocks and its turns."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.silly.card import example_blocks, example_turns


@pytest.mark.parametrize(
    ("raw", "blocks"),
    [
        ("", []),
        ("<START>", []),
        ("<START>\na\n<start> b", ["a", "b"]),
        ("a<START>b", ["a", "b"]),
        ("<START>\n<START>a", ["", "a"]),
    ],
    ids=repr,
)
def test_blocks(raw: str, blocks: list[str]) -> None:
    """Blocks begin at the mark, in any case of letters; text before the first one is a block."""
    assert example_blocks(raw) == blocks


def said(block: str, *members: str) -> list[tuple[str, str]]:
    """Who says what, between Tomas and Mira."""
    turns = example_turns(block, "Tomas", "Mira", members)
    assert all(turn.is_user is (turn.name == "Tomas") for turn in turns)
    return [(turn.name, turn.text) for turn in turns]


def test_turns() -> None:
    """A turn lasts until the other one speaks; words before the first turn belong to it, and only its first name goes."""
    assert said("*rain*\nMira: a\nMira: b\nTomas:c\nZed: d") == [
        ("Mira", "*rain*\n a\nMira: b"),
        ("Tomas", "c\nZed: d"),
    ]
    assert said("nobody speaks\n Mira: not at the beginning of the line") == []


@pytest.mark.parametrize(
    ("block", "turns"),
    [
        ("Mira: a\nAnn: b", [("Ann", "Mira: a\n b")]),
        ("Ann: a\nMira: b\nTomas: c\nMira: d", [("Ann", "a\nMira: b"), ("Tomas", "c"), ("Ann", "Mira: d")]),
        ("Tomas: a\nMira: b\nBo: c", [("Tomas", "a"), ("Bo", "Mira: b\n c")]),
        ("A:B: c", [("A", "B: c")]),
    ],
    ids=["one after another", "the character after a member", "after the user", "a colon in a name"],
)
def test_members_of_a_group(block: str, turns: list[tuple[str, str]]) -> None:
    """Who spoke last besides the character names the turns of that side, to the end of the block."""
    assert said(block, "Mira", "Ann", "Bo", "A:B") == turns


@given(st.lists(st.sampled_from(["Mira:", "Tomas:", "Ann:", "x", "\n", " "]), max_size=30).map("".join))
def test_any_block_has_turns_in_turn(block: str) -> None:
    """User and character alternate, whatever the text."""
    turns = example_turns(block, "Tomas", "Mira", ("Mira", "Ann"))
    assert all(first.is_user is not second.is_user for first, second in itertools.pairwise(turns))
