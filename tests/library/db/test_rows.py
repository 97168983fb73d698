"""Rows: what both databases hold alike, and what is refused before it reaches one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, Numeric, String, Table, create_engine, select
from sqlalchemy.engine import Connection

from innkeeper.jobs.deliveries import DeliveryRow
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider
from innkeeper.library.db.rows import by_priority, checked, first_row, insert_many, typed_rows
from innkeeper.library.db.tables.columns import created, flag, json_column, serial
from innkeeper.library.db.tables.scenes import metadata
from innkeeper.library.errors import DatabaseCorruptError, FieldError
from innkeeper.library.memory import MemoryRow
from innkeeper.library.rows import (
    AuditRow,
    CharacterRow,
    ConversationRow,
    DocumentRow,
    EnhancementRow,
    MessageRow,
    RoutePolicyRow,
    SceneRow,
    SceneTemplateRow,
    SettingRow,
    StoredTool,
)
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import InnkeeperError, UsageError

THINGS = Table(
    "things",
    MetaData(),
    serial(),
    Column("name", String, nullable=False),
    Column("priority", Integer),
    Column("big", BigInteger),
    Column("cost", Numeric),
    Column("data", LargeBinary),
    json_column("facts", "{}"),
    json_column("list", "[]"),
    json_column("any"),
    flag("is_active", default=True),
    created(),
)


@pytest.fixture
def connection() -> Iterator[Connection]:
    """A connection to a database in memory that holds the table."""
    engine = create_engine("sqlite://")
    with engine.begin() as opened:
        THINGS.metadata.create_all(opened)
        yield opened
    engine.dispose()


@dataclass(frozen=True)
class Wrong:
    """A value that a column does not take."""

    column: str
    value: Any
    says: str


WRONG = [
    Wrong("name", None, "is needed"),
    Wrong("name", 7, "must be text, not a whole number"),
    Wrong("name", "a\0b", "NUL"),
    Wrong("name", "\ud800", "surrogate"),
    Wrong("priority", 2**31, "out of range"),
    Wrong("priority", -(2**31), "out of range"),
    Wrong("priority", True, "must be a whole number, not true or false"),
    Wrong("big", 2**63, "out of range"),
    Wrong("cost", "1.5", "must be a whole number or a decimal number"),
    Wrong("data", "text", "must be bytes"),
    Wrong("facts", [], "must be an object, not a list"),
    Wrong("list", {}, "must be a list, not an object"),
    Wrong("is_active", 1, "must be true or false"),
    Wrong("any", {"a": object()}, "object"),
    Wrong("created_at", "yesterday", "ISO 8601"),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.column}-{wrong.says}")
def test_a_wrong_value_is_refused_by_its_column(wrong: Wrong) -> None:
    """What a column does not take is refused with the table and the column."""
    with pytest.raises(InnkeeperError, match=wrong.says) as info:
        checked(THINGS, {wrong.column: wrong.value}, whole=False)
    where = info.value.where
    assert where is not None
    assert (where.asset, str(where.path).partition(".")[0]) == ("things", wrong.column)


RIGHT = [
    ("priority", -(2**31) + 1),
    ("big", 2**63 - 1),
    ("cost", 1),
    ("cost", 0.5),
    ("any", [1, {"a": None}]),
    ("any", 7),
]


@pytest.mark.parametrize(
    ("column", "value"), [*RIGHT, ("facts", FrozenDict({"a": 1})), ("list", ("a",)), ("data", b"\0")]
)
def test_a_right_value_is_taken_as_it_is(column: str, value: Any) -> None:
    """What fits goes through unchanged."""
    assert checked(THINGS, {column: value}, whole=False) == {column: value}


def test_a_new_row_has_what_is_needed() -> None:
    """A column without a default must have a value; those that fill themselves may be left out, but not be null."""
    assert checked(THINGS, {"name": "a"}) == {"name": "a"}
    for values in ({}, {"name": None}, {"name": "a", "facts": None}):
        with pytest.raises(FieldError, match="is needed"):
            checked(THINGS, values)


def test_an_unknown_column_is_refused() -> None:
    """A column that does not exist raises `UsageError`, which lists those that do."""
    with pytest.raises(UsageError, match="'colour'") as info:
        checked(THINGS, {"colour": "red"}, whole=False)
    assert "priority" in str(info.value.hint)


class ThingRow(msgspec.Struct, frozen=True):
    """Some columns of the table."""

    name: str
    priority: int | None = None
    list: tuple[int, ...] = ()
    facts: FrozenDict = EMPTY


def test_rows_come_out_as_structs(connection: Connection) -> None:
    """Each row is a struct with the columns that it has fields for; no row is None."""
    assert first_row(connection.execute(select(THINGS)), ThingRow) is None
    insert_many(connection, THINGS, [])
    insert_many(connection, THINGS, [{"name": "a", "list": [1]}, {"name": "b", "list": []}])
    rows = typed_rows(connection.execute(select(THINGS).order_by(THINGS.c.id)), ThingRow)
    assert rows == (ThingRow("a", None, (1,)), ThingRow("b", None, ()))
    assert first_row(connection.execute(select(THINGS).order_by(THINGS.c.id)), ThingRow) == rows[0]


def test_json_of_another_kind_counts_as_empty(connection: Connection) -> None:
    """What other programs put into JSON columns makes no row unreadable."""
    connection.exec_driver_sql("INSERT INTO things (name, facts, list) VALUES ('a', '[1]', '{}')")
    assert typed_rows(connection.execute(select(THINGS)), ThingRow) == (ThingRow("a"),)


def test_a_row_of_other_types_is_a_damaged_database(connection: Connection) -> None:
    """SQLite stores any value in any column: what does not fit the struct says which field."""
    connection.exec_driver_sql("INSERT INTO things (name, priority) VALUES ('a', 'high')")
    with pytest.raises(DatabaseCorruptError, match=r"ThingRow: .*priority"):
        typed_rows(connection.execute(select(THINGS)), ThingRow)


WHOLE = {
    "api_models": CatalogueModel,
    "api_providers": CatalogueProvider,
    "audit_events": AuditRow,
    "character_scenes": SceneRow,
    "characters": CharacterRow,
    "conversations": ConversationRow,
    "detection_lists": DocumentRow,
    "enhancement_logs": EnhancementRow,
    "job_deliveries": DeliveryRow,
    "memories": MemoryRow,
    "messages": MessageRow,
    "negative_prompts": CatalogueNegative,
    "route_policies": RoutePolicyRow,
    "scenes": SceneTemplateRow,
    "settings": SettingRow,
    "tier_policies": DocumentRow,
    "tools": StoredTool,
}


@pytest.mark.parametrize("table", WHOLE)
def test_a_struct_has_the_columns_of_its_table(table: str) -> None:
    """A struct of a whole table names each of its columns, in their order, so that none is forgotten."""
    assert list(WHOLE[table].__struct_fields__) == metadata.tables[table].c.keys()


def test_priority_orders_from_low_to_high(connection: Connection) -> None:
    """The lowest number comes first, ties in the order of identifiers."""
    insert_many(
        connection, THINGS, [{"name": name, "priority": number} for name, number in (("c", 2), ("a", 1), ("b", 1))]
    )
    rows = connection.execute(by_priority(select(THINGS), THINGS)).all()
    assert [row.name for row in rows] == ["a", "b", "c"]
