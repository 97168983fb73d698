"""Which database a URL names, and an engine for a file of SQLite."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from innkeeper.library.db.connection import URL_VARIABLE, find_target, make_engine
from innkeeper.library.errors import DatabaseMissingError
from innkeeper.prompt.errors import ConfigError


@dataclass(frozen=True)
class Case:
    """What names a database, and what it is opened by and called."""

    name: str
    given: str | None
    url: str
    place: str
    environ: dict[str, str] = field(default_factory=dict)


PG = "postgresql+pg8000"
CASES = [
    Case("path", "a/b.db", "sqlite:///a/b.db", "a/b.db"),
    Case("sqlite", "sqlite:///a/b.db", "sqlite:///a/b.db", "a/b.db"),
    Case("variable", None, "sqlite:///v.db", "v.db", {URL_VARIABLE: "v.db"}),
    Case("given before variable", "g.db", "sqlite:///g.db", "g.db", {URL_VARIABLE: "v.db"}),
    Case("home", None, "sqlite:////h/innkeeper.db", "/h/innkeeper.db", {"INNKEEPER_HOME": "/h"}),
    Case(
        "empty variable",
        None,
        "sqlite:////h/innkeeper.db",
        "/h/innkeeper.db",
        {URL_VARIABLE: "", "INNKEEPER_HOME": "/h"},
    ),
    Case("postgresql", "postgresql://u:p@h/n", f"{PG}://u:p@h/n", f"{PG}://u:***@h/n"),
    Case("postgres", "postgres://h/n", f"{PG}://h/n", f"{PG}://h/n"),
    Case("driver", "postgresql+psycopg://h/n", "postgresql+psycopg://h/n", "postgresql+psycopg://h/n"),
    Case(
        "socket",
        "postgresql://u@/n?host=/run/pg",
        f"{PG}://u@/n?unix_sock=%2Frun%2Fpg%2F.s.PGSQL.5432",
        f"{PG}://u@/n?host=%2Frun%2Fpg",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_database_that_is_named(case: Case) -> None:
    """A path or URL counts first, then the variable, then a file in the home; errors never show the password."""
    target = find_target(case.given, case.environ)
    assert (target.url, target.place) == (case.url, case.place)
    assert target.is_sqlite is case.url.startswith("sqlite")


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
