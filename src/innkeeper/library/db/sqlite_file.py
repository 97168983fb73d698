"""SqliteFile: how the file of a database is opened, so that what is read is in the file that stands there now.

A connection remembers pages. One that was opened before the file was replaced, or overwritten in its place, would go on reading
what was there: `SqliteFile.holds` finds out, and such a connection is opened anew.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Final, Literal

from innkeeper.content.files.private import make_private

ReadOnly = bool | Literal["traceless"]
"""Whether a database is only read; ``traceless``: and, of a SQLite file that nobody writes now, no file is made beside it."""

_Facts = tuple[int, int, int, int]

_BETWEEN_TRIES: Final = 0.02
_TRIES: Final = 4
_NO_RIGHT: Final = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
"""What SQLite answers to whoever may read a database, but not make the files beside it that readers share."""


_PAGES: Final = 1_000
"""Pages that a copy takes at once; others may write between."""


def copy_database(source: Path, target: Path) -> None:
    """Make SQLite's own copy of a database that others may be writing to: of one moment, whole or not at all."""
    make_private(target)
    with closing(open_file(source, "ro")) as origin, closing(open_file(target, "rwc")) as copy:
        origin.backup(copy, pages=_PAGES)


def open_file(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file by itself; ``mode`` is ``ro``, ``rw`` or ``rwc``, which makes it."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=30.0)


class FileConnection(sqlite3.Connection):
    """A connection that knows what its file was before it was opened: what was written meanwhile may be in it or not."""

    facts: _Facts | None = None


class UnlockedConnection(FileConnection):
    """A connection to a file that is read as if nobody ever wrote it: without locks, and without files beside it."""


class SqliteFile:
    """The file of a database; ``timeout`` is how long others who write are waited for, in seconds."""

    def __init__(self, path: Path, timeout: float, *, read_only: ReadOnly) -> None:
        self.path, self.timeout, self.read_only = path, timeout, read_only
        self._address = path.resolve().as_uri()
        self._made = threading.Event()

    def connect(self) -> FileConnection:
        """A connection to what stands there now. Raises `sqlite3.Error`."""
        tries = _TRIES
        while True:
            facts, connection = self._facts(), self._reached()
            connection.facts, tries = facts, tries - 1
            if facts == self._facts() or not tries:
                return connection
            connection.close()  # it was written to just now, by the switch to a log perhaps

    def holds(self, connection: FileConnection) -> bool:
        """Whether what a connection remembers is true: what is written to a file that is gone is lost.

        It is not where another file stands there, or none, or where it was written to, by a checkpoint or by somebody else:
        pages that SQLite remembers would hide that it was overwritten. Who reads a file as one that nobody writes opens it anew
        once there is a log of writes.
        """
        logged = isinstance(connection, UnlockedConnection) and self._has_log()
        return connection.facts == self._facts() and not logged

    def _facts(self) -> _Facts | None:
        """Which file stands there now, and when it was written to."""
        try:
            facts = os.stat(self.path)  # noqa: PTH116 - asked at every use of the database: half the time of the other way
        except OSError:
            return None
        return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns

    def _has_log(self) -> bool:
        """Whether somebody has written what is not in the file itself yet."""
        try:
            return os.stat(f"{self.path}-wal").st_size > 0  # noqa: PTH116 - as above
        except OSError:
            return False

    def _reached(self) -> FileConnection:
        if self.read_only == "traceless" and not self._has_log():
            return self._opened("ro&immutable=1", UnlockedConnection)
        if self.read_only:
            return self._read("ro")
        return self._read("rw" if self._made.is_set() else "rwc")  # a file that went away is not made anew, empty

    def _read(self, mode: str) -> FileConnection:
        try:
            connection = self._opened(mode)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_RIGHT or not self._may_only_be_read():
                raise
            connection = self._opened_to_read()
        self._made.set()
        return connection

    def _may_only_be_read(self) -> bool:
        writes = os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        return self.path.is_file() and os.access(self.path, os.R_OK) and not writes

    def _opened_to_read(self) -> FileConnection:
        """The file as whoever may not write it can read it: beside those who do, or else as one that nobody writes now."""
        try:
            return self._opened("ro")
        except sqlite3.Error as error:
            if self._has_log():  # without it the file is of an earlier moment, or of none
                message = (
                    f"its last changes are in {self.path.name}-wal, which only who may write in its folder can read"
                )
                unread = sqlite3.OperationalError(message)
                unread.sqlite_errorcode = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CANTOPEN)
                raise unread from error
            return self._opened("ro&immutable=1", UnlockedConnection)

    def _opened(self, mode: str, kind: type[FileConnection] = FileConnection) -> FileConnection:
        connection = sqlite3.connect(
            f"{self._address}?mode={mode}",
            uri=True,
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=kind,
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")  # with WAL: on the disk before it is acknowledged
            if mode.startswith("rw"):
                self._write_ahead(connection)
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")  # a file that cannot be read says so here
        except BaseException:
            connection.close()
            raise
        return connection

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        """Switch to a write-ahead log. SQLite does not wait for others here by itself.

        It would begin another database in a file that held one and holds nothing now, as while it is written anew.
        """
        if self._made.is_set() and connection.execute("PRAGMA page_count").fetchone()[0] == 0:
            emptied = sqlite3.DatabaseError("file is not a database: it is empty")
            emptied.sqlite_errorcode = sqlite3.SQLITE_NOTADB
            raise emptied
        until = time.monotonic() + self.timeout
        while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(_BETWEEN_TRIES)
