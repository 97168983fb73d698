"""Questions: one statement that reads, on both databases with the same answers, and no way to write."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.db.engine import Database
from innkeeper.library.db.queries import for_sqlite, one_statement, pieces, query, shifted
from innkeeper.library.errors import DatabaseCorruptError
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.stores import SettingsStore, ToolStore
from innkeeper.prompt.errors import FormatError, UsageError


def test_answers_are_plain_and_alike(db: Database) -> None:
    """Numbers, moments, truth and data come out the same from both."""
    LogStore(db).add({"template_name": "a", "execution_time_ms": 1.5, "created_at": "2026-01-15T12:34:56.789Z"})
    ToolStore(db).add({"name": "t", "definition": {"b": 1, "a": [2]}})
    found = query(db, "SELECT created_at, execution_time_ms, template_name, user_id FROM enhancement_logs")
    assert found.rows == (("2026-01-15T12:34:56.789000Z", 1.5, "a", None),)
    assert query(db, "SELECT avg(execution_time_ms), count(*) FROM enhancement_logs").rows == ((1.5, 1),)
    assert query(db, "SELECT definition FROM tools").rows == (('{"a":[2],"b":1}',),)


def test_rows_are_limited(db: Database) -> None:
    """More rows than asked for are cut off, and that is said."""
    LogStore(db).add(*[{"template_name": str(number)} for number in range(5)])
    found = query(db, "SELECT id FROM enhancement_logs ORDER BY id", limit=3)
    assert (len(found.rows), found.truncated) == (3, True)
    assert not query(db, "SELECT id FROM enhancement_logs", limit=5).truncated


@pytest.mark.parametrize(
    "text",
    [
        "WITH gone AS (DELETE FROM settings RETURNING key) SELECT * FROM gone",
        "SELECT * FROM nowhere",
        "SELECT colour FROM settings",
        "SELECT FROM WHERE",
        "EXPLAIN ANALYZE INSERT INTO settings (key, value) VALUES ('b', '1')",
        "VALUES (1), (2, 3)",
    ],
)
def test_refused(common_db: Database, text: str) -> None:
    """What writes or is not understood is refused, and nothing has changed."""
    db = common_db
    SettingsStore(db).set("a", 1)
    with pytest.raises(UsageError) as caught:
        query(db, text)
    assert caught.value.where is not None
    assert [row.key for row in SettingsStore(db).list()] == ["a"]


def test_no_way_around(db: Database) -> None:
    """Functions that write, other files and settings are out of reach, and the connection is as before."""
    SettingsStore(db).set("a", 1)
    texts = {
        "sqlite": ["SELECT load_extension('x')", "SELECT * FROM pragma_journal_mode('delete')"],
        "postgresql": ["SELECT nextval(pg_get_serial_sequence('audit_events', 'id'))", "SELECT pg_sleep(60)"],
    }[db.dialect]
    for text in texts:
        with pytest.raises(UsageError):
            query(db, text, seconds=0.2)
    SettingsStore(db).set("b", 1)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_other_drivers(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver without pg8000's way of asking one thing only is asked in the common way, in a transaction that reads."""
    monkeypatch.setattr("innkeeper.library.db.queries._ALONE", "no_such_method")
    SettingsStore(db).set("a", 1)
    assert query(db, "SELECT key FROM settings").rows == (("a",),)
    with pytest.raises(UsageError):
        query(db, "WITH gone AS (DELETE FROM settings RETURNING key) SELECT * FROM gone")


def test_a_question_that_takes_too_long(db: Database) -> None:
    """A statement that would go on for ever is ended."""
    text = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(UsageError):
        query(db, text, seconds=0.2)
    assert query(db, "SELECT 1").rows == ((1,),)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_database_that_fails_is_no_bad_question(db: Database) -> None:
    """An error of the database itself keeps its own kind."""
    assert db.target.path is not None
    data = bytearray(db.target.path.read_bytes())
    db.engine.dispose()
    data[4096:] = b"\xa5" * (len(data) - 4096)
    db.target.path.write_bytes(data)
    with pytest.raises(DatabaseCorruptError):
        query(db, "SELECT count(*) FROM settings")


MOMENT = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sign", "interval", "gives"),
    [
        ("-", "24 hours", datetime(2026, 3, 30, 12, 0, tzinfo=UTC)),
        ("+", "1 week 30 minutes", datetime(2026, 4, 7, 12, 30, tzinfo=UTC)),
        ("-", "1 month", datetime(2026, 2, 28, 12, 0, tzinfo=UTC)),
        ("+", "1 year", datetime(2027, 3, 31, 12, 0, tzinfo=UTC)),
        ("-", "90 sec", datetime(2026, 3, 31, 11, 58, 30, tzinfo=UTC)),
        ("+", "", MOMENT),
    ],
)
def test_intervals(sign: str, interval: str, gives: datetime) -> None:
    """Intervals are added as PostgreSQL adds them: months end with the month."""
    assert shifted(MOMENT, sign, interval) == gives


@pytest.mark.parametrize("interval", ["soon", "24 hours or so", "9999 years"])
def test_no_intervals(interval: str) -> None:
    """What is no interval, or leads out of the calendar, is an error."""
    with pytest.raises(FormatError):
        shifted(MOMENT, "+", interval)


# --- the outline of a text: what is code in it, and what only looks like it ---


@dataclass(frozen=True)
class Case:
    """A text, and the statement in it."""

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
        ("DELETE FROM settings", "DELETE is not a statement that reads"),
        ("", "an empty text"),
        ("-- nothing", "an empty text"),
        ("SELECT 'open", "quote is left open"),
        ("SELECT /* open", "comment is left open"),
        ("PRAGMA journal_mode", "PRAGMA is not a statement"),
    ],
)
def test_texts_that_are_not_one_reading_statement(text: str, says: str) -> None:
    """Anything but one statement that reads is refused with the reason."""
    with pytest.raises(UsageError, match=says):
        one_statement(text)


@given(st.text(alphabet="se'\"-/*$xE\\; \n()", max_size=60))
def test_pieces_are_the_text(text: str) -> None:
    """The pieces of a text are the text, or a quote or comment is left open."""
    try:
        found = list(pieces(text))
    except UsageError:
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
