"""From drivers' errors to ours: every code has its kind, and no value of a row gets into the text."""

import sqlite3
from dataclasses import dataclass

import pytest

from innkeeper.library.db.driver_errors import translate, translated
from innkeeper.library.errors import (
    AlreadyExistsError,
    ConflictError,
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseReadOnlyError,
    DatabaseUnreachableError,
    FieldError,
    SchemaError,
)
from innkeeper.prompt.errors import InnkeeperError


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
