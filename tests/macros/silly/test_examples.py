"""Example dialogue: its blocks and its turns."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.silly.examples import ExampleTurn, example_blocks, example_turns
from tests.macros.macro_texts import environment


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


def test_turns() -> None:
    """A turn lasts until the other one speaks; words before the first turn belong to it, and only its first name goes."""
    turns = example_turns("*rain*\nMira: a\nMira: b\nTomas:c\nZed: d", environment())
    assert turns == [ExampleTurn("Mira", False, "*rain*\n a\nMira: b"), ExampleTurn("Tomas", True, "c\nZed: d")]


def test_another_member_takes_the_turn() -> None:
    """In a group whoever spoke last names the turn."""
    env = environment(group=("Mira", "Ann"))
    assert example_turns("Mira: a\nAnn: b", env) == [ExampleTurn("Ann", False, "Mira: a\n b")]


@given(st.lists(st.sampled_from(["Mira:", "Tomas:", "Ann:", "x", "\n", " "]), max_size=30).map("".join))
def test_any_block_has_turns_in_turn(block: str) -> None:
    """User and character alternate, whatever the text."""
    turns = example_turns(block, environment(group=("Mira", "Ann")))
    assert all(first.is_user is not second.is_user for first, second in itertools.pairwise(turns))
