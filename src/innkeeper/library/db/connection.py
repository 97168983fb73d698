"""Connections: from a URL to an SQLAlchemy engine, with the settings that make an acknowledged write a durable one."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.library.errors import DatabaseMissingError
from innkeeper.prompt.errors import ConfigError, Where
from innkeeper.prompt.machine import home

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Connection, Engine

__all__ = ["URL_VARIABLE", "Target", "find_target", "make_engine"]

URL_VARIABLE: Final = "INNKEEPER_DATABASE_URL"
"""The environment variable that says which database the library is."""

FILE_NAME: Final = "innkeeper.db"
"""The file in Innkeeper's folder that is the library where nothing else is said."""

DEFAULT_DRIVER: Final = "postgresql+pg8000"
_SCHEMES: Final = {"postgres": DEFAULT_DRIVER, "postgresql": DEFAULT_DRIVER}
_HINT: Final = "sqlite:///path/to/file.db or postgresql://user:password@host/name"
_BETWEEN_TRIES: Final = 0.02
_POOL: Final = 16
_RESTED: Final = 1.0


class Target(msgspec.Struct, frozen=True):
    """A database to open. ``place`` is how errors call it (without the password), ``path`` the file of a SQLite one."""

    url: str
    place: str
    path: Path | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.path is not None


def find_target(url: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ) -> Target:
    """The database that ``url`` (or a plain path) names; else ``$INNKEEPER_DATABASE_URL``; else a file in `home`.

    Raises:
        ConfigError: a URL of another kind of database, or one that cannot be read.
    """
    given = os.fspath(url) if url is not None else environ.get(URL_VARIABLE) or ""
    if "://" not in given:
        path = Path(given).expanduser() if given else home(environ) / FILE_NAME
        return Target(url=f"sqlite:///{path}", place=str(path), path=path)
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(given)
        parsed = parsed.set(drivername=_SCHEMES.get(parsed.drivername, parsed.drivername))
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise ConfigError("the database URL cannot be read", hint=_HINT) from error
    if backend == "sqlite" and parsed.database and parsed.database != ":memory:":
        return Target(url=given, place=parsed.database, path=Path(parsed.database))
    if backend == "postgresql":
        socket = _with_socket(parsed)
        return Target(
            url=socket.render_as_string(hide_password=False), place=parsed.render_as_string(hide_password=True)
        )
    raise ConfigError(f"the library is not kept in {parsed.drivername}", hint=_HINT)


def _with_socket(url: URL) -> URL:
    """``?host=/folder``, as other programs write a server's socket, in the words of pg8000."""
    host = url.query.get("host")
    if url.drivername != DEFAULT_DRIVER or not isinstance(host, str) or not host.startswith("/"):
        return url
    socket = f"{host}/.s.PGSQL.{url.port or url.query.get('port') or 5432}"
    return url.set(host=None, port=None, query={"unix_sock": socket})


def make_engine(target: Target, *, timeout: float, read_only: bool, create: bool) -> Engine:
    """An engine for a database; ``timeout`` is how long a locked or silent one is waited for, in seconds.

    Raises:
        DatabaseMissingError: there is no file and none was to be made.
    """
    from sqlalchemy import event

    engine = _sqlite(target, timeout, read_only, create) if target.path else _postgresql(target, timeout, read_only)
    if target.path:
        event.listen(engine, "begin", _begin)
    return engine


def _sqlite(target: Target, timeout: float, read_only: bool, create: bool) -> Engine:  # noqa: FBT001 - our own call only
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import QueuePool

    path = target.path or Path()
    if not path.exists() and (read_only or not create):
        raise DatabaseMissingError("there is no such database", where=Where(asset=target.place))
    path.parent.mkdir(parents=True, exist_ok=True)
    connect = _opener(path, timeout, read_only=read_only)
    engine = create_engine(
        "sqlite://", creator=connect, poolclass=QueuePool, pool_size=_POOL, max_overflow=-1, json_serializer=_json
    )
    event.listen(engine.pool, "connect", partial(_note_file, path))
    event.listen(engine.pool, "checkout", partial(_same_file, path))
    return engine


