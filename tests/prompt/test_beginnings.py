"""Beginnings: the same value as by going through everything, whatever was seen before."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.beginnings import LOOK_BACK, Beginnings

OBJECTS = tuple([[number] for number in range(6)])
CHATS = st.lists(st.lists(st.sampled_from(OBJECTS), max_size=LOOK_BACK * 2), max_size=12)


def joined(before: str, objects: tuple[list[int], ...], key: Any) -> str:
    """A text with each object and the key."""
    return before + "".join(f"{item[0]}{key}" for item in objects)


@given(CHATS, st.sampled_from(["a", "ab"]))
def test_a_value_is_that_of_the_whole_sequence(chats: list[list[list[int]]], keys: str) -> None:
    """Of sequences that share beginnings, ends, or nothing, and for each key."""
    beginnings: Beginnings[list[int], str] = Beginnings("", joined)
    for key in keys:
        for chat in chats:
            assert beginnings.of(tuple(chat), key) == joined("", tuple(chat), key)


def test_only_what_is_new_is_gone_through() -> None:
    """A chat that grows, or whose newest messages are others; equal objects are not the same ones."""
    seen: list[int] = []

    def count(before: int, objects: tuple[list[int], ...], _key: None) -> int:
        seen.append(len(objects))
        return before + len(objects)

    beginnings: Beginnings[list[int], int] = Beginnings(0, count)
    chat = tuple([[number] for number in range(50)])
    assert [beginnings.of(chat[:40]), beginnings.of(chat[:42]), beginnings.of((*chat[:40], chat[45]))] == [40, 42, 41]
    assert beginnings.of(tuple([[number] for number in range(40)])) == 40
    assert seen == [40, 2, 1, 40]
