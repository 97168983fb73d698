"""Where in a text something is."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.errors import EXCERPT_CHARS, where_in


@given(st.text(alphabet="ab\n\t", max_size=300), st.integers(-5, 400))
def test_the_excerpt_shows_the_place(text: str, index: int) -> None:
    """Line and column count from 1, and the excerpt has the character at the column."""
    where = where_in(text, index, "card")
    assert where.line is not None
    assert where.column is not None
    assert where.excerpt is not None
    assert len(where.excerpt) <= EXCERPT_CHARS
    line = text.split("\n")[where.line - 1].replace("\t", " ")
    assert where.excerpt == line[where.cut : where.cut + EXCERPT_CHARS]
    assert where.cut <= where.column - 1 <= where.cut + EXCERPT_CHARS
