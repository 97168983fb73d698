"""Query: one read-only SQL statement in the database's own dialect, for people who look into their logs.

A statement is split into code, strings, names and comments before it runs, so that only one statement that reads is let
through, and secrets stay hidden; the database itself refuses writes as well.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.library.db.connection import translate
from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.columns import moment_text
from innkeeper.prompt.data import to_json
from innkeeper.prompt.errors import FormatError, InnkeeperError, UsageError, Where

ROWS: Final = 1_000
"""How many rows are returned at most."""

SECONDS: Final = 10.0
"""How long a statement may take."""

_STEPS: Final = 10_000
"""SQLite's instructions between two looks at the clock."""

_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_ALONE: Final = "execute_unnamed"
"""The method of pg8000's connections that takes one statement only, by the server's own rule."""

_HIDDEN: Final = ("secrets", "ciphertext")
_PART: Final = re.compile(r"\s*([-+]?\d+)\s*(second|sec|minute|min|hour|day|week|month|mon|year)s?\s*", re.IGNORECASE)
_SECONDS_OF: Final = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_MONTHS_OF: Final = {"month": 1, "mon": 1, "year": 12}


class QueryResult(msgspec.Struct, frozen=True):
    """The answer: the columns' names, the rows as plain data, and whether there would be more rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False


def query(db: Database, text: str, *, limit: int = ROWS, seconds: float = SECONDS) -> QueryResult:
    """Run one statement that reads. SQLite understands ``NOW()`` and ``INTERVAL '24 hours'`` here as PostgreSQL does.

    Args:
        db: the library.
        text: one SELECT, WITH, VALUES or EXPLAIN.
        limit: how many rows to return.
        seconds: how long it may take.

    Raises:
        UsageError: it is none, would change something, takes too long, or the database does not understand it.
    """
    statement = one_statement(text)
    try:
        if db.dialect == "sqlite":
            return _in_sqlite(db, for_sqlite(statement), limit, seconds)
        return _in_postgresql(db, statement, limit, seconds)
    except Exception as error:
        raise _refused(error, db.location) from error


def _refusal(message: str, where: Where | None = None) -> UsageError:
    return UsageError(
        message, where=where, hint="one SELECT, EXPLAIN or VALUES statement; changes go through the other commands"
    )


def _refused(error: Exception, location: str) -> InnkeeperError:
    """A statement that fails is its author's business; a database that fails is not."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_INTERRUPT}:
        return _refusal(f"the database refuses the statement: {cause}", Where(asset=location))
    facts = cause.args[0] if cause.args and isinstance(cause.args[0], dict) else {}
    if str(facts.get("C", ""))[:2] in {"42", "22", "25", "57"}:
        return _refusal(f"the database refuses the statement: {facts.get('M')}", Where(asset=location))
    return translate(error, location)


def _in_sqlite(db: Database, statement: str, limit: int, seconds: float) -> QueryResult:
    with db.engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        with _guarded(raw, lambda: db.outside.now().now, seconds):
            cursor = raw.execute(statement)
            rows = cursor.fetchmany(limit + 1)
        return _result([column[0] for column in cursor.description or ()], rows, limit)


@contextmanager
def _guarded(raw: sqlite3.Connection, now: Callable[[], datetime], seconds: float) -> Iterator[None]:
    """Let a connection read only, for a while, with the functions that stand for PostgreSQL's."""
    until = time.monotonic() + seconds
    raw.create_function("innkeeper_now", 0, lambda: moment_text(now()))
    raw.create_function("innkeeper_shift", 2, lambda sign, text: moment_text(shifted(now(), sign, text)))
    raw.set_authorizer(_authorize)
    raw.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        yield
    finally:
        raw.set_authorizer(None)
        raw.set_progress_handler(None, 0)


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    if action == sqlite3.SQLITE_READ and (first, second) == _HIDDEN:
        return sqlite3.SQLITE_IGNORE  # reads as NULL
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def shifted(moment: datetime, sign: str, interval: str) -> datetime:
    """A moment plus or minus an interval such as ``24 hours`` or ``1 month 2 days``. Raises `FormatError` for another."""
    position, months, seconds = 0, 0, 0
    while position < len(interval):
        part = _PART.match(interval, position)
        if part is None:
            raise FormatError(f"not an interval: {interval[:40]!r}", hint="write it like '24 hours' or '7 days'")
        number, unit = int(part[1]), part[2].lower()
        months += number * _MONTHS_OF.get(unit, 0)
        seconds += number * _SECONDS_OF.get(unit, 0)
        position = part.end()
    factor = -1 if sign == "-" else 1
    return _months_later(moment, factor * months) + timedelta(seconds=factor * seconds)


