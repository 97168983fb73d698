"""Backups: a copy of the whole library under a checksum, taken while it is in use, verified before it counts.

A dump is every row of every table as lines of JSON, the same from both databases, whole or refused. Its first line says what it
is, each further one holds rows of a table, the last one the number of rows and the SHA-256 of all lines before. What is dumped
from SQLite can be loaded into PostgreSQL and the other way round.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import inspect, select
from sqlalchemy.exc import SQLAlchemyError

from innkeeper.content.files.private import draft_beside
from innkeeper.library.db import schema
from innkeeper.library.db.connection import find_target, translate, translated
from innkeeper.library.db.engine import Database, status_of
from innkeeper.library.db.rows import insert_many
from innkeeper.library.db.sqlite_file import copy_database, open_file
from innkeeper.library.db.tables import chats as chat_tables
from innkeeper.library.db.tables.scenes import metadata
from innkeeper.library.db.tables.templates import revisions
from innkeeper.library.errors import AlreadyExistsError, DatabaseCorruptError, DatabaseError, DatabaseMissingError
from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.errors import FormatError, InputError, Where

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection


SUFFIX: Final = ".sha256"
"""A SQLite copy's checksum stands beside it, as ``sha256sum`` writes it."""

_MAGIC: Final = b"SQLite format 3\0"
_BLOCK: Final = 1024 * 1024


class Backup(msgspec.Struct, frozen=True):
    """A verified backup. ``kind`` is ``sqlite`` (a database file) or ``dump`` (lines of JSON); ``size`` is in bytes."""

    path: str
    kind: str
    sha256: str
    size: int


def back_up(
    db: Database, path: str | os.PathLike[str], *, force: bool = False, progress: Progress = lambda _: None
) -> Backup:
    """Write a backup and verify it: a copy of the file from SQLite, a dump (`innkeeper.library.db.backup`) from PostgreSQL.

    Others may go on writing; the backup is of one moment. The file takes its name when it is whole.

    Raises:
        AlreadyExistsError: the file exists and ``force`` is off.
        DatabaseError: the database cannot be read, or the file not written.
    """
    target = Path(path)
    if target.exists() and not force:
        raise AlreadyExistsError(f"{target} exists already", hint="`--force` overwrites it")
    with translated(str(target)), draft_beside(target) as draft:
        if db.dialect == "sqlite":
            copy_database(db.target.path or Path(), draft)
            with closing(open_file(draft, "rw")) as copy:
                copy.execute("PRAGMA journal_mode = DELETE")  # everything is in the one file then
            _check_file(draft)
            Path(f"{target}{SUFFIX}").write_text(f"{_digest(draft)}  {target.name}\n", encoding="utf-8")
        else:
            with draft.open("wb") as file:
                write_dump(db, file, progress)
            check_dump(draft)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(target)
    return verify(target)


def verify(path: str | os.PathLike[str]) -> Backup:
    """See whether a file is a whole backup.

    Raises:
        FormatError: it is none, is damaged, or its checksum is not the one beside it.
    """
    backup_path, where = Path(path), Where(asset=os.fspath(path))
    if not backup_path.is_file():
        raise FormatError(
            "there is no such file", where=where, hint="name the file that `innkeeper admin db backup` wrote"
        )
    with translated(str(backup_path)):
        in_sqlite = is_database(backup_path)
    if in_sqlite:
        beside = Path(f"{backup_path}{SUFFIX}")
        if beside.is_file() and beside.read_text(encoding="utf-8").split(maxsplit=1)[:1] != [_digest(backup_path)]:
            raise damaged(backup_path, "the backup is damaged: its checksum is not the one beside it")
        _check_file(backup_path)
    else:
        check_dump(backup_path)
    kind = "sqlite" if in_sqlite else "dump"
    return Backup(str(backup_path), kind, _digest(backup_path), backup_path.stat().st_size)


def restore(
    path: str | os.PathLike[str],
    url: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    progress: Progress = lambda _: None,
) -> Backup:
    """Put a backup in place of what the library holds, in one step; who reads meanwhile sees the old or the new.

    Args:
        path: the backup.
        url: the library, as for `Database.open`.
        force: do it although the library holds something. A damaged file is kept beside it as ``….damaged``.
        progress: is told how many more rows are done.

    Raises:
        FormatError: the backup is not whole. Nothing was changed.
        AlreadyExistsError: the library holds something and ``force`` is off.
    """
    backup, target = verify(path), find_target(url)
    if not force and holds_something(target.url if target.path is None else target.path):
        raise AlreadyExistsError(f"the library {target.location} holds something", hint="`--force` replaces it")
    if target.path is None:
        with Database.open(url) as db:
            _load_into(db, backup, progress)
        return backup
    with draft_beside(target.path) as draft:
        if backup.kind == "sqlite":
            copy_database(Path(backup.path), draft)
        else:
            with Database.open(draft) as fresh:
                load_rows(fresh, Path(backup.path), progress)
        _replace(draft, target.path)
    with Database.open(target.path) as db:  # an older backup is upgraded
        db.revision()
    return backup


