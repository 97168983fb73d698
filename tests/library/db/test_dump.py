"""Dumps: every row as lines of JSON, whole or refused."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from innkeeper.library.db.dump import FORMAT, check_dump, load_rows, write_dump
from innkeeper.library.db.engine import Database
from innkeeper.library.db.schema import HEAD
from innkeeper.prompt.errors import FormatError
from tests.library.filled import fill

Lines = list[dict[str, Any]]


@pytest.fixture
def dialect() -> str:
    """A file is enough: that both databases write the same is the backup's own test."""
    return "sqlite"


def lines_of(db: Database) -> Lines:
    """A dump as data."""
    file = io.BytesIO()
    write_dump(db, file)
    return [json.loads(line) for line in file.getvalue().splitlines()]


def sealed(path: Path, lines: Lines, *, rows: int | None = None) -> Path:
    """A dump of these lines, with a last line that fits them."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    count = sum(len(line.get("rows", ())) for line in lines) if rows is None else rows
    last = {"rows": count, "sha256": hashlib.sha256(data).hexdigest()}
    path.write_bytes(data + json.dumps(last).encode() + b"\n")
    return path


def test_there_and_back(db: Database, tmp_path: Path) -> None:
    """What was dumped and loaded into an empty library dumps to the same rows, bytes among them."""
    fill(db)
    path, told = tmp_path / "dump", list[int]()
    with path.open("wb") as file:
        count, digest = write_dump(db, file, told.append)
    *body, last = path.read_bytes().splitlines(keepends=True)
    assert json.loads(last) == {"rows": count, "sha256": digest}
    assert hashlib.sha256(b"".join(body)).hexdigest() == digest
    assert sum(told) == check_dump(path) == count > 0
    with Database.open(tmp_path / "again.db") as again:
        assert load_rows(again, path) == count
        old, new = ([line for line in lines_of(each) if line.get("table") != "revisions"][:-1] for each in (db, again))
        assert new == old
        assert again.revision() > db.revision()


def test_a_dump_begins_with_what_it_is(db: Database) -> None:
    """The first line names the format and the schema, so that a reader knows both before any row."""
    assert lines_of(db)[0] == {"format": FORMAT, "schema": HEAD}


def block(**changes: Any) -> dict[str, Any]:
    """A line with a row of the settings."""
    line = {"table": "settings", "columns": ["key", "value"], "rows": [["a", 1]]}
    return {**line, **changes}


HEADER = {"format": FORMAT, "schema": HEAD}
DAMAGED: list[tuple[str, Lines, str]] = [
    ("no header", [block()], "not a backup"),
    ("unknown schema", [{**HEADER, "schema": "9999"}], "not a backup"),
    ("another format", [{**HEADER, "format": "x"}], "not a backup"),
    ("unknown table", [HEADER, block(table="nowhere")], "rows of no table"),
    ("unknown column", [HEADER, block(columns=["key", "colour"])], "rows of no table"),
    ("rows of another type", [HEADER, block(rows=[1])], "rows of no table"),
]


@pytest.mark.parametrize(("lines", "says"), [case[1:] for case in DAMAGED], ids=[case[0] for case in DAMAGED])
def test_a_damaged_dump_is_refused(tmp_path: Path, lines: Lines, says: str) -> None:
    """A line that does not belong is refused with its number, however right the checksum is."""
    with pytest.raises(FormatError, match=says) as info:
        check_dump(sealed(tmp_path / "dump", lines, rows=1))
    assert info.value.where is not None
    assert info.value.where.line is not None


CUTS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("without its end", lambda data: b"".join(data.splitlines(keepends=True)[:-1])),
    ("one byte changed", lambda data: data.replace(b'["a", 1]', b'["a", 2]')),
    ("half a line", lambda data: data[: len(data) // 2]),
    ("empty", lambda _: b""),
]


@pytest.mark.parametrize("change", [case[1] for case in CUTS], ids=[case[0] for case in CUTS])
def test_a_dump_that_is_not_whole_is_refused(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    """A dump that ends too early or was changed raises `FormatError`."""
    path = sealed(tmp_path / "dump", [HEADER, block()])
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FormatError):
        check_dump(path)


def test_the_number_of_rows_is_compared(tmp_path: Path) -> None:
    """A dump that announces more rows than it holds is refused."""
    with pytest.raises(FormatError, match="holds 1 rows, not 2"):
        check_dump(sealed(tmp_path / "dump", [HEADER, block()], rows=2))


SECRET = block(
    table="secrets",
    columns=["name", "ciphertext", "key_id", "updated_at", "updated_by"],
    rows=[["a", {"$bytes": "aGk=!"}, "k", "2026-01-01T00:00:00.000000Z", "me"]],
)
"""A row whose bytes are base64 but for one character."""
UNTAKEN = [
    block(rows=[["a"]]),
    block(columns=["key"], rows=[[{"$bytes": "a"}]]),
    block(rows=[["a", 1], ["a", 2]]),
    SECRET,
]


@pytest.mark.parametrize("line", UNTAKEN, ids=["short", "cut bytes", "twice", "base64"])
def test_a_load_is_all_or_nothing(db: Database, tmp_path: Path, line: dict[str, Any]) -> None:
    """A row that its table does not take raises `FormatError`, and what was there stays."""
    fill(db)
    before = lines_of(db)
    with pytest.raises(FormatError, match="does not take"):
        load_rows(db, sealed(tmp_path / "dump", [HEADER, line]))
    assert lines_of(db) == before


def test_a_load_without_a_revision_is_refused(db: Database, tmp_path: Path) -> None:
    """A dump that lacks the row of the revision raises `FormatError`, and what was there stays."""
    fill(db)
    before = lines_of(db)
    with pytest.raises(FormatError, match="no revision"):
        load_rows(db, sealed(tmp_path / "dump", [HEADER, block()]))
    assert lines_of(db) == before
