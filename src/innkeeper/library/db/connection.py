"""Connections: from a URL to an SQLAlchemy engine, with the settings that make an acknowledged write a durable one.

The errors of the drivers are translated to ours here, the one place that knows the codes of SQLite and PostgreSQL.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.files.private import make_private
from innkeeper.library.db.sqlite_file import ReadOnly, SqliteFile
from innkeeper.library.errors import (
    SAME_KEY,
    AlreadyExistsError,
    ConflictError,
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseMissingError,
    DatabaseReadOnlyError,
    DatabaseUnreachableError,
    FieldError,
    SchemaError,
)
from innkeeper.prompt.errors import ConfigError, InnkeeperError, Where
from innkeeper.prompt.machine import home
from innkeeper.prompt.typed.once import once

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Connection, Engine
    from sqlalchemy.pool import Pool


URL_VARIABLE: Final = "INNKEEPER_DATABASE_URL"
"""The environment variable that says which database the library is."""

FILE_NAME: Final = "innkeeper.db"
"""The file in Innkeeper's folder that is the library where nothing else is said."""

DEFAULT_DRIVER: Final = "postgresql+pg8000"
_SCHEMES: Final = {"postgres": DEFAULT_DRIVER, "postgresql": DEFAULT_DRIVER}
_HINT: Final = "sqlite:///path/to/file.db or postgresql://user:password@host/name"
_POOL: Final = 16
_RESTED: Final = 1.0


class DatabaseTarget(msgspec.Struct, frozen=True):
    """A database to open. ``location`` is how errors call it (without the password), ``path`` the file of a SQLite one."""

    url: str
    location: str
    path: Path | None = None


def find_target(url: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ) -> DatabaseTarget:
    """The database that ``url`` (or a plain path) names; else ``$INNKEEPER_DATABASE_URL``; else a file in `home`.

    Raises:
        ConfigError: a URL of another kind of database, or one that cannot be read.
    """
    named = os.fspath(url) if url is not None else environ.get(URL_VARIABLE) or ""
    if "://" not in named:
        path = Path(named).expanduser() if named else home(environ) / FILE_NAME
        return DatabaseTarget(url=f"sqlite:///{path}", location=str(path), path=path)
    from sqlalchemy import exc, make_url

    try:
        parsed = make_url(named)
        parsed = parsed.set(drivername=_SCHEMES.get(parsed.drivername, parsed.drivername))
        backend = parsed.get_backend_name()
    except (exc.ArgumentError, ValueError) as error:
        raise ConfigError("the database URL cannot be read", hint=_HINT) from error
    if backend == "sqlite" and parsed.database and parsed.database != ":memory:":
        return DatabaseTarget(url=named, location=parsed.database, path=Path(parsed.database))
    if backend == "postgresql":
        socket = _with_socket(parsed)
        return DatabaseTarget(
            url=socket.render_as_string(hide_password=False), location=parsed.render_as_string(hide_password=True)
        )
    raise ConfigError(f"the library is not kept in {parsed.drivername}", hint=_HINT)


def _with_socket(url: URL) -> URL:
    """``?host=/folder``, as other programs write a server's socket, in the words of pg8000."""
    host = url.query.get("host")
    if url.drivername != DEFAULT_DRIVER or not isinstance(host, str) or not host.startswith("/"):
        return url
    socket = f"{host}/.s.PGSQL.{url.port or url.query.get('port') or 5432}"
    return url.set(host=None, port=None, query={"unix_sock": socket})


def make_engine(target: DatabaseTarget, *, timeout: float, read_only: ReadOnly, create: bool) -> Engine:
    """An engine for a database; ``timeout`` is how long a locked or silent one is waited for, in seconds.

    Raises:
        DatabaseMissingError: there is no file and none was to be made.
    """
    from sqlalchemy import event

    engine = _sqlite(target, timeout, read_only, create) if target.path else _postgresql(target, timeout, read_only)
    if target.path:
        event.listen(engine, "begin", begin)
    return engine


def _sqlite(target: DatabaseTarget, timeout: float, read_only: ReadOnly, create: bool) -> Engine:  # noqa: FBT001 - our own call only
    from sqlalchemy import create_engine, event

    path = target.path or Path()
    if not path.exists():
        if read_only or not create:
            raise DatabaseMissingError("there is no such database", where=Where(asset=target.location))
        make_private(path)
    file = SqliteFile(path, timeout, read_only=read_only)
    engine = create_engine(
        "sqlite://",
        creator=file.connect,
        poolclass=_quiet_pool(),
        pool_size=_POOL,
        max_overflow=-1,
        json_serializer=_json,
        json_deserializer=_data,
    )
    event.listen(engine.pool, "checkout", partial(_check_file, file))
    return engine


