"""The outline of SQL texts: what is code in them, and what only looks like it."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.db.queries import for_sqlite, one_statement, pieces
from innkeeper.library.errors import QueryRefusedError


@dataclass(frozen=True)
class Case:
    id: str
    text: str
    bare: str


ONE = [
    Case("plain", "SELECT 1;", "SELECT 1"),
    Case("comment before", "-- why; not\nSELECT 1", "SELECT 1"),
    Case("comment inside", "SELECT /* a; /* b */ c */ 1", "SELECT   1"),
    Case("semicolon in a string", "SELECT ';'", "SELECT ';'"),
    Case("doubled quote", "SELECT 'it''s;'", "SELECT 'it''s;'"),
    Case("escaped string", r"SELECT E'\'; DELETE'", r"SELECT E'\'; DELETE'"),
    Case("name", 'SELECT 1 AS "a;b"', 'SELECT 1 AS "a;b"'),
    Case("dollar string", "SELECT $x$;$$;$x$", "SELECT $x$;$$;$x$"),
    Case("with", "with a as (select 1) select * from a ; ; ", "with a as (select 1) select * from a"),
    Case("brackets", "(SELECT 1)", "(SELECT 1)"),
]


@pytest.mark.parametrize("case", ONE, ids=lambda case: case.id)
def test_one_statement(case: Case) -> None:
    """Comments and the last semicolon go; strings and names stay as they are."""
    assert one_statement(case.text) == case.bare


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT 1; SELECT 2", "more than one"),
        (r"SELECT E'\\'; DELETE FROM settings; --'", "more than one"),
        (r"SELECT '\'; DELETE FROM settings; --'", "more than one"),
        ("DELETE FROM settings", "DELETE is no statement that reads"),
        ("", "an empty text"),
        ("-- nothing", "an empty text"),
        ("SELECT 'open", "quote is left open"),
        ("SELECT /* open", "comment is left open"),
        ("PRAGMA journal_mode", "PRAGMA is no statement"),
    ],
)
def test_refused(text: str, says: str) -> None:
    """Anything but one statement that reads is refused with the reason."""
    with pytest.raises(QueryRefusedError, match=says):
        one_statement(text)


@given(st.text(alphabet="se'\"-/*$xE\\; \n()", max_size=60))
def test_pieces_are_the_text(text: str) -> None:
    """The pieces of a text are the text, or a quote or comment is left open."""
    try:
        found = list(pieces(text))
    except QueryRefusedError:
        return
    assert "".join(piece.text for piece in found) == text


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("x > NOW() - INTERVAL '24 hours'", "x > innkeeper_shift('-', '24 hours')"),
        ("x > now( )+interval'1 day'", "x > innkeeper_shift('+', '1 day')"),
        ("SELECT NOW(), current_timestamp", "SELECT innkeeper_now(), innkeeper_now()"),
        ("SELECT 'NOW() - INTERVAL ''1 day'''", "SELECT 'NOW() - INTERVAL ''1 day'''"),
    ],
)
def test_for_sqlite(text: str, becomes: str) -> None:
    """Time as PostgreSQL writes it becomes our functions, but never inside a string."""
    assert for_sqlite(text) == becomes
