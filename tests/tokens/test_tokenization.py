"""Tokenization: offsets that point into the text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.tokens import Counter, Tokenization
from innkeeper.tokens.tokenization import spans


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
