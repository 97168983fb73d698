"""Dump: every row of every table as lines of JSON, the same from both databases, whole or refused.

The first line says what it is, each further one holds rows of a table, the last one the number of rows and the SHA-256 of all
lines before. What is dumped from SQLite can be loaded into PostgreSQL and the other way round.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from innkeeper.library.db import schema
from innkeeper.library.db.driver_errors import translate
from innkeeper.library.db.engine import Database
from innkeeper.library.db.log_tables import metadata
from innkeeper.library.db.rows import insert_many
from innkeeper.library.db.tables import revisions
from innkeeper.library.errors import DatabaseError
from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.errors import FormatError, InputError, Where

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

__all__ = ["FORMAT", "check_dump", "damaged", "load_rows", "write_dump"]

FORMAT: Final = "innkeeper-backup"
_ROWS: Final = 200
_BYTES: Final = "$bytes"
_LONGEST: Final = 256 * 1024 * 1024
"""The longest line that is read, in bytes."""

Progress = Callable[[int], object]
"""Is told how many more rows are done."""


def write_dump(db: Database, file: IO[bytes], progress: Progress = lambda _: None) -> tuple[int, str]:
    """Write all rows, of one moment; returns their number and the checksum."""
    digest, count = hashlib.sha256(), 0
    with db.snapshot() as connection:
        for rows, line in _lines(connection):
            file.write(line)
            digest.update(line)
            count += rows
            progress(rows)
    file.write(to_json({"rows": count, "sha256": digest.hexdigest()}) + b"\n")
    return count, digest.hexdigest()


def _lines(connection: Connection) -> Iterator[tuple[int, bytes]]:
    yield 0, to_json({"format": FORMAT, "schema": schema.HEAD}) + b"\n"
    for table in metadata.sorted_tables:
        result = connection.execute(select(table).order_by(*table.primary_key))
        for rows in result.partitions(_ROWS):
            plain = [[_written(value) for value in row] for row in rows]
            yield len(rows), to_json({"table": table.name, "columns": table.c.keys(), "rows": plain}) + b"\n"


def _written(value: Any) -> Any:
    return {_BYTES: base64.b64encode(value).decode()} if isinstance(value, (bytes, memoryview)) else value


def _read(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {_BYTES}:
        return base64.b64decode(value[_BYTES], validate=True)
    return value


def check_dump(path: Path) -> int:
    """Read a dump to its end and return its number of rows.

    Raises:
        FormatError: its checksum is not its own, it ends too early, or is of a schema that is not known here.
    """
    rows = sum(len(block["rows"]) for block in _blocks(path))
    announced = _last(path).get("rows")
    if announced != rows:
        raise damaged(path, f"the backup holds {rows:,} rows, not {announced}")
    return rows


def _blocks(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a dump, block by block; the checksum is compared at the end."""
    digest, ended = hashlib.sha256(), False
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST), b""), start=1):
            facts = _facts(line, path, number)
            if "sha256" in facts:
                ended = facts["sha256"] == digest.hexdigest()
                break
            digest.update(line)
            if number > 1:
                yield _block(facts, path, number)
            elif facts.get("format") != FORMAT or facts.get("schema") not in schema.REVISIONS:
                raise damaged(path, "this is not a backup, or one of a schema that is not known here", number)
    if not ended:
        raise damaged(path, "the backup is damaged: its checksum is not its own")


def _facts(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        facts = parse_json(line, asset=str(path))
    except (InputError, UnicodeDecodeError) as error:
        raise damaged(path, "the backup is damaged: a line cannot be read", number) from error
    return facts if isinstance(facts, dict) else {}


def _block(facts: dict[str, Any], path: Path, number: int) -> dict[str, Any]:
    table, columns, rows = metadata.tables.get(str(facts.get("table"))), facts.get("columns"), facts.get("rows")
    sound = isinstance(columns, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if table is None or not sound or not all(str(column) in table.c for column in columns or ()):
        raise damaged(path, "the backup is damaged: a line holds rows of no table", number)
    return facts


def damaged(path: Path, message: str, line: int | None = None) -> FormatError:
    """The error of a backup that cannot be restored."""
    hint = "take another backup: this one cannot be trusted"
    return FormatError(message, where=Where(asset=str(path), line=line), hint=hint)


def _last(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        *_, line = file
    found: dict[str, Any] = parse_json(line, asset=str(path))
    return found


def load_rows(db: Database, path: Path, progress: Progress = lambda _: None) -> int:
    """Put the rows of a dump in place of all rows that are there; all or nothing. Returns their number.

    Raises:
        FormatError: the dump is not whole, or a table does not take one of its rows.
        DatabaseError: the database does not do its work.
    """
    with db.publishing() as connection:
        before = connection.execute(select(revisions.c.revision)).scalar_one()
        _empty(connection)
        count = sum(_insert(connection, path, block, progress) for block in _blocks(path))
        _count_on(connection, path, before)
    return count


def _empty(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":  # SQLite gets a dump into a fresh file only
        names = ", ".join(table.name for table in metadata.sorted_tables)
        connection.exec_driver_sql(f"TRUNCATE {names}")
    else:
        connection.execute(revisions.delete())


def _insert(connection: Connection, path: Path, block: dict[str, Any], progress: Progress) -> int:
    table, columns = metadata.tables[block["table"]], block["columns"]
    try:
        rows = [{name: _read(value) for name, value in zip(columns, row, strict=True)} for row in block["rows"]]
        insert_many(connection, table, rows)
    except (SQLAlchemyError, InputError, TypeError, ValueError) as error:
        if isinstance(error, SQLAlchemyError) and isinstance(translate(error, ""), DatabaseError):
            raise
        raise damaged(path, f"the backup holds a row that {table.name} does not take") from error
    progress(len(rows))
    return len(rows)


def _count_on(connection: Connection, path: Path, before: int) -> None:
    """Let the revision go up whatever it was, so that everybody notices, and let counters go on after the highest id."""
    now = connection.execute(select(revisions.c.revision)).scalar()
    if now is None:
        raise damaged(path, "the backup holds no revision")
    connection.execute(revisions.update().values(revision=max(before, now) + 1))
    if connection.dialect.name == "postgresql":
        for table in _counted(metadata.sorted_tables):
            highest = f"(SELECT coalesce(max(id), 0) + 1 FROM {table.name})"
            connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {highest}, false)")


def _counted(tables: Iterable[Table]) -> Iterator[Table]:
    return (table for table in tables if "id" in table.c and table.c.id.autoincrement is True)
