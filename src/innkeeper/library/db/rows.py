"""Rows: what goes into a table is checked before, what comes out is typed.

The audit is a row for each change: who changed what, when, from what to what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct, ValidationError
from sqlalchemy import BigInteger, Boolean, Integer, LargeBinary, Numeric, String, func, insert, select, types

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.columns import Moment, moment_text
from innkeeper.library.db.tables.logs import audit_events
from innkeeper.library.errors import DatabaseCorruptError, FieldError
from innkeeper.library.rows import AuditRow, read_row
from innkeeper.prompt.data import EMPTY, to_json
from innkeeper.prompt.errors import InnkeeperError, UsageError, Where
from innkeeper.prompt.text import kind_of, type_words

if TYPE_CHECKING:
    from sqlalchemy import Column, Select, Table
    from sqlalchemy.engine import Connection, Result

T = TypeVar("T", bound=Struct)

_INTEGER: Final = 2**31 - 1
_BIG: Final = 2**63 - 1


def by_priority(query: Select[Any], table: Table) -> Select[Any]:
    """The one order of everything with a priority: the lowest number first, ties by identifier."""
    return query.order_by(table.c.priority.asc(), table.c.id.asc())


def typed_rows(result: Result[Any], kind: type[T]) -> tuple[T, ...]:
    """Return the rows of a result as structs of ``kind``, one a table; columns without a field are left out.

    Raises:
        DatabaseCorruptError: a row holds what its column cannot (SQLite lets other programs write it).
    """
    try:
        return tuple([read_row(dict(row), kind) for row in result.mappings()])
    except ValidationError as error:
        raise DatabaseCorruptError(f"a row cannot be read as {kind.__name__}: {error}") from error


def first_row(result: Result[Any], kind: type[T]) -> T | None:
    """Return the first row of a result as a struct, None where there is none. Raises `DatabaseCorruptError`."""
    return next(iter(typed_rows(result, kind)), None)


def insert_many(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows with the same columns, in few statements on either database."""
    from sqlalchemy import insert

    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(insert(table), rows)
    else:  # with RETURNING, SQLAlchemy puts many rows into one statement, and keeps what it has compiled
        connection.execute(insert(table).returning(*table.primary_key), rows)


def insert_into(dialect: str, table: Table) -> Any:
    """An insert of this dialect, which may say what becomes of a row that is there already."""
    from sqlalchemy.dialects import postgresql, sqlite

    return (sqlite if dialect == "sqlite" else postgresql).insert(table)


def insert_new(connection: Connection, table: Table, row: Mapping[str, Any], *key: str) -> bool:
    """Insert a row unless there is one with the same ``key`` columns (without: any conflict); whether it was inserted."""
    into = insert_into(connection.dialect.name, table).values(dict(row))
    return bool(connection.execute(into.on_conflict_do_nothing(index_elements=key or None)).rowcount)


def upsert(
    connection: Connection, table: Table, row: Mapping[str, Any], changes: Mapping[str, Any] | None = None
) -> None:
    """Insert a row, or change the one with its primary key: by ``changes``, else to what the row says beside its key."""
    if changes is None:
        connection.execute(_replacing(connection.dialect.name, table, tuple(row)), dict(row))
        return
    into = insert_into(connection.dialect.name, table).values(dict(row))
    connection.execute(into.on_conflict_do_update(index_elements=table.primary_key, set_=dict(changes)))


@cache
def _replacing(dialect: str, table: Table, columns: tuple[str, ...]) -> Any:
    """The statement of an upsert, made once: making it takes longer than SQLite's work in memory."""
    into = insert_into(dialect, table)
    changes = {name: into.excluded[name] for name in columns if name not in table.primary_key.columns}
    return into.on_conflict_do_update(index_elements=table.primary_key, set_=changes)


def checked(table: Table, values: Mapping[str, Any], *, whole: bool = True) -> dict[str, Any]:
    """Values for a row of ``table`` that both databases hold alike.

    Args:
        table: where they go.
        values: by column name.
        whole: whether it is a new row, in which nothing that is needed may be missing.

    Raises:
        FieldError: a value of a wrong kind or size; says in which column.
        UsageError: a column that does not exist.
    """
    unknown = values.keys() - set(table.c.keys())
    if unknown:
        known = ", ".join(table.c.keys())
        raise UsageError(f"{table.name} has no column {min(unknown)!r}", hint=f"columns: {known}")
    if whole:
        _check_missing(table, values)
    return {name: _value(table.name, table.c[name], value) for name, value in values.items()}


def _check_missing(table: Table, values: Mapping[str, Any]) -> None:
    for column in table.c:
        has_value = values.get(column.name) is not None
        fills_itself = column.server_default is not None or column.autoincrement is True
        if not (has_value or column.nullable or (fills_itself and column.name not in values)):
            raise _refused(table.name, column.name, "is needed")


