"""Database: the open library, a SQLite file or a PostgreSQL database, with transactions that threads may share.

`status_of` says where it is kept, of which schema and revision it is, and how many rows its tables have.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import msgspec

from innkeeper.content.files.private import draft_beside
from innkeeper.library.db import schema
from innkeeper.library.db.connection import DatabaseTarget, find_target, make_engine, translated
from innkeeper.library.db.sqlite_file import ReadOnly, copy_database
from innkeeper.library.db.tables.columns import moment_text
from innkeeper.library.db.turns import WriteQueue
from innkeeper.library.errors import (
    DatabaseCorruptError,
    DatabaseLockedError,
    DatabaseMissingError,
    DatabaseReadOnlyError,
    SchemaError,
)
from innkeeper.library.outside import MACHINE, Outside
from innkeeper.prompt.errors import InnkeeperError, Where

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine


TIMEOUT: Final = 30.0
"""How long a locked or silent database is waited for, in seconds."""

_ADVISORY: Final = 0x696E6E6B
"""The number of the lock under which a PostgreSQL database is made and upgraded."""


class Database:
    """An open library. Threads may use it at the same time; forked processes open their own.

    Make one with `Database.open`. ``location`` is how errors call it, ``dialect`` ``sqlite`` or ``postgresql``; one that is not
    ``in_memory`` may have to be waited for.
    """

    in_memory: ClassVar[bool] = False

    def __init__(
        self, target: DatabaseTarget, engine: Engine, *, outside: Outside, timeout: float, read_only: bool
    ) -> None:
        self.target = target
        self.engine = engine
        self.outside = outside
        self.location = target.location
        self.dialect = engine.dialect.name
        self.read_only = read_only
        self._timeout = timeout
        self._turn = threading.Lock()
        self._turns = None if target.path is None or read_only else WriteQueue(target.path)
        self._local = threading.local()

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        upgrade: bool = True,
        check: bool = True,
        read_only: ReadOnly = False,
        timeout: float = TIMEOUT,
        outside: Outside = MACHINE,
    ) -> Self:
        """Open the library, make it where there is none, and bring an older one up to date.

        Args:
            url: the URL or file; ``$INNKEEPER_DATABASE_URL``, else a file in Innkeeper's folder, where left out.
            create: make a database where there is none.
            upgrade: bring the schema of an older one up to date.
            check: look at the schema at all; without, `upgrade` is for the caller to call.
            read_only: refuse every write; the database is neither made nor upgraded. With ``traceless`` no file is made beside
                a SQLite one either, as readers else do, unless somebody is writing it.
            timeout: how long to wait for other writers and for the server, in seconds.
            outside: where new rows get their time and identifiers from.

        Raises:
            DatabaseError: it cannot be opened; the subclass says why.
            ConfigError: a URL that is not understood.
        """
        target = find_target(url)
        with translated(target.location):
            engine = make_engine(target, timeout=timeout, read_only=read_only, create=create)
        opened = cls(target, engine, outside=outside, timeout=timeout, read_only=bool(read_only))
        try:
            if check:
                opened._prepare(create=create and not read_only, upgrade=upgrade and not read_only)
        except BaseException:
            opened.close()
            raise
        return opened

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write: everything inside happens, or nothing does. Inside another transaction of this thread it joins that one.

        Raises:
            DatabaseReadOnlyError: the library was opened to be read only.
            DatabaseLockedError: another writer held it for too long.
        """
        joined = getattr(self._local, "writing", None)
        if joined is not None:
            with self._located(), joined.begin_nested():  # what fails here leaves no half of itself in the whole
                yield joined
            return
        if self.read_only:
            raise DatabaseReadOnlyError("the library was opened to be read only", where=Where(asset=self.location))
        try:
            with self._located(), self._my_turn(), self.engine.connect() as plain:
                connection = plain.execution_options(writes=True)
                with connection.begin():
                    self._local.writing = connection
                    try:
                        yield connection
                    finally:
                        self._local.writing, self._local.publishing = None, False
        finally:
            for work in self._local.__dict__.pop("afterwards", ()):
                work()

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a transaction."""
        return getattr(self._local, "writing", None) is not None

    def afterwards(self, work: Callable[[], object]) -> None:
        """Have ``work`` done once the transaction of this thread has ended, whether it was kept or undone; else now.

        So that what was refused can be recorded though everything else of it is undone.
        """
        if getattr(self._local, "writing", None) is None:
            work()
        else:
            self._local.__dict__.setdefault("afterwards", []).append(work)

    @contextmanager
    def publishing(self) -> Iterator[Connection]:
        """A transaction that changes what requests are answered from: one at a time, whatever tables it touches."""
        with self.transaction() as connection:
            self.wait_for_publishers(connection)
            yield connection

    def wait_for_publishers(self, connection: Connection) -> None:
        """From here to the end of its transaction nobody else publishes. What needs no such quiet is better done before."""
        if self.dialect == "postgresql" and not getattr(self._local, "publishing", False):
            connection.exec_driver_sql("SELECT revision FROM revisions FOR UPDATE")
            # A lock that was taken behind a savepoint goes with it.
            self._local.publishing = not connection.in_nested_transaction()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read. Inside a transaction of this thread it sees what that one has written, inside `snapshot` the state of that."""
        joined = getattr(self._local, "writing", None) or getattr(self._local, "looking", None)
        if joined is not None:
            yield joined
            return
        with self._located(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Read one state of the whole database: all that this thread reads inside is from the same moment."""
        if getattr(self._local, "writing", None) or getattr(self._local, "looking", None):
            with self.reading() as connection:
                yield connection
            return
        with self._located(), self.engine.connect() as connection:
            if self.dialect != "sqlite":
                # One statement; the option of the driver sets the session and sets it back, in four.
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self._local.looking = connection
            try:
                yield connection
            finally:
                self._local.looking = None

    def revision(self) -> int:
        """The number that grows with every change of what requests are answered from."""
        with self.reading() as connection:
            number: int = connection.exec_driver_sql("SELECT revision FROM revisions").scalar_one()
        return number

    def now(self) -> str:
        """The moment for a new row, as it is stored."""
        return moment_text(self.outside.now().now)

    def fresh_id(self) -> str:
        """An identifier for a new row."""
        return self.outside.fresh_id()

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()
        if self._turns is not None:
            self._turns.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self, *, create: bool, upgrade: bool) -> None:
        """See that the schema is the one that this Innkeeper works with."""
        with self.reading() as connection:
            revision = schema.present(connection)
        if revision == schema.HEAD:
            return
        if revision is None and not create:
            raise DatabaseMissingError("there is no library in this database", where=Where(asset=self.location))
        if revision is not None and not upgrade:
            raise SchemaError(
                f"the schema of the database is revision {revision!r}, not {schema.HEAD!r}",
                where=Where(asset=self.location),
            )
        self.upgrade()

    def upgrade(self, to: str = schema.HEAD) -> tuple[str | None, str]:
        """Make the schema, or bring it up to ``to``; returns the revision before and after. One at a time.

        A SQLite file of an earlier revision is copied first, to a file beside it that is named after the revision.
        """
        self._keep_former(to)
        with self.transaction() as connection:
            if self.dialect == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY})")
            before = schema.present(connection)
            if before is None and to == schema.HEAD:
                schema.create(connection)
            elif before != to:
                schema.upgrade(connection, to)
        return before, to

    def _keep_former(self, to: str) -> None:
        """Copy a SQLite file before its schema changes, unless a copy of that revision is there already."""
        path = self.target.path
        with self.reading() as connection:
            revision = schema.present(connection)
        if path is None or revision in {None, to} or (copy := path.with_name(f"{path.name}.{revision}")).exists():
            return
        with translated(self.location), draft_beside(copy) as draft:
            copy_database(path, draft)
            draft.replace(copy)

    @contextmanager
    def _located(self) -> Iterator[None]:
        try:
            with translated(self.location):
                yield
        except InnkeeperError as error:
            if error.where is None:
                error.at(asset=self.location)
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if self._is_damaged():  # rows that are no rows fail wherever they are read first
                message = f"the database file is damaged ({type(error).__name__})"
                raise DatabaseCorruptError(message, where=Where(asset=self.location)) from error
            raise

    def _is_damaged(self) -> bool:
        """Whether SQLite, asked about the whole file, finds fault with it."""
        if self.target.path is None:
            return False
        try:
            with translated(self.location), self.engine.connect() as connection:
                return bool(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok")
        except DatabaseCorruptError:
            return True
        except InnkeeperError:
            return False

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        """Threads queue up here, and processes at `WriteQueue`, rather than at the file, where nobody keeps the order."""
        if self._turns is None:
            yield
            return
        if not self._turn.acquire(timeout=self._timeout):
            raise DatabaseLockedError("another thread is writing", where=Where(asset=self.location))
        try:
            with self._turns.turn(self._timeout / 2):  # SQLite's own lock is waited for behind it
                yield
        finally:
            self._turn.release()


class Status(msgspec.Struct, frozen=True):
    """The state of a database. ``head`` is the schema that this Innkeeper works with."""

    place: str
    dialect: str
    schema: str
    head: str
    revision: int
    rows: dict[str, int]

    @property
    def up_to_date(self) -> bool:
        """Whether the schema is the one that this Innkeeper works with."""
        return self.schema == self.head

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {**msgspec.structs.asdict(self), "up_to_date": self.up_to_date}


def status_of(db: Database) -> Status:
    """Look at a database, of whatever schema. Raises `DatabaseError`."""
    from sqlalchemy import func, inspect, select

    from innkeeper.library.db.tables import chats as chat_tables
    from innkeeper.library.db.tables.scenes import metadata

    tables = {**metadata.tables, **chat_tables.metadata.tables}
    with db.snapshot() as connection:
        revision = schema.present(connection)
        if revision is None:
            raise DatabaseMissingError("there is no library in this database", where=Where(asset=db.location))
        there = set(inspect(connection).get_table_names())
        names = sorted(tables.keys() & there)
        rows = {name: connection.execute(select(func.count()).select_from(tables[name])).scalar_one() for name in names}
    return Status(db.location, db.dialect, revision, schema.HEAD, db.revision(), rows)
