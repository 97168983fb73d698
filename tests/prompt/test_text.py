"""Text without lone surrogates, origins, pieces."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Origin, Piece
from innkeeper.prompt.text import join_pieces, scalar_text, strip_pieces
from tests.prompt.doubles import ANY_TEXT

A, B = Origin("a"), Origin("b")
PIECES = st.lists(st.builds(Piece, st.text(alphabet=" \n\tab", max_size=4), st.sampled_from([A, B])), max_size=5)


def _text(pieces: object) -> str:
    return "".join(piece.text for piece in pieces)  # type: ignore[attr-defined]


@given(ANY_TEXT)
def test_scalar_text_encodes_and_keeps_every_offset(text: str) -> None:
    """Any text can be encoded, has the same length, and differs only where a surrogate stood alone."""
    clean = scalar_text(text)
    clean.encode()
    assert len(clean) == len(text)
    assert all(a == b or (b == "\ufffd" and "\ud800" <= a <= "\udfff") for a, b in zip(text, clean, strict=True))


def test_clean_text_is_the_same_object() -> None:
    """Text without surrogates costs no copy."""
    for text in ("plain", "船\0"):
        assert scalar_text(text) is text


@dataclass(frozen=True)
class OriginCase:
    text: str
    origin: Origin


@pytest.mark.parametrize(
    "case",
    [
        OriginCase("history", Origin("history")),
        OriginCase("character.description", Origin("character", "description")),
        OriginCase("book[7]", Origin("book", entry="7")),
        OriginCase("book.content[7] {{user}}", Origin("book", "content", "7", "user")),
    ],
    ids=lambda case: case.text,
)
def test_origins_are_read_aloud(case: OriginCase) -> None:
    """An origin's text names asset, field, entry and macro, as far as they are known."""
    assert str(case.origin) == case.text


@given(st.lists(PIECES, max_size=4))
def test_joined_pieces_say_what_joined_text_says(parts: list[list[Piece]]) -> None:
    """Joining pieces gives the same text as joining the parts that have any."""
    joined = join_pieces(parts, "\n", Origin("separator"))
    assert _text(joined) == "\n".join(text for text in map(_text, parts) if text)
    assert all(piece.text for piece in joined)


@given(PIECES)
def test_stripped_pieces_say_what_stripped_text_says(pieces: list[Piece]) -> None:
    """Stripping pieces gives the same text as stripping their text."""
    assert _text(strip_pieces(pieces)) == _text(pieces).strip()
