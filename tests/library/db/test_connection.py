"""From drivers' errors to ours: every code has its kind, and no value of a row gets into the text."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from innkeeper.library.db.connection import URL_VARIABLE, find_target, make_engine, translate, translated
from innkeeper.library.db.engine import Database
from innkeeper.library.errors import (
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
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import TemplateDraft, TemplateKey
from innkeeper.prompt.errors import ConfigError, InnkeeperError


class InterfaceError(Exception):
    """A driver's error of this name, as pg8000 and others have it."""


class DataError(Exception):
    """A driver's error of this name."""


class StateError(Exception):
    """An error that carries its state as an attribute, as psycopg's do."""

    def __init__(self, state: str) -> None:
        super().__init__("told by an attribute")
        self.sqlstate = state


def server(state: str, **facts: str) -> Exception:
    """An error of the server, as pg8000 gives it."""
    return Exception({"C": state, "M": "told", "D": "Key (name)=(secret) exists", **facts})


def sqlite(code: int, text: str = "told") -> sqlite3.Error:
    """An error of SQLite."""
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@dataclass(frozen=True)
class Case:
    id: str
    error: BaseException
    kind: type[InnkeeperError]


CASES = [
    Case("lost", server("08006"), DatabaseUnreachableError),
    Case("password", server("28P01"), DatabaseUnreachableError),
    Case("no database", server("3D000"), DatabaseUnreachableError),
    Case("shutting down", server("57P01"), DatabaseUnreachableError),
    Case("cancelled", server("57014"), DatabaseLockedError),
    Case("disk full", server("53100"), DatabaseReadOnlyError),
    Case("too many connections", server("53300"), DatabaseUnreachableError),
    Case("read-only", server("25006"), DatabaseReadOnlyError),
    Case("no right", server("42501"), DatabaseReadOnlyError),
    Case("lock", server("55P03"), DatabaseLockedError),
    Case("deadlock", server("40P01"), ConflictError),
    Case("damaged", server("XX001"), DatabaseCorruptError),
    Case("bad value", server("22003"), FieldError),
    Case("no table", server("42P01"), SchemaError),
    Case("unique", server("23505", n="uq_x"), AlreadyExistsError),
    Case("two answers", server("23505", t="template_labels"), AlreadyExistsError),
    Case("check", server("23514"), FieldError),
    Case("something else", server("0A000"), DatabaseError),
    Case("psycopg", StateError("53100"), DatabaseReadOnlyError),
    Case("no state", InterfaceError("network error"), DatabaseUnreachableError),
    Case("no state, data", DataError("x"), FieldError),
    Case("refused", ConnectionRefusedError("refused"), DatabaseUnreachableError),
    Case("type", TypeError("x"), FieldError),
    Case("nothing known", LookupError("x"), DatabaseError),
    Case("busy", sqlite(sqlite3.SQLITE_BUSY), DatabaseLockedError),
    Case("full", sqlite(sqlite3.SQLITE_FULL), DatabaseReadOnlyError),
    Case("read-only file", sqlite(sqlite3.SQLITE_READONLY_DBMOVED), DatabaseReadOnlyError),
    Case("corrupt", sqlite(sqlite3.SQLITE_CORRUPT_INDEX), DatabaseCorruptError),
    Case("no database file", sqlite(sqlite3.SQLITE_NOTADB), DatabaseCorruptError),
    Case("cannot open", sqlite(sqlite3.SQLITE_CANTOPEN), DatabaseUnreachableError),
    Case("input and output", sqlite(sqlite3.SQLITE_IOERR_FSYNC), DatabaseError),
    Case("no such table", sqlite(sqlite3.SQLITE_ERROR, "no such table: x"), SchemaError),
    Case("binding", sqlite3.InterfaceError("type 'x' is not supported"), FieldError),
    Case("unknown", sqlite3.OperationalError("x"), DatabaseError),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kinds(case: Case) -> None:
    """Each code becomes its kind of error, with the place, and without what stood in the row."""
    found = translate(case.error, "somewhere")
    assert type(found) is case.kind
    assert found.where is not None
    assert found.where.asset == "somewhere"
    assert "secret" not in found.render()


def test_inside_the_context() -> None:
    """Errors of the operating system become ours on the way out; our own pass as they are."""
    with pytest.raises(DatabaseUnreachableError), translated("somewhere"):
        raise PermissionError("no")
    with pytest.raises(FieldError, match="mine"), translated("somewhere"):
        raise FieldError("mine")


@dataclass(frozen=True)
class ConnectionCase:
    """What names a database, and what it is opened by and called."""

    name: str
    given: str | None
    url: str
    place: str
    environ: dict[str, str] = field(default_factory=dict)


PG = "postgresql+pg8000"
CONNECTION_CASES = [
    ConnectionCase("path", "a/b.db", "sqlite:///a/b.db", "a/b.db"),
    ConnectionCase("sqlite", "sqlite:///a/b.db", "sqlite:///a/b.db", "a/b.db"),
    ConnectionCase("variable", None, "sqlite:///v.db", "v.db", {URL_VARIABLE: "v.db"}),
    ConnectionCase("given before variable", "g.db", "sqlite:///g.db", "g.db", {URL_VARIABLE: "v.db"}),
    ConnectionCase("home", None, "sqlite:////h/innkeeper.db", "/h/innkeeper.db", {"INNKEEPER_HOME": "/h"}),
    ConnectionCase(
        "empty variable",
        None,
        "sqlite:////h/innkeeper.db",
        "/h/innkeeper.db",
        {URL_VARIABLE: "", "INNKEEPER_HOME": "/h"},
    ),
    ConnectionCase("postgresql", "postgresql://u:p@h/n", f"{PG}://u:p@h/n", f"{PG}://u:***@h/n"),
    ConnectionCase("postgres", "postgres://h/n", f"{PG}://h/n", f"{PG}://h/n"),
    ConnectionCase("driver", "postgresql+psycopg://h/n", "postgresql+psycopg://h/n", "postgresql+psycopg://h/n"),
    ConnectionCase(
        "socket",
        "postgresql://u@/n?host=/run/pg",
        f"{PG}://u@/n?unix_sock=%2Frun%2Fpg%2F.s.PGSQL.5432",
        f"{PG}://u@/n?host=%2Frun%2Fpg",
    ),
]


@pytest.mark.parametrize("case", CONNECTION_CASES, ids=lambda case: case.name)
def test_the_database_that_is_named(case: ConnectionCase) -> None:
    """A path or URL counts first, then the variable, then a file in the home; errors never show the password."""
    target = find_target(case.given, case.environ)
    assert (target.url, target.location) == (case.url, case.place)
    assert (target.path is not None) is case.url.startswith("sqlite")


@pytest.mark.parametrize(
    "url", ["mysql://h/n", "sqlite://", "sqlite:///:memory:", "nonsense://", "postgresql://h:port/n"]
)
def test_another_kind_of_database_is_refused(url: str) -> None:
    """What is not a file or a PostgreSQL raises `ConfigError`, which says how to write one."""
    with pytest.raises(ConfigError) as info:
        find_target(url, {})
    assert "postgresql://" in str(info.value.hint)


@pytest.mark.parametrize(("read_only", "create"), [(True, True), (False, False), (True, False)])
def test_a_file_is_made_only_where_that_is_asked_for(tmp_path: Path, *, read_only: bool, create: bool) -> None:
    """No file, and none to be made: `DatabaseMissingError`, and none was made."""
    path = tmp_path / "a.db"
    with pytest.raises(DatabaseMissingError):
        make_engine(find_target(path), timeout=1, read_only=read_only, create=create)
    assert not path.exists()


def test_a_write_is_durable_when_it_is_acknowledged(tmp_path: Path) -> None:
    """A file has a write-ahead log, is written through to the disk, and holds its foreign keys."""
    engine = make_engine(find_target(tmp_path / "new" / "a.db"), timeout=1, read_only=False, create=True)
    with engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        }
        assert found == {"journal_mode": "wal", "synchronous": 2}
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    engine.dispose()


