"""Errors of database drivers, translated to ours: the one place that knows the codes of SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from innkeeper.library.errors import (
    SAME_KEY,
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
from innkeeper.prompt.errors import InnkeeperError, Where

__all__ = ["translate", "translated"]

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
def translated(place: str) -> Iterator[None]:
    """Turn what a driver or SQLAlchemy raises inside into an error of this package that names ``place``."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise translate(error, place) from error


def translate(error: BaseException, place: str) -> InnkeeperError:
    """The error of this package for one of a driver's. The text of the statement and its values stay out of it."""
    cause = getattr(error, "orig", None) or error
    found = _from_sqlite(cause) if isinstance(cause, sqlite3.Error) else _from_server(cause)
    found.where = Where(asset=place)
    return found


def _from_sqlite(error: sqlite3.Error) -> InnkeeperError:
    code, text = getattr(error, "sqlite_errorcode", 0), str(error)
    if code & 0xFF == sqlite3.SQLITE_CONSTRAINT:
        return _constraint(text, unique=code in _SQLITE_UNIQUE)
    if "no such table" in text or "no such column" in text:
        return SchemaError(f"the database lacks what is asked for ({text})")
    if isinstance(error, (sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.DataError)):
        return FieldError(f"the database cannot hold a value ({text})")
    kind, message = _SQLITE.get(code & 0xFF, (DatabaseError, "the database failed"))
    return kind(f"{message} ({text})")


_SQLITE_UNIQUE: Final = (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)


def _from_server(error: BaseException) -> InnkeeperError:
    facts = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    state = str(facts.get("C") or getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or "")
    if state.startswith(_CONSTRAINT_CLASS):
        return _constraint(_told(facts, error), unique=state == _UNIQUE)
    if not state:
        return _without_state(error)
    kind, message = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2]) or (DatabaseError, "the database failed")
    return kind(f"{message} ({_told(facts, error)})")


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


def _told(facts: dict[str, Any], error: BaseException) -> str:
    """What the server says, without the values of the row, which are in its detail."""
    parts = (facts.get("M"), facts.get("n"), facts.get("t"))
    return "; ".join(str(part) for part in parts if part) or str(error)