def _check_file(file: SqliteFile, connection: Any, _record: Any, _proxy: Any) -> None:
    from sqlalchemy import exc

    if not file.holds(connection):
        raise exc.DisconnectionError("the file is not the one that was opened")


def begin(connection: Connection) -> None:
    """Take the lock for writing at once, so that no transaction fails halfway because another was faster."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


_ENDING: Final = "57P0"
"""What the SQLSTATE begins with of a server that ends a connection, or itself."""


def _note_end(context: Any) -> None:
    """Give up a connection that the server has ended, also where the driver lets the socket's own error through."""
    error = context.original_exception
    facts = (*error.args, None)[0]
    code = facts.get("C") if isinstance(facts, dict) else getattr(error, "sqlstate", None)
    if isinstance(error, OSError) or str(code).startswith(_ENDING):
        context.is_disconnect = True


def _postgresql(target: DatabaseTarget, timeout: float, read_only: ReadOnly) -> Engine:
    from sqlalchemy import create_engine, event, make_url

    url = make_url(target.url)
    arguments: dict[str, Any] = {"timeout": timeout} if url.drivername == DEFAULT_DRIVER else {}
    if "unix_sock" in url.query:
        arguments["ssl_context"] = False  # what stays on this machine needs no certificates, whose loading takes 20 ms
    options = {"postgresql_readonly": True} if read_only else {}
    engine = create_engine(
        url,
        connect_args=arguments,
        execution_options=options,
        poolclass=_quiet_pool(),
        pool_size=_POOL,
        max_overflow=-1,
        json_serializer=_json,
        json_deserializer=_data,
    )
    event.listen(engine, "handle_error", _note_end)
    event.listen(engine.pool, "checkin", _note_rest)
    event.listen(engine.pool, "checkout", partial(_wake, engine.dialect))
    return engine


def _note_rest(_connection: Any, record: Any) -> None:
    record.info["rested_since"] = time.monotonic()


def _wake(dialect: Any, connection: Any, record: Any, _proxy: Any) -> None:
    """Look whether a connection that has rested for a while still stands: a server that was restarted costs no request."""
    from sqlalchemy import exc

    if time.monotonic() - record.info.get("rested_since", math.inf) < _RESTED:
        return
    try:
        dialect.do_ping(connection)
    except Exception as error:  # whatever the driver raises, the connection is of no use
        raise exc.DisconnectionError("the connection was lost while it rested") from error


@once
def _quiet_pool() -> type[Pool]:
    """SQLAlchemy's pool, which says only to whoever debugs it that a lost connection could not be closed well.

    A server that goes away is an error of whoever asks it; a traceback of the pool beside it tells nobody more.
    """
    from sqlalchemy import QueuePool

    class QuietPool(QueuePool):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.logger = _Quiet(self.logger)  # type: ignore[assignment]  # it does all that a logger does

    return QuietPool


class _Quiet(logging.LoggerAdapter[Any]):
    """A logger whose errors are remarks."""

    def __init__(self, logger: Any) -> None:
        super().__init__(logger, {})

    def error(self, msg: object, *args: object, **options: Any) -> None:
        """Say it to whoever debugs."""
        self.debug(msg, *args, **options)


def _json(value: Any) -> str:
    from innkeeper.prompt.data import to_json

    return to_json(value).decode()


