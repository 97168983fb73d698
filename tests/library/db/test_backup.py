"""Backups: whole, verified, restorable into either database; and nothing of a broken one is taken."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from innkeeper.library.catalogue.database_source import Watcher
from innkeeper.library.db.backup import FORMAT, back_up, check_dump, load_rows, restore, verify, write_dump
from innkeeper.library.db.engine import Database
from innkeeper.library.db.schema import HEAD as NEWEST
from innkeeper.library.db.tables.logs import metadata
from innkeeper.library.errors import AlreadyExistsError
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.stores import SecretStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.prompt.errors import FormatError
from tests.library.conftest import Fresh
from tests.library.drafts import draft
from tests.library.filled import fill
from tests.library.former import make_former
from tests.postgres import Server


def rows_of(db: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, but for the revision."""
    with db.snapshot() as connection:
        return {
            table.name: [dict(row) for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()]
            for table in metadata.sorted_tables
            if table.name != "revisions"
        }


def test_backup_and_restore(db: Database, fresh: Fresh, tmp_path: Path) -> None:
    """Every row of every table comes back, and the library goes on counting where it was."""
    made = back_up(fill(db), tmp_path / "backup")
    assert verify(tmp_path / "backup") == made
    target = fresh()
    assert restore(made.path, target) == made
    with Database.open(target) as again:
        assert rows_of(again) == rows_of(db)
        assert again.revision() > 0
        assert TemplateStore(again).publish(draft(text="after")).version == 3
        assert LogStore(again).add({"template_name": "after"})[0] > LogStore(db).newest(1)[0].id
        assert SecretStore(again).ciphertext("KEY") == bytes(range(256))


