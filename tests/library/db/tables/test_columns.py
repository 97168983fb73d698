"""Column types that mean the same on either database, looked at without one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, create_engine, insert, select
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from innkeeper.library.db.tables.columns import (
    Moment,
    created,
    flag,
    json_column,
    moment_text,
    row_id,
    serial,
    text_column,
    tier,
)
from innkeeper.prompt.errors import FormatError

SQLITE: Dialect = URL.create("sqlite").get_dialect()()
POSTGRESQL: Dialect = URL.create("postgresql+pg8000").get_dialect()()

THINGS = Table(
    "things",
    MetaData(),
    row_id(),
    text_column("note"),
    text_column("name", "x"),
    json_column("facts", "{}"),
    json_column("more"),
    flag("is_active", default=True),
    *tier("content_mode"),
    *tier("ceiling", default=None),
    created(),
)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("2026-01-15T12:34:56Z", "2026-01-15T12:34:56.000000Z"),
        ("2026-01-15", "2026-01-15T00:00:00.000000Z"),
        ("2026-01-15T12:00:00+08:00", "2026-01-15T04:00:00.000000Z"),
        (datetime(2026, 1, 15, 12, 0), "2026-01-15T12:00:00.000000Z"),  # noqa: DTZ001 - naive ones are UTC
        (datetime(7, 1, 1, tzinfo=UTC), "0007-01-01T00:00:00.000000Z"),
    ],
)
def test_a_moment_is_written_in_one_form(moment: datetime | str, text: str) -> None:
    """UTC with microseconds and a year of four digits, whatever zone it came in."""
    assert moment_text(moment) == text


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-01-15T25:00"])
def test_what_is_not_a_moment_is_refused(text: str) -> None:
    """Text that is not ISO 8601 raises `FormatError`, which says how to write it."""
    with pytest.raises(FormatError, match="ISO 8601") as info:
        moment_text(text)
    assert "2026-01-15T12:34:56Z" in str(info.value.hint)


MOMENTS = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - Hypothesis adds the zone
    max_value=datetime(9998, 1, 1),  # noqa: DTZ001 - as above
    timezones=st.integers(-12, 12).map(lambda hours: timezone(timedelta(hours=hours))),
)


@given(MOMENTS, MOMENTS)
def test_text_order_is_time_order(one: datetime, other: datetime) -> None:
    """Moments as text sort as they do in time, and read back as the same moment."""
    assert (moment_text(one) < moment_text(other)) is (one < other)
    assert datetime.fromisoformat(moment_text(one)) == one


def test_each_database_takes_a_moment_in_its_own_way() -> None:
    """SQLite takes text, PostgreSQL a moment with its zone; both give text back, and nothing stays nothing."""
    moment, text = datetime(2026, 1, 15, tzinfo=UTC), "2026-01-15T00:00:00.000000Z"
    assert Moment().process_bind_param(moment, SQLITE) == text
    assert Moment().process_bind_param(text, POSTGRESQL) == moment
    for dialect in (SQLITE, POSTGRESQL):
        assert Moment().process_result_value(moment, dialect) == text
        assert Moment().process_bind_param(None, dialect) is Moment().process_result_value(None, dialect) is None


@pytest.mark.parametrize(
    ("dialect", "parts"),
    [
        (
            SQLITE,
            ("DEFAULT (lower(hex(randomblob(16))))", "created_at TEXT DEFAULT (strftime(", "facts JSON"),
        ),
        (
            POSTGRESQL,
            ("gen_random_uuid()", "created_at TIMESTAMP WITH TIME ZONE DEFAULT now()", "facts JSON "),
        ),
    ],
    ids=["sqlite", "postgresql"],
)
def test_defaults_are_written_for_each_database(dialect: Any, parts: tuple[str, ...]) -> None:
    """Identifiers, moments and JSON have the database's own words in its schema."""
    written = str(CreateTable(THINGS).compile(dialect=dialect))
    assert all(part in written for part in parts), written


def test_a_serial_counts_up_in_sqlite() -> None:
    """The number is an INTEGER for SQLite, which counts no other type, and a BIGSERIAL for PostgreSQL."""
    table = Table("numbers", MetaData(), serial())
    assert "id INTEGER NOT NULL" in str(CreateTable(table).compile(dialect=SQLITE))
    assert "BIGSERIAL" in str(CreateTable(table).compile(dialect=POSTGRESQL))


def test_rows_by_hand_fill_themselves() -> None:
    """A row that SQL inserts with nothing said has an identifier, a moment, empty JSON and the general tier."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        THINGS.metadata.create_all(connection)
        connection.exec_driver_sql("INSERT INTO things (note) VALUES (NULL)")
        row = connection.execute(select(THINGS)).mappings().one()
        assert (row["name"], row["facts"], row["is_active"], row["content_mode"]) == ("x", {}, True, "sfw")
        assert (row["more"], row["ceiling"], len(row["id"])) == (None, None, 32)
        assert moment_text(row["created_at"]) == row["created_at"]
        with pytest.raises(IntegrityError, match="content_mode_known"):
            connection.execute(insert(THINGS).values(content_mode="other"))
    engine.dispose()


def test_json_defaults_are_fresh_for_each_row() -> None:
    """A JSON column's default is made anew for each row; one without a default may be NULL."""
    columns: list[Column[Any]] = [json_column("facts", "[]"), json_column("more")]
    assert columns[0].default is not None
    assert columns[0].default.is_callable
    assert [column.nullable for column in columns] == [False, True]