def _data(text: Any) -> Any:
    """What a column of JSON holds. Nothing but JSON is ever written there."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatabaseCorruptError(f"a column that holds JSON does not: {type(error).__name__}") from error


_Kind = Callable[[str], InnkeeperError]
_NoRoom: Final[_Kind] = partial(DatabaseReadOnlyError, hint="make room where the database lies, and repeat")

_SQLITE: Final[dict[int, tuple[_Kind, str]]] = {
    sqlite3.SQLITE_BUSY: (DatabaseLockedError, "the database is locked by another writer"),
    sqlite3.SQLITE_LOCKED: (DatabaseLockedError, "the database is locked by another writer"),
    sqlite3.SQLITE_READONLY: (DatabaseReadOnlyError, "the database is read-only"),
    sqlite3.SQLITE_PERM: (DatabaseReadOnlyError, "the database may not be opened"),
    sqlite3.SQLITE_FULL: (_NoRoom, "no room left for the database"),
    sqlite3.SQLITE_CORRUPT: (DatabaseCorruptError, "the database file is damaged"),
    sqlite3.SQLITE_NOTADB: (DatabaseCorruptError, "the file is no database"),
    sqlite3.SQLITE_FORMAT: (DatabaseCorruptError, "the file is no database"),
    sqlite3.SQLITE_CANTOPEN: (DatabaseUnreachableError, "the database file cannot be opened"),
    sqlite3.SQLITE_IOERR: (DatabaseError, "the database file cannot be read or written"),
}
"""By primary result code (https://sqlite.org/rescode.html)."""

_POSTGRESQL: Final[dict[str, tuple[_Kind, str]]] = {
    "08": (DatabaseUnreachableError, "the connection to the database was lost"),
    "28": (DatabaseUnreachableError, "the server refuses the login"),
    "3D": (DatabaseUnreachableError, "the server has no such database"),
    "57": (DatabaseUnreachableError, "the server ended the work"),
    "57014": (DatabaseLockedError, "the database took too long"),
    "53100": (_NoRoom, "no room left for the database"),
    "53": (DatabaseUnreachableError, "the server has no resources left"),
    "25006": (DatabaseReadOnlyError, "the database is read-only"),
    "42501": (DatabaseReadOnlyError, "the role at the server may not do this"),
    "55P03": (DatabaseLockedError, "the database is locked by another writer"),
    "40": (ConflictError, "another transaction changed the same rows"),
    "XX001": (DatabaseCorruptError, "the server reports damaged data"),
    "XX002": (DatabaseCorruptError, "the server reports a damaged index"),
    "22": (FieldError, "the database cannot hold a value"),
    "42P01": (SchemaError, "a table is missing"),
    "42703": (SchemaError, "a column is missing"),
}
"""By SQLSTATE or its class (https://www.postgresql.org/docs/current/errcodes-appendix.html); the longer one wins."""

_UNIQUE: Final = "23505"
_CONSTRAINT_CLASS: Final = "23"
_LABELS: Final = ("template_labels", "one_answer")


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn what a driver or SQLAlchemy raises inside into an error of this package that names ``location``."""
    from sqlalchemy import exc

    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes what it cannot read, and Python's driver cannot read that
        raise DatabaseCorruptError("the database file is damaged", where=Where(asset=location)) from error
    except (exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise translate(error, location) from error


def translate(error: BaseException, location: str) -> InnkeeperError:
    """The error of this package for one of a driver's. The text of the statement and its values stay out of it."""
    cause = getattr(error, "orig", None) or error
    translated_error = _from_sqlite(cause) if isinstance(cause, sqlite3.Error) else _from_server(cause)
    translated_error.where = Where(asset=location)
    return translated_error


def _from_sqlite(error: sqlite3.Error) -> InnkeeperError:
    code, text = getattr(error, "sqlite_errorcode", 0), str(error)
    if code & 0xFF == sqlite3.SQLITE_CONSTRAINT:
        return _constraint(text, unique=code in _SQLITE_UNIQUE)
    if "no such table" in text or "no such column" in text:
        return SchemaError(f"the database lacks what is asked for ({text})")
    if text.startswith(_NOT_TEXT):
        return DatabaseCorruptError("the database holds a text that is none")
    if isinstance(error, (sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.DataError)):
        return FieldError(f"the database cannot hold a value ({text})")
    kind, message = _SQLITE.get(code & 0xFF, (DatabaseError, "the database failed"))
    return kind(f"{message} ({text})")


_NOT_TEXT: Final = "Could not decode to UTF-8"
_SQLITE_UNIQUE: Final = (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)


def _from_server(error: BaseException) -> InnkeeperError:
    facts = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    state = str(facts.get("C") or getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or "")
    if state.startswith(_CONSTRAINT_CLASS):
        return _constraint(_server_message(facts, error), unique=state == _UNIQUE)
    if not state:
        return _without_state(error)
    kind, message = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2]) or (DatabaseError, "the database failed")
    return kind(f"{message} ({_server_message(facts, error)})")


def _without_state(error: BaseException) -> InnkeeperError:
    text = str(error) or type(error).__name__
    if isinstance(error, (OSError, EOFError)) or type(error).__name__ in {
        "InterfaceError",
        "OperationalError",
        "TimeoutError",
    }:
        return DatabaseUnreachableError(f"the database does not answer ({text})")
    if type(error).__name__ in {"ProgrammingError", "DataError", "StatementError"} or isinstance(
        error, (TypeError, ValueError)
    ):
        return FieldError(f"the database cannot hold a value ({text})")
    return DatabaseError(f"the database failed ({text})")


def _constraint(text: str, *, unique: bool) -> InnkeeperError:
    if unique and any(name in text for name in _LABELS):
        return AlreadyExistsError("another template holds this label with the same key", hint=SAME_KEY)
    if unique:
        return AlreadyExistsError(f"another row has this already ({text})")
    return FieldError(f"the database refuses a row ({text})")


def _server_message(facts: dict[str, Any], error: BaseException) -> str:
    """What the server says, without the values of the row, which are in its detail."""
    parts = (facts.get("M"), facts.get("n"), facts.get("t"))
    return "; ".join(str(part) for part in parts if part) or str(error)