@pytest.fixture
def other(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty library in the other kind of database."""
    if dialect == "postgresql":
        yield str(tmp_path / "other.db")
        return
    server: Server = request.getfixturevalue("server")
    with Database.open(server.url(), check=False) as admin, admin.engine.connect() as plain:
        connection = plain.execution_options(isolation_level="AUTOCOMMIT")
        name = f"crossing_{os.getpid()}"
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield server.url(name)
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def test_restore_into_the_other_database(db: Database, other: str, tmp_path: Path) -> None:
    """What was backed up from SQLite is restored into PostgreSQL row by row, and the other way round."""
    made = back_up(fill(db), tmp_path / "backup")
    restore(made.path, other, force=True)
    with Database.open(other) as again:
        assert rows_of(again) == rows_of(db)
        assert TemplateStore(again).publish(draft(text="after")).version == 3


def test_a_backup_while_others_write(db: Database, tmp_path: Path) -> None:
    """A backup that is taken during writes is of one moment: labels, versions and events agree."""
    store, stop = TemplateStore(db), threading.Event()
    store.publish(draft(text="first"))

    def write() -> None:
        while not stop.is_set():
            store.publish(draft(text="more"))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        made = [back_up(db, tmp_path / f"backup{number}") for number in range(3)]
    finally:
        stop.set()
        thread.join()
    for number, backup in enumerate(made):
        target = tmp_path / f"again{number}.db"
        restore(backup.path, target)
        with Database.open(target) as again:
            entry = TemplateStore(again).list()[0]
            assert entry.labels == {"production": entry.latest_version}
            assert len(TemplateStore(again).history(entry.name)) == entry.latest_version


def test_restore_replaces_only_when_told(db: Database, url: str, tmp_path: Path) -> None:
    """A library that holds something is not replaced unless that is said; who watches it notices."""
    store = TemplateStore(db)
    store.publish(draft())
    made = back_up(db, tmp_path / "backup")
    store.publish(draft(text="later"))
    with pytest.raises(AlreadyExistsError, match="holds something"):
        restore(made.path, url)
    with Watcher(db) as watcher:
        restore(made.path, url, force=True)
        assert watcher.changed()
    assert [version.version for version in store.versions(draft().name)] == [1]


def test_a_backup_is_not_overwritten(db: Database, tmp_path: Path) -> None:
    """A file that is there stays, unless it is said."""
    back_up(db, tmp_path / "backup")
    with pytest.raises(AlreadyExistsError, match="exists already"):
        back_up(db, tmp_path / "backup")
    TemplateStore(db).publish(draft())
    back_up(db, tmp_path / "backup", force=True)
    assert sorted(path.name for path in tmp_path.iterdir() if "tmp" in path.name) == []


def damaged(data: bytes, how: str) -> bytes:
    """A backup after something has happened to it."""
    if how == "cut":
        return data[: len(data) // 2]
    if how == "one byte":
        place = data.index(b"Rewrites.")
        return data[:place] + b"r" + data[place + 1 :]
    return b"A letter, and no backup.\n"


@pytest.mark.parametrize("how", ["cut", "one byte", "letter"])
def test_a_damaged_backup_is_refused(db: Database, url: str, tmp_path: Path, how: str) -> None:
    """A backup that was cut, changed or never was one is refused before anything is touched."""
    made = back_up(fill(db), tmp_path / "backup")
    Path(made.path).write_bytes(damaged(Path(made.path).read_bytes(), how))
    before = rows_of(db)
    with pytest.raises(FormatError) as caught:
        restore(made.path, url, force=True)
    assert caught.value.where is not None
    assert rows_of(db) == before


def test_a_backup_that_is_not_there(tmp_path: Path) -> None:
    """A name without a file is an error of its own."""
    with pytest.raises(FormatError, match="no such file"):
        verify(tmp_path / "nothing")


def dump_of(tmp_path: Path, lines: list[Any]) -> Path:
    """A dump with a right checksum, whatever is in it."""
    import hashlib

    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:-1])
    last = {**lines[-1], "sha256": hashlib.sha256(body).hexdigest()}
    path = tmp_path / "dump"
    path.write_bytes(body + json.dumps(last).encode() + b"\n")
    return path


HEAD = {"format": "innkeeper-backup", "schema": "0012"}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([{"format": "other"}, {"rows": 0}], "not a backup"),
        ([{**HEAD, "schema": "9999"}, {"rows": 0}], "not known here"),
        ([HEAD, {"table": "nowhere", "columns": [], "rows": []}, {"rows": 0}], "rows of no table"),
        ([HEAD, {"table": "settings", "columns": ["colour"], "rows": []}, {"rows": 0}], "rows of no table"),
        ([HEAD, [], {"rows": 0}], "rows of no table"),
        ([HEAD, {"rows": 5}], "holds 0 rows, not 5"),
        ([HEAD, {}], "holds 0 rows, not None"),
        ([HEAD, {"table": "settings", "columns": 7, "rows": []}, {"rows": 0}], "rows of no table"),
        ([HEAD, {"table": "settings", "columns": ["key"], "rows": 7}, {"rows": 0}], "rows of no table"),
        ([HEAD, {"table": "settings", "columns": ["key"], "rows": [7]}, {"rows": 1}], "rows of no table"),
        ([HEAD, {"table": "settings", "columns": [["key"]], "rows": []}, {"rows": 0}], "rows of no table"),
    ],
)
def test_a_dump_of_something_else(tmp_path: Path, lines: list[Any], says: str) -> None:
    """A dump with a right checksum and wrong content is refused, too."""
    with pytest.raises(FormatError, match=says):
        verify(dump_of(tmp_path, lines))


@given(st.binary(max_size=300))
def test_any_bytes_are_no_backup(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """No file takes the reader of backups down."""
    path = tmp_path_factory.mktemp("any") / "backup"
    path.write_bytes(data)
    with pytest.raises(FormatError):
        verify(path)


def test_a_dump_with_a_row_that_does_not_fit(fresh: Fresh, tmp_path: Path) -> None:
    """A row of the wrong length is refused, and the library is as it was."""
    path = dump_of(tmp_path, [HEAD, {"table": "settings", "columns": ["key", "value"], "rows": [["a"]]}, {"rows": 1}])
    url = fresh()
    with Database.open(url) as db:
        TemplateStore(db).publish(draft())
    with pytest.raises(FormatError, match="settings does not take"):
        restore(path, url, force=True)
    with Database.open(url) as db:
        assert TemplateStore(db).labels(draft().name) == {"production": 1}


def test_an_older_backup_is_upgraded(tmp_path: Path) -> None:
    """A backup of an earlier schema comes back as a library of today's."""
    with Database.open(tmp_path / "old.db", check=False) as old:
        make_former(old, "0001")
        with old.transaction() as connection:
            connection.exec_driver_sql("INSERT INTO settings (key, value) VALUES ('a', '1')")
        made = back_up(old, tmp_path / "backup")
    restore(made.path, tmp_path / "new.db")
    with Database.open(tmp_path / "new.db", upgrade=False) as db:
        assert rows_of(db)["settings"][0]["value"] == 1


def test_restore_over_a_damaged_file(tmp_path: Path, empty_file: bytes) -> None:
    """A damaged library is put aside, not thrown away, and the backup takes its place."""
    good, bad = tmp_path / "good.db", tmp_path / "bad.db"
    with Database.open(good) as db:
        TemplateStore(db).publish(draft())
        made = back_up(db, tmp_path / "backup")
    bad.write_bytes(b"A letter.\n" * 1_000)
    restore(made.path, bad, force=True)
    with Database.open(bad) as db:
        assert TemplateStore(db).labels(draft().name) == {"production": 1}
    assert (tmp_path / "bad.db.damaged").read_bytes().startswith(b"A letter.")


def test_a_copy_of_another_schema(tmp_path: Path, empty_file: bytes) -> None:
    """A SQLite file of a schema that is not known, or that is no library, is no backup."""
    path = tmp_path / "x.db"
    path.write_bytes(empty_file)
    with Database.open(path) as db, db.transaction() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(FormatError, match="'9999'"):
        verify(path)
    shutil.copy(path, tmp_path / "y.db")
    with Database.open(tmp_path / "y.db", check=False) as db, db.transaction() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
    with pytest.raises(FormatError, match="damaged"):
        verify(tmp_path / "y.db")


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
    assert lines_of(db)[0] == {"format": FORMAT, "schema": NEWEST}


def block(**changes: Any) -> dict[str, Any]:
    """A line with a row of the settings."""
    line = {"table": "settings", "columns": ["key", "value"], "rows": [["a", 1]]}
    return {**line, **changes}


HEADER = {"format": FORMAT, "schema": NEWEST}
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
