"""The databases that the tests of the library run on: each test on a SQLite file and on a real PostgreSQL."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from innkeeper.library.db.engine import Database
from tests.library.outsides import Counted
from tests.postgres import Server, running_server

_NUMBERS = itertools.count()
_MODEL = "innkeeper_empty"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL server of this run, with a database that holds an empty library."""
    with running_server() as running:
        _admin(running, f"CREATE DATABASE {_MODEL}")
        Database.open(running.url(_MODEL)).close()
        yield running


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A SQLite file that holds an empty library."""
    path = tmp_path_factory.mktemp("empty") / "empty.db"
    Database.open(path).close()
    return path.read_bytes()


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """On which database a test runs: on both, one after the other."""
    return str(request.param)


Fresh = Callable[..., str]


@pytest.fixture
def fresh(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fresh]:
    """Makes databases for a test and returns their URLs: with an empty library, or (``bare``) with nothing in them."""
    made: list[str] = []

    def make(*, bare: bool = False) -> str:
        name = f"test_{next(_NUMBERS)}"
        if dialect == "sqlite":
            path = tmp_path / f"{name}.db"
            if not bare:
                path.write_bytes(request.getfixturevalue("empty_file"))
            return str(path)
        running = request.getfixturevalue("server")
        _admin(running, f"CREATE DATABASE {name} TEMPLATE {'template0' if bare else _MODEL}")
        made.append(name)
        return str(running.url(name))

    yield make
    for name in made:
        _admin(request.getfixturevalue("server"), f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def url(fresh: Fresh) -> str:
    """The URL of an empty library."""
    return fresh()


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home of the test's own, for snapshots and keys."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


@pytest.fixture
def outside() -> Counted:
    """A clock and identifiers that are the same in each run."""
    return Counted()


@pytest.fixture
def db(url: str, outside: Counted) -> Iterator[Database]:
    """An open, empty library."""
    with Database.open(url, outside=outside) as opened:
        yield opened


def _admin(running: Server, statement: str) -> None:
    engine = create_engine(running.url(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