def _load_into(db: Database, backup: Backup, progress: Progress) -> None:
    if backup.kind == "dump":
        load_rows(db, Path(backup.path), progress)
        return
    with draft_beside(Path(backup.path)) as draft:
        copied = draft.with_suffix(".dump")
        copy_database(Path(backup.path), draft)
        try:
            with Database.open(draft) as source, copied.open("wb") as file:
                write_dump(source, file)
            load_rows(db, copied, progress)
        finally:
            copied.unlink(missing_ok=True)


def holds_something(url: str | Path) -> bool:
    """Whether there is a library with anything in it. Raises `DatabaseError`."""
    try:
        with Database.open(url, create=False, upgrade=False) as db:
            return any(count for name, count in status_of(db).rows.items() if name != revisions.name)
    except DatabaseMissingError:
        return False


def is_database(path: Path) -> bool:
    """Whether a file is a database of SQLite. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _check_file(path: Path) -> None:
    try:
        with closing(open_file(path, "ro")) as copy:
            verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
            revision = copy.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    except sqlite3.Error as error:
        raise damaged(path, f"the backup is damaged: {error}") from error
    if verdict != "ok" or revision not in schema.REVISIONS:
        what = "damaged" if verdict != "ok" else f"of the schema {revision!r}, which is not known here"
        raise damaged(path, f"the backup is {what}")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _replace(draft: Path, target: Path) -> None:
    """Copy a database over another that others may have open, in one transaction of the other."""
    if target.exists() and not _is_sound(target):
        for suffix in ("-wal", "-shm"):
            Path(f"{target}{suffix}").unlink(missing_ok=True)
        target.replace(f"{target}.damaged")
    with translated(str(target)):
        before = _revision(target)
        with closing(open_file(draft, "rw")) as copy:
            copy.execute("PRAGMA journal_mode = WAL")
            copy.execute("UPDATE revisions SET revision = max(revision, ?) + 1", (before,))
            copy.commit()
        copy_database(draft, target)


def _is_sound(path: Path) -> bool:
    try:
        with translated(str(path)), closing(open_file(path, "rw")) as connection:
            return bool(connection.execute("PRAGMA quick_check").fetchone()[0] == "ok")
    except DatabaseCorruptError:
        return False


def _revision(path: Path) -> int:
    try:
        with closing(open_file(path, "rwc")) as connection:
            return int(connection.execute("SELECT revision FROM revisions").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


FORMAT: Final = "innkeeper-backup"
_TABLES: Final = {**metadata.tables, **chat_tables.metadata.tables}
_ROWS: Final = 200
_BYTES: Final = "$bytes"
_MOST: Final = 16 * 1024 * 1024
"""Bytes of files behind which a line ends."""
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
    for table in _tables(connection):
        result = connection.execute(select(table).order_by(*table.primary_key))
        for rows in result.partitions(_ROWS):
            for some in _portions(rows):
                plain = [[_written(value) for value in row] for row in some]
                yield len(some), to_json({"table": table.name, "columns": table.c.keys(), "rows": plain}) + b"\n"


def _tables(connection: Connection) -> list[Table]:
    """The tables of a library, and those of chats that stand beside it."""
    there = inspect(connection).get_table_names()
    return [*metadata.sorted_tables, *(table for table in chat_tables.metadata.sorted_tables if table.name in there)]


def _portions(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Rows as lines of a dump hold them: files that are rows make none that is too long to be read."""
    some, size = list[Any](), 0
    for row in rows:
        some.append(row)
        size += sum(len(value) for value in row if isinstance(value, (bytes, memoryview)))
        if size > _MOST:
            yield some
            some, size = [], 0
    if some:
        yield some


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
    table, columns, rows = _TABLES.get(str(facts.get("table"))), facts.get("columns"), facts.get("rows")
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
    last: dict[str, Any] = parse_json(line, asset=str(path))
    return last


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
        names = ", ".join(table.name for table in _tables(connection))
        connection.exec_driver_sql(f"TRUNCATE {names}")
    else:
        connection.execute(revisions.delete())


def _insert(connection: Connection, path: Path, block: dict[str, Any], progress: Progress) -> int:
    table, columns = _TABLES[block["table"]], block["columns"]
    try:
        if table.metadata is chat_tables.metadata:
            chat_tables.make_chat_tables(connection)
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
        counted = (table for table in metadata.sorted_tables if "id" in table.c and table.c.id.autoincrement is True)
        for table in counted:
            highest = f"(SELECT coalesce(max(id), 0) + 1 FROM {table.name})"
            connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {highest}, false)")