def test_one_that_only_reads_writes_nothing(tmp_path: Path) -> None:
    """A connection that only reads refuses to write."""
    path = tmp_path / "a.db"
    writer = make_engine(find_target(path), timeout=1, read_only=False, create=True)
    with writer.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
    reader = make_engine(find_target(path), timeout=1, read_only=True, create=False)
    with reader.begin() as connection, pytest.raises(OperationalError, match="readonly"):
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
    writer.dispose()
    reader.dispose()


def test_a_writer_takes_the_lock_at_once(tmp_path: Path) -> None:
    """Of two transactions that will write, the second one fails at its beginning, not halfway."""
    engine = make_engine(find_target(tmp_path / "a.db"), timeout=0, read_only=False, create=True)
    with engine.connect().execution_options(writes=True) as one, engine.connect().execution_options(writes=True) as two:
        one.begin()
        one.exec_driver_sql("SELECT 1")
        with pytest.raises(OperationalError, match="locked"):
            two.begin()
    engine.dispose()


def test_what_is_read_without_a_trace(tmp_path: Path) -> None:
    """No file is made beside it; what others write meanwhile is seen, before and after it is in the file itself."""
    path = tmp_path / "a.db"
    Database.open(path).close()
    names = sorted(one.name for one in tmp_path.iterdir())
    with Database.open(path, read_only="traceless") as reader:
        assert TemplateStore(reader).names() == ()
        assert sorted(one.name for one in tmp_path.iterdir()) == names
        with Database.open(path) as writer:
            TemplateStore(writer).create(TemplateDraft(name="a", key=TemplateKey(use_case="chat"), system_prompt="A"))
            assert TemplateStore(reader).names() == ("a",)
        assert TemplateStore(reader).names() == ("a",)
        with pytest.raises(DatabaseReadOnlyError):
            TemplateStore(reader).describe("a", "b")
    with pytest.raises(DatabaseMissingError):
        Database.open(tmp_path / "none.db", read_only="traceless")
    assert not (tmp_path / "none.db").exists()
