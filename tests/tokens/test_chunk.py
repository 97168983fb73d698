"""Cutting long texts: nothing is lost, and the pieces count as much as the whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.tokens import VOCABULARIES
from innkeeper.tokens.carriers import engine_of
from innkeeper.tokens.chunk import chunks
from tests.tokens.texts import LANGUAGES


@given(st.text(max_size=300), st.integers(4, 50))
def test_pieces_join_to_the_text(text: str, size: int) -> None:
    """No character is lost or doubled, and no piece is too long or empty."""
    pieces = chunks(text, size)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= size for piece in pieces) or text == ""


def test_cuts_after_a_line_break_where_there_is_one() -> None:
    """A line break between a sign and a letter in the second half is taken."""
    assert chunks("aaaa\nbbb. \nccc.\nddd", 16) == ["aaaa\nbbb. \nccc.\n", "ddd"]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_pieces_count_as_the_whole(name: str, language: str) -> None:
    """Where lines can be cut at, the sum over the pieces is the count of the text."""
    encoding = engine_of(VOCABULARIES[name]).encoding  # type: ignore[attr-defined]
    text = "\n".join([LANGUAGES[language]] * 12)
    whole = len(encoding.encode_ordinary(text))
    size = 2 * len(LANGUAGES[language]) + 100
    assert sum(len(encoding.encode_ordinary(piece)) for piece in chunks(text, size)) == whole
