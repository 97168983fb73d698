"""Fractions that a text determines, as RisuAI 166.3.3 drew them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.cbs.chance import fraction_of, hash_text

PICKS = {
    ("char-0001chat-0001", 5): 0.5476090745069087,
    ("zzzchat-0001", 5): 0.6952749863266945,
    ("char-0001", 5): 0.04198147961869836,
}
HASHES = {
    "hello": "0121468",
    "a": "5250735",
    "": "0000040",
    "안녕하세요": "1316068",
    "The quick brown fox jumps over the lazy dog": "5295853",
}


@pytest.mark.parametrize(("word", "draw"), PICKS)
def test_a_pick_depends_on_character_chat_and_number_of_messages(word: str, draw: int) -> None:
    """The word is the ids of character and chat, the draw the number of messages."""
    assert fraction_of(draw, word) == PICKS[word, draw]


@pytest.mark.parametrize("word", HASHES)
def test_a_hash_has_seven_digits(word: str) -> None:
    """Korean text counts in UTF-16 units, as Latin text does."""
    assert hash_text(word) == HASHES[word]


@given(word=st.text(max_size=40), draw=st.integers(0, 2000))
def test_draws_are_fractions_that_repeat_after_a_thousand(word: str, draw: int) -> None:
    """Any word and any draw give a fraction."""
    assert 0 <= fraction_of(draw, word) < 1
    assert fraction_of(draw, word) == fraction_of(draw + 1000, word)
