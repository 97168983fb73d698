"""Tokenization: offsets that point into the text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.tokens import VOCABULARIES, Counter, Tokenization
from innkeeper.tokens.engines.engine import chunks, spans
from innkeeper.tokens.engines.loading import engine_of
from tests.tokens.texts import LANGUAGES


@given(st.text(max_size=40), st.data())
def test_spans_cover_the_text(text: str, data: st.DataObject) -> None:
    """However the bytes are cut, spans are in order, without a gap, and end at the end."""
    raw = text.encode("utf-8", "replace")
    text = raw.decode()
    cuts = sorted({0, len(raw), *data.draw(st.lists(st.integers(0, len(raw)), max_size=6))})
    found = spans(raw[start:end] for start, end in pairwise(cuts))
    ends = [0]
    for start, end in found:
        assert ends[-1] - 1 <= start <= ends[-1] <= end
        ends.append(end)
    assert ends[-1] == len(text)


def test_offsets_of_whole_characters_are_the_tokens() -> None:
    """Where no character is split, each token is the text at its offsets."""
    text = "The lamp-lighter's ladder creaked."
    found = Counter().tokenize(text, "gpt-4o")
    assert found.tokens is not None
    assert found.offsets is not None
    assert [text[start:end] for start, end in found.offsets] == list(found.tokens)
    assert "".join(found.tokens) == text
    assert len(found.ids or ()) == found.count


def test_detailed_says_whether_there_is_more_than_a_count() -> None:
    """Any of ids, tokens and offsets makes a tokenization detailed."""
    assert not Tokenization(backend="x", count=1).detailed
    assert Tokenization(backend="x", count=1, ids=(1,)).detailed


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