def _months_later(moment: datetime, months: int) -> datetime:
    years, month = divmod(moment.month - 1 + months, 12)
    for day in range(moment.day, 0, -1):
        try:
            return moment.replace(year=moment.year + years, month=month + 1, day=day)
        except ValueError:
            continue
    raise FormatError("an interval leads out of the calendar")


def _in_postgresql(db: Database, statement: str, limit: int, seconds: float) -> QueryResult:
    with db.engine.connect() as connection:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        raw: Any = connection.connection.driver_connection
        if hasattr(raw, _ALONE):
            answer = getattr(raw, _ALONE)(statement)
            return _result([column["name"] for column in answer.columns or ()], answer.rows or (), limit)
        result = connection.exec_driver_sql(statement)
        return _result(list(result.keys()), result.fetchmany(limit + 1), limit)


def _result(columns: list[str], rows: Any, limit: int) -> QueryResult:
    shown = tuple(tuple(map(_plain, row)) for row in rows[:limit])
    return QueryResult(tuple(columns), shown, truncated=len(rows) > limit)


def _plain(value: Any) -> Any:
    """A value as both databases are made to show it."""
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(bytes(value))} bytes>"
    return to_json(value).decode() if isinstance(value, (dict, list)) else value


_PIECE: Final = re.compile(
    r"""
      (?P<escaped>\b[eE]'(?:[^'\\]|\\.|'')*+')
    | (?P<string>'(?:[^']|'')*+')
    | (?P<name>"(?:[^"]|"")*+")
    | (?P<dollar>\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$)
    | (?P<comment>--[^\n]*+)
    | (?P<opened>/\*)
    | (?P<loose>['"])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")
_READS: Final = ("SELECT", "WITH", "VALUES", "EXPLAIN")
_WORD: Final = re.compile(r"\s*\(*\s*([A-Za-z]+)")
_NOW: Final = re.compile(r"\b(?:NOW\s*\(\s*\)|CURRENT_TIMESTAMP\b)", re.IGNORECASE)
_SHIFT: Final = re.compile(r"innkeeper_now\(\)\s*([-+])\s*INTERVAL\s*$", re.IGNORECASE)


class SqlPiece(NamedTuple):
    """A stretch of a statement: ``code``, ``string``, ``name`` or ``comment``."""

    kind: str
    text: str


def pieces(text: str) -> Iterator[SqlPiece]:
    """The stretches of a text in order; together they are the text. Raises `UsageError` for a quote left open."""
    position = 0
    while (match := _PIECE.search(text, position)) is not None:
        if match.start() > position:
            yield SqlPiece("code", text[position : match.start()])
        if match.lastgroup == "loose":
            raise _refusal("a quote is left open in the statement")
        end = _comment_end(text, match.start()) if match["opened"] else match.end()
        kind = "comment" if match["comment"] or match["opened"] else "name" if match["name"] else "string"
        yield SqlPiece(kind, text[match.start() : end])
        position = end
    if position < len(text):
        yield SqlPiece("code", text[position:])


def _comment_end(text: str, start: int) -> int:
    """Where a comment that may hold others ends."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise _refusal("a comment is left open in the statement")


def one_statement(text: str) -> str:
    """The text without comments and without the semicolon at its end.

    Raises:
        UsageError: it is more than one statement, or none that reads.
    """
    bare = "".join(" " if piece.kind == "comment" else piece.text for piece in pieces(text)).strip()
    bare = bare.rstrip("; \t\r\n")
    if any(";" in piece.text for piece in pieces(bare) if piece.kind == "code"):
        raise _refusal("this is more than one statement")
    word = _WORD.match(bare)
    if word is None or word[1].upper() not in _READS:
        raise _refusal(f"{word[1].upper() if word else 'an empty text'} is not a statement that reads")
    return bare


def for_sqlite(text: str) -> str:
    """A statement with PostgreSQL's ``NOW() - INTERVAL '24 hours'`` in words that SQLite knows, with our functions."""
    done = ""
    for piece in pieces(text):
        if piece.kind == "code":
            done += _NOW.sub("innkeeper_now()", piece.text)
        elif piece.kind == "string" and (shift := _SHIFT.search(done)) is not None:
            done = f"{done[: shift.start()]}innkeeper_shift('{shift[1]}', {piece.text})"
        else:
            done += piece.text
    return done