def _note_file(path: Path, _connection: Any, record: Any) -> None:
    record.info["file"] = _file(path)


def _same_file(path: Path, _connection: Any, record: Any, _proxy: Any) -> None:
    """Open the file anew where another one stands in its place, or none: what is written to one that is gone is lost."""
    from sqlalchemy.exc import DisconnectionError

    if record.info.get("file") != _file(path):
        raise DisconnectionError("the file is not the one that was opened")


def _file(path: Path) -> tuple[int, int] | None:
    """Which file stands there now."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - asked at every use of the database: half the time of the other way
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _opener(path: Path, timeout: float, *, read_only: bool) -> Callable[[], sqlite3.Connection]:
    address, made = path.resolve().as_uri(), threading.Event()

    def connect() -> sqlite3.Connection:
        mode = "ro" if read_only else "rw" if made.is_set() else "rwc"  # a file that went away is not made anew, empty
        connection = sqlite3.connect(
            f"{address}?mode={mode}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")  # with WAL: on the disk before it is acknowledged
            _write_ahead(connection, timeout, read_only=read_only)
        except BaseException:
            connection.close()
            raise
        made.set()
        return connection

    return connect


def _write_ahead(connection: sqlite3.Connection, timeout: float, *, read_only: bool) -> None:
    """Switch to a write-ahead log. SQLite does not wait for others here by itself."""
    until = time.monotonic() + timeout
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal" and not read_only:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_BETWEEN_TRIES)


def _begin(connection: Connection) -> None:
    """Take the lock for writing at once, so that no transaction fails halfway because another was faster."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


_ENDING: Final = "57P0"
"""What the SQLSTATE begins with of a server that ends a connection, or itself."""


def _note_end(context: Any) -> None:
    """Give up a connection that the server has ended, also where the driver lets the socket's own error through."""
    error = context.original_exception
    said = (*error.args, None)[0]
    code = said.get("C") if isinstance(said, dict) else getattr(error, "sqlstate", None)
    if isinstance(error, OSError) or str(code).startswith(_ENDING):
        context.is_disconnect = True


def _postgresql(target: Target, timeout: float, read_only: bool) -> Engine:  # noqa: FBT001 - our own call only
    from sqlalchemy import create_engine, event
    from sqlalchemy.engine import make_url

    url = make_url(target.url)
    arguments: dict[str, Any] = {"timeout": timeout} if url.drivername == DEFAULT_DRIVER else {}
    if "unix_sock" in url.query:
        arguments["ssl_context"] = False  # what stays on this machine needs no certificates, whose loading takes 20 ms
    options = {"postgresql_readonly": True} if read_only else {}
    engine = create_engine(
        url,
        connect_args=arguments,
        execution_options=options,
        pool_size=_POOL,
        max_overflow=-1,
        json_serializer=_json,
    )
    event.listen(engine, "handle_error", _note_end)
    event.listen(engine.pool, "checkin", _note_rest)
    event.listen(engine.pool, "checkout", partial(_wake, engine.dialect))
    return engine


def _note_rest(_connection: Any, record: Any) -> None:
    record.info["rested_since"] = time.monotonic()


def _wake(dialect: Any, connection: Any, record: Any, _proxy: Any) -> None:
    """Look whether a connection that has rested for a while still stands: a server that was restarted costs no request."""
    from sqlalchemy.exc import DisconnectionError

    if time.monotonic() - record.info.get("rested_since", math.inf) < _RESTED:
        return
    try:
        dialect.do_ping(connection)
    except Exception as error:  # whatever the driver raises, the connection is of no use
        raise DisconnectionError("the connection was lost while it rested") from error


def _json(value: Any) -> str:
    from innkeeper.prompt.data import to_json

    return to_json(value).decode()
