"""The file of a database: what stands there now is what is read, and nothing is begun in a file that was emptied."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from innkeeper.library.db.sqlite_file import FileConnection, SqliteFile


@pytest.fixture
def file(tmp_path: Path) -> SqliteFile:
    """A file with one table."""
    file = SqliteFile(tmp_path / "x.db", 5.0, read_only=False)
    with closing(file.connect()) as connection:
        connection.execute("CREATE TABLE words (word)")
    return file


def _touched(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO words VALUES ('x')")
        other.commit()
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _replaced(path: Path) -> None:
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def _overwritten(path: Path) -> None:
    path.write_bytes(b"\xa5" * path.stat().st_size)


@pytest.mark.parametrize("change", [_touched, _replaced, _overwritten, Path.unlink])
def test_a_connection_holds_while_its_file_is_the_same(file: SqliteFile, change: Callable[[Path], None]) -> None:
    """A checkpoint, another file in its place, other bytes in it, none: each ends what a connection remembers."""
    with closing(file.connect()) as connection:
        assert file.holds(connection)
        change(file.path)
        assert not file.holds(connection)


def test_what_is_written_while_a_file_is_opened(file: SqliteFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that were read before are not taken for what stands there after."""
    changes = iter([_touched, _replaced])
    opened = file._opened

    def slowly(*given: Any) -> FileConnection:
        connection = opened(*given)
        if change := next(changes, None):
            change(file.path)
        return connection

    monkeypatch.setattr(file, "_opened", slowly)
    with closing(file.connect()) as connection:
        assert file.holds(connection)
        assert connection.execute("SELECT word FROM words").fetchall() == [("x",)]
    assert next(changes, None) is None


def test_no_database_is_begun_in_a_file_that_was_emptied(file: SqliteFile) -> None:
    """As it is for a moment while somebody writes it anew: it stays as it is, and who opens it is told."""
    file.path.write_bytes(b"")
    with pytest.raises(sqlite3.DatabaseError, match="it is empty"):
        file.connect()
    assert file.path.read_bytes() == b""
