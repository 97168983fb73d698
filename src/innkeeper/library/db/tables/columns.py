"""Column types and defaults that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Integer,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    TypeDecorator,
    false,
    text,
    true,
)
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import FunctionElement

from innkeeper.gate.tier import Tier
from innkeeper.library.errors import DatabaseCorruptError
from innkeeper.library.rows import fields_of
from innkeeper.prompt.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Dialect
    from sqlalchemy.sql.schema import SchemaItem


MOMENT_FORM: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
"""How a moment is written: UTC, microseconds, always as long, so that text order is time order."""

MOMENT_SQL: Final = {"sqlite": "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')", "postgresql": "now()"}
"""The database's own time, as `Moment` writes it."""

BIG: Final = BigInteger().with_variant(Integer, "sqlite")
"""A number that counts up by itself: SQLite does so for INTEGER only."""


def moment_text(moment: datetime | str) -> str:
    """A moment as it is stored: UTC with microseconds. Naive ones are UTC. Raises `FormatError` for what is none."""
    parsed = _parsed(moment) if isinstance(moment, str) else moment
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime(MOMENT_FORM).rjust(len("2026-01-15T12:34:56.123456Z"), "0")


def later(moment: str, seconds: float) -> str:
    """The moment so many seconds after another one."""
    return moment_text(datetime.fromisoformat(moment) + timedelta(seconds=seconds))


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        hint = "write it like 2026-01-15T12:34:56Z"
        raise FormatError(f"not an ISO 8601 moment: {text[:40]!r}", hint=hint) from error


class Moment(TypeDecorator[str]):
    """A point in time, as text in Python (`moment_text`) and in SQLite, as ``timestamptz`` in PostgreSQL."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        """The column's type in this database."""
        return dialect.type_descriptor(TIMESTAMP(timezone=True) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Text or a moment, as the database takes it."""
        if value is None:
            return None
        text = moment_text(value)
        return datetime.fromisoformat(text) if dialect.name == "postgresql" else text

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """What the database gives, as text. Raises `DatabaseCorruptError` for what is no moment."""
        try:
            return None if value is None else moment_text(value)
        except (FormatError, TypeError, AttributeError, OverflowError) as error:
            raise DatabaseCorruptError("a column that holds a moment does not") from error


def Json() -> sqltypes.JSON:  # noqa: N802 - it stands where a type stands
    """JSON that comes back as it was written: the text itself is kept, on PostgreSQL too (``jsonb`` would rewrite numbers)."""
    return sqltypes.JSON(none_as_null=True)


class moment_now(FunctionElement[Any]):  # noqa: N801 - it reads as the SQL function that it is
    """The database's own time, as `Moment` writes it: only for rows that somebody inserts by hand."""

    inherit_cache = True


class fresh_id(FunctionElement[Any]):  # noqa: N801 - as above
    """A random identifier by the database: only for rows that somebody inserts by hand."""

    inherit_cache = True


@compiles(moment_now, "sqlite")
def _moment_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    return f"({MOMENT_SQL['sqlite']})"


@compiles(moment_now, "postgresql")
def _moment_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    return MOMENT_SQL["postgresql"]


@compiles(fresh_id, "sqlite")
def _id_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    return "(lower(hex(randomblob(16))))"


@compiles(fresh_id, "postgresql")
def _id_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    return "replace(gen_random_uuid()::text, '-', '')"


def serial() -> Column[Any]:
    """A primary key that counts up."""
    return Column("id", BIG, primary_key=True, autoincrement=True)


def row_id() -> Column[Any]:
    """A primary key of text, made by whoever adds the row."""
    return Column("id", String, primary_key=True, server_default=fresh_id())


def created(name: str = "created_at", *, index: bool = False) -> Column[Any]:
    """When the row was made."""
    return Column(name, Moment, nullable=False, server_default=moment_now(), index=index)


def flag(name: str, *, default: bool, written: Any = None) -> Column[Any]:
    """A truth value; ``written`` is its default in SQL, where that is not the dialect's own word."""
    server_default = written if written is not None else true() if default else false()
    return Column(name, Boolean, nullable=False, default=default, server_default=server_default)


def integer(name: str, default: int, kind: Any = Integer) -> Column[Any]:
    """A whole number with a default."""
    return Column(name, kind, nullable=False, default=default, server_default=str(default))


def decimal(name: str, digits: int, decimals: int) -> Column[Any]:
    """A number with so many digits, ``places`` of them behind the point; it may be NULL."""
    return Column(name, Numeric(digits, decimals, asdecimal=False))


def tier(name: str, *, default: str | None = "sfw") -> tuple[Column[Any], CheckConstraint]:
    """A content tier: ``sfw`` where nothing else is named, or unknown (``None``) where there is no default."""
    column = Column(name, String, nullable=default is None, default=default, server_default=default)
    return column, one_of(name, "sfw", "nsfw")


def one_of(name: str, *allowed: str) -> CheckConstraint:
    """The constraint that a column holds one of these words."""
    listed = ", ".join(f"'{word}'" for word in allowed)
    return CheckConstraint(f"{name} IN ({listed})", name=f"{name}_known")


def text_column(name: str, default: str | None = None, **options: Any) -> Column[Any]:
    """A text column: without a default it may be NULL."""
    return Column(name, Text, nullable=default is None, default=default, server_default=default, **options)


def json_column(name: str, default: str | None = None) -> Column[Any]:
    """A JSON column; ``default`` is the JSON text."""
    written = None if default is None else text(f"'{default}'")
    fresh = {"{}": dict, "[]": list}.get(default or "")
    return Column(name, Json(), nullable=default is None, default=fresh, server_default=written)


def table_of(metadata: MetaData, name: str, row: type[msgspec.Struct], *more: SchemaItem) -> Table:
    """Return the table whose rows a struct describes: a column for each field, in their order, by its type and default.

    ``more`` are constraints, indexes, and columns that the type of their field does not tell.
    """
    own = {item.name: item for item in more if isinstance(item, Column)}
    items = [item for field in fields_of(row) for item in _items(field, own.get(field.name))]
    return Table(name, metadata, *items, *(item for item in more if not isinstance(item, Column)))


def _items(field: msgspec.structs.FieldInfo, own: Column[Any] | None) -> Iterator[SchemaItem]:
    """The column of a field, and its constraint where it is a tier."""
    name, default, kinds = field.name, field.default, get_args(field.type) or (field.type,)
    optional = NoneType in kinds
    if own is not None:
        yield own
    elif name == "id":
        yield row_id() if str in kinds else serial()
    elif name.endswith("_at"):
        yield created(name) if default == "" else Column(name, Moment, nullable=optional)
    elif Tier in kinds:
        yield from tier(name, default=None if optional else "sfw")
    elif bool in kinds:
        yield Column(name, Boolean) if optional else flag(name, default=default)
    elif int in kinds:
        yield Column(name, Integer, nullable=optional) if optional or field.required else integer(name, default)
    elif str in kinds and default != ():
        yield Column(name, String, nullable=False) if field.required else text_column(name, default)
    else:
        yield json_column(name, None if default is None else "[]" if default == () else "{}")