def _value(table: str, column: Column[Any], value: Any) -> Any:
    if value is None:
        if column.nullable:
            return None
        raise _refused(table, column.name, "is needed")
    try:
        _check_shape(column, value)
        return next(take for kinds, take in _TAKEN if isinstance(column.type, kinds))(value)
    except FieldError as error:
        raise _refused(table, column.name, error.message) from None
    except InnkeeperError as error:
        raise error.at(asset=table, path=column.name) from None


def _check_shape(column: Column[Any], value: Any) -> None:
    """A JSON column that is an object or a list unless something is given takes nothing else: whoever reads it counts on that."""
    default = str(getattr(getattr(column.server_default, "arg", None), "text", ""))
    kinds, name = _SHAPES.get(default, ((), "")) if isinstance(column.type, types.JSON) else ((), "")
    if kinds and not isinstance(value, kinds):
        raise FieldError(f"must be {name}, not {kind_of(value)}")


_SHAPES: Final[dict[str, tuple[tuple[type[Any], ...], str]]] = {
    "'{}'": ((Mapping,), "an object"),
    "'[]'": ((list, tuple), "a list"),
}
"""By the default of the column."""


def _kind(value: Any, *kinds: type) -> Any:
    if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)):
        return value
    raise FieldError(f"must be {' or '.join(map(type_words, kinds))}, not {kind_of(value)}")


def _whole(value: Any, most: int) -> int:
    number: int = _kind(value, int)
    if abs(number) > most:
        raise FieldError(f"is out of range (at most {most:,})")
    return number


def _text(value: Any) -> str:
    text: str = _kind(value, str)
    if "\0" in text:
        raise FieldError("holds a NUL character")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise FieldError("holds half of a character (a lone surrogate)")
    return str(text)


def _data(value: Any) -> Any:
    to_json(value)  # says what is not data
    return value


_TAKEN: Final[tuple[tuple[type[Any], Callable[[Any], Any]], ...]] = (
    (Moment, moment_text),
    (types.JSON, _data),
    (Boolean, lambda value: _kind(value, bool)),
    (BigInteger, lambda value: _whole(value, _BIG)),
    (Integer, lambda value: _whole(value, _INTEGER)),
    (Numeric, lambda value: _kind(value, int, float)),
    (LargeBinary, lambda value: _kind(value, bytes)),
    (String, _text),
)
"""What each kind of column takes; the first that fits counts."""


def _refused(table: str, column: str, what: str) -> FieldError:
    return FieldError(f"{column} {what}", where=Where(asset=table, path=column))


State = Mapping[str, Any] | None
"""What something was; None where it was not there."""


def record(
    connection: Connection,
    at: str,
    actor: str,
    action: str,
    resource: tuple[str, str],
    change: tuple[State, State] = (None, None),
    details: Mapping[str, Any] = EMPTY,
) -> None:
    """Add an event, in the transaction of the change that it tells of. ``resource`` is its kind and its name."""
    values = {
        "created_at": at,
        "actor": actor,
        "action": action,
        "resource_type": resource[0],
        "resource_id": resource[1],
        "before": change[0],
        "after": change[1],
        "details": details,
    }
    connection.execute(insert(audit_events), checked(audit_events, values))


class AuditStore:
    """The audit events of one database."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def append(
        self,
        action: str,
        *,
        actor: str = "",
        resource: tuple[str, str] = ("", ""),
        change: tuple[State, State] = (None, None),
        details: Mapping[str, Any] = EMPTY,
        at: str | None = None,
    ) -> None:
        """Add an event of its own, of the moment ``at``; now, where left out."""
        with self.db.transaction() as connection:
            record(connection, at or self.db.now(), actor, action, resource, change, details)

    def last(self, action: str, resource_type: str) -> dict[str, str]:
        """When something was done last to each resource of a type, by the resources' ids."""
        here = (audit_events.c.resource_type == resource_type) & (audit_events.c.action == action)
        query = select(audit_events.c.resource_id, func.max(audit_events.c.created_at)).where(here)
        with self.db.reading() as connection:
            rows = connection.execute(query.group_by(audit_events.c.resource_id)).all()
        return {str(name): at for name, at in rows}

    def newest(self, limit: int = 100, **where: str) -> tuple[AuditRow, ...]:
        """The newest events, newest first; ``where`` gives columns and what they must be."""
        conditions = [
            audit_events.c[name] == value for name, value in checked(audit_events, where, whole=False).items()
        ]
        query = select(audit_events).where(*conditions).order_by(audit_events.c.id.desc()).limit(limit)
        with self.db.reading() as connection:
            return typed_rows(connection.execute(query), AuditRow)
