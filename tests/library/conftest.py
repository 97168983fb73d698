"""The databases that the tests of the library run on: each test on a SQLite file and on a real PostgreSQL."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine

from innkeeper.library.db.engine import Database
from tests.library.outsides import Counted
from tests.postgres import Server, shared_server

_NUMBERS = itertools.count()
_MODEL = "innkeeper_empty"
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The PostgreSQL server of this run, with a database that holds an empty library."""
    base = tmp_path_factory.getbasetemp()
    with shared_server(base if _WORKER == "main" else base.parent, _prepare) as running:
        yield running


def _prepare(running: Server) -> None:
    with _admin_of(running) as admin:
        admin.exec_driver_sql(f"CREATE DATABASE {_MODEL}")
    Database.open(running.url(_MODEL)).close()


@contextmanager
def _admin_of(running: Server) -> Iterator[Connection]:
    engine = create_engine(running.url(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.fixture(scope="session")
def admin(server: Server) -> Iterator[Connection]:
    """A connection that makes and drops databases."""
    with _admin_of(server) as connection:
        yield connection


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A SQLite file that holds an empty library."""
    path = tmp_path_factory.mktemp("empty") / "empty.db"
    Database.open(path).close()
    return path.read_bytes()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test of many cases PostgreSQL takes the first, and every one in `make endurance`."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        call = getattr(item, "callspec", None)
        if call is not None and call.params.get("dialect") == "postgresql" and len(call.params) > 1:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found in cases.values():
        for item in sorted(found, key=lambda item: item.nodeid)[1:]:
            item.add_marker(pytest.mark.endurance)


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """On which database a test runs: on both, one after the other."""
    return str(request.param)


@dataclass
class _Databases:
    """Makes databases, and drops them when it is closed. ``request`` is that of the fixture it belongs to."""

    request: pytest.FixtureRequest
    folder: Path
    made: list[str] = field(default_factory=list)

    def make(self, dialect: str, *, bare: bool = False) -> str:
        """The URL of a new database."""
        name = f"test_{_WORKER}_{next(_NUMBERS)}"
        if dialect == "sqlite":
            path = self.folder / f"{name}.db"
            if not bare:
                path.write_bytes(self.request.getfixturevalue("empty_file"))
            return str(path)
        template = "template0" if bare else _MODEL
        self._run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        self.made.append(name)
        return str(self.request.getfixturevalue("server").url(name))

    def close(self) -> None:
        """Drop them."""
        for name in self.made:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def _run(self, statement: str) -> None:
        self.request.getfixturevalue("admin").exec_driver_sql(statement)


Fresh = Callable[..., str]


@pytest.fixture
def fresh(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fresh]:
    """Makes databases for a test and returns their URLs: with an empty library, or (``bare``) with nothing in them."""
    with closing(_Databases(request, tmp_path)) as databases:
        yield partial(databases.make, dialect)


@pytest.fixture(scope="module")
def _common(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Database]]:
    with closing(_Databases(request, tmp_path_factory.mktemp("common"))) as databases, ExitStack() as stack:
        yield cache(lambda dialect: stack.enter_context(Database.open(databases.make(dialect), outside=Counted())))


@pytest.fixture
def common_db(dialect: str, _common: Callable[[str], Database]) -> Database:
    """An open library that the tests of a module share, one a kind: for tests that find that nothing has changed."""
    return _common(dialect)


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
