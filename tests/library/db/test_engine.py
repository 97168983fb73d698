"""The database: transactions, threads, and errors that say what is wrong, where, and how to mend it."""

import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import event

from innkeeper.library.db import connection as connecting
from innkeeper.library.db.connection import find_target
from innkeeper.library.db.engine import Database
from innkeeper.library.errors import (
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseMissingError,
    DatabaseReadOnlyError,
    DatabaseUnreachableError,
)
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.stores import SettingsStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.prompt.errors import ConfigError
from tests.library.conftest import Fresh
from tests.library.drafts import draft
from tests.postgres import Server


@pytest.fixture
def path(tmp_path: Path, empty_file: bytes) -> Path:
    """A SQLite file with an empty library."""
    made = tmp_path / "library.db"
    made.write_bytes(empty_file)
    return made


def write_and_fail(db: Database, key: str) -> None:
    """Set a setting in a transaction that then fails."""
    with db.transaction():
        SettingsStore(db).set(key, 1)
        _ = 1 // 0


def test_all_or_nothing(db: Database) -> None:
    """What fails in a transaction leaves nothing of it."""
    with pytest.raises(ZeroDivisionError):
        write_and_fail(db, "a")
    assert SettingsStore(db).value("a") is None


def test_a_part_that_fails_leaves_no_half_in_the_whole(db: Database) -> None:
    """Inside a caller's transaction each call still happens whole or not at all, and the rest goes on."""
    with db.transaction():
        SettingsStore(db).set("a", 1)
        with pytest.raises(ZeroDivisionError):
            write_and_fail(db, "b")
        SettingsStore(db).set("c", 1)
    assert [SettingsStore(db).value(key) for key in "abc"] == [1, None, 1]


def test_a_transaction_sees_its_own_writes_and_others_do_not(db: Database) -> None:
    """Reading inside a transaction sees what it wrote; another thread sees it only once it is done."""
    seen: list[object] = []
    with db.transaction():
        SettingsStore(db).set("a", 1)
        assert SettingsStore(db).value("a") == 1
        other = threading.Thread(target=lambda: seen.append(SettingsStore(db).value("a")))
        other.start()
        other.join()
    assert seen == [None]


def test_snapshot_is_one_state(db: Database) -> None:
    """All that is read inside `snapshot` is of one moment, whatever others write meanwhile."""
    store = SettingsStore(db)
    store.set("a", 1)
    with db.snapshot(), db.snapshot():
        assert store.value("a") == 1
        other = threading.Thread(target=lambda: store.set("a", 2))
        other.start()
        other.join()
        assert store.value("a") == 1
    assert store.value("a") == 2


def test_read_only(db: Database, url: str) -> None:
    """A library that was opened to be read answers, and refuses every write."""
    TemplateStore(db).publish(draft())
    with Database.open(url, read_only=True) as looking:
        assert TemplateStore(looking).get(draft().name).version == 1
        with pytest.raises(DatabaseReadOnlyError, match="read only") as caught:
            TemplateStore(looking).add_version(draft())
        assert caught.value.where is not None
        with pytest.raises(DatabaseReadOnlyError), looking.reading() as connection:
            connection.exec_driver_sql("DELETE FROM settings")


def test_locked(path: Path) -> None:
    """A file that another program holds is waited for, then refused with what to do; nothing was changed."""
    with Database.open(path, timeout=0.1) as db:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DatabaseLockedError, match="locked by another writer") as caught:
                SettingsStore(db).set("a", 1)
            assert caught.value.where is not None
            assert caught.value.where.asset == str(path)
            assert "holds a transaction open" in (caught.value.hint or "")
            assert SettingsStore(db).value("a") is None  # reading goes on
        SettingsStore(db).set("a", 1)


def test_locked_by_another_thread(path: Path) -> None:
    """Threads wait for one another as long as is said, and no longer."""
    held, done = threading.Event(), threading.Event()

    def hold(db: Database) -> None:
        with db.transaction():
            held.set()
            done.wait(120)

    with Database.open(path, timeout=0.05) as db:
        thread = threading.Thread(target=hold, args=(db,))
        thread.start()
        held.wait(120)
        with pytest.raises(DatabaseLockedError, match="another thread"):
            SettingsStore(db).set("a", 1)
        done.set()
        thread.join()


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_locked_rows_at_the_server(url: str) -> None:
    """A server that makes us wait too long for another's transaction is locked, too."""

    def impatient(db: Database) -> None:
        with db.transaction() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")
            connection.exec_driver_sql("SELECT revision FROM revisions FOR UPDATE")

    with Database.open(url) as one, Database.open(url) as two, one.publishing(), pytest.raises(DatabaseLockedError):
        impatient(two)


def test_disk_full(path: Path) -> None:
    """Without room a write fails with its reason, what was there is whole, and reading goes on."""
    with Database.open(path) as db:
        store = TemplateStore(db)
        store.publish(draft())

        def small(connection: sqlite3.Connection, _record: object) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 4}")

        event.listen(db.engine, "connect", small)
        db.engine.dispose()
        with pytest.raises(DatabaseReadOnlyError, match="no room left") as caught:
            store.add_version(draft(text="long " * 20_000))
        assert "make room" in (caught.value.hint or "")
        assert [version.version for version in store.versions(draft().name)] == [1]
        assert LogStore(db).add({"template_name": "small"})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_device() -> None:
    """A database on a device that is full is an error of ours, not of the driver."""
    with pytest.raises(DatabaseError):
        Database.open("/dev/full")


@pytest.mark.parametrize("damage", ["text", "head", "middle", "short"])
def test_corrupt(path: Path, damage: str) -> None:
    """A damaged file, or one that is no database, is an error that says so and how to go on."""
    with Database.open(path) as db:
        for number in range(50):
            TemplateStore(db).publish(draft(f"t{number}", job_type=str(number)))
    data = bytearray(path.read_bytes())
    if damage == "text":
        data = bytearray(b"This is a letter, not a database.\n" * 200)
    elif damage == "head":
        data[16:100] = b"\xff" * 84
    elif damage == "middle":
        data[4096:-4096] = b"\xa5" * (len(data) - 8192)
    else:
        data = data[: len(data) // 3]
    path.write_bytes(data)
    with pytest.raises((DatabaseCorruptError, DatabaseError)) as caught, Database.open(path) as db:
        TemplateStore(db).list()
    assert type(caught.value) is DatabaseCorruptError
    assert caught.value.where is not None
    assert "db restore" in (caught.value.hint or "")


def test_missing(tmp_path: Path) -> None:
    """A file that is not there is not made where it should not be."""
    with pytest.raises(DatabaseMissingError, match="no such database"):
        Database.open(tmp_path / "a" / "b.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    """A folder in place of the file is an error of ours."""
    with pytest.raises(DatabaseUnreachableError, match="cannot be opened"):
        Database.open(tmp_path)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    """A path through a file is an error of ours."""
    (tmp_path / "a").write_text("x")
    with pytest.raises(DatabaseError, match="does not answer"):
        Database.open(tmp_path / "a" / "b.db")


def test_unreachable_server(tmp_path: Path) -> None:
    """A server that is not there, by socket or by port, is named without its password, with a hint."""
    for url in (
        f"postgresql+pg8000://me:hunter2@/db?unix_sock={tmp_path}/none",
        "postgresql://me:hunter2@127.0.0.1:1/db",
    ):
        with pytest.raises(DatabaseUnreachableError, match="does not answer") as caught:
            Database.open(url, timeout=2)
        assert "hunter2" not in caught.value.render()
        assert "INNKEEPER_DATABASE_URL" in (caught.value.hint or "")


def test_no_such_database_at_the_server(server: Server) -> None:
    """A server without the database cannot be used; the driver may lose its words, so the hint names all that can be."""
    with pytest.raises(DatabaseUnreachableError) as caught:
        Database.open(server.url("nothing_of_this_name"))
    assert "that database and login exist" in (caught.value.hint or "")


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_a_connection_that_was_lost(server: Server, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the server has cut its connections, one call fails at most, and a rested connection costs none."""
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"
    with Database.open(server.url(), check=False) as admin:

        def lose() -> None:
            with admin.transaction() as connection:
                connection.exec_driver_sql(cut.format(db.engine.url.database))

        assert db.revision() == 0
        monkeypatch.setattr(connecting, "_RESTED", 0.0)
        lose()
        assert db.revision() == 0
        monkeypatch.setattr(connecting, "_RESTED", 1e9)
        lose()
        with pytest.raises(DatabaseUnreachableError):
            db.revision()
        assert db.revision() == 0


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_an_outage_is_an_error_and_nothing_more(
    server: Server,
    db: Database,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that goes away, idle, in a transaction or while it is read, is an error of ours, without the pool's tracebacks."""
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{db.engine.url.database}'"
    with Database.open(server.url(), check=False) as admin:

        def lose() -> None:
            with admin.transaction() as connection:
                connection.exec_driver_sql(cut)

        db.revision()
        lose()
        with pytest.raises(DatabaseUnreachableError):
            db.revision()
        with pytest.raises(DatabaseUnreachableError), db.transaction() as connection:  # noqa: PT012 - one transaction
            lose()
            connection.exec_driver_sql("SELECT 1")
        with suppress(DatabaseUnreachableError), db.reading() as connection:
            connection.exec_driver_sql("SELECT 1")
            lose()
        monkeypatch.setattr(connecting, "_RESTED", 0.0)
        assert db.revision() == 0
    assert caplog.text == ""
    assert "Traceback" not in "".join(capfd.readouterr())


def test_first_start_makes_the_file(tmp_path: Path) -> None:
    """Several processes that start at once on an empty folder all find one library."""
    target = tmp_path / "new" / "library.db"
    code = (
        "import sys; from innkeeper.library.db.engine import Database; from innkeeper.library.log.logs import LogStore\n"
        "with Database.open(sys.argv[1]) as db: LogStore(db).add({'template_name': 'x'})"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(target)]) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    with Database.open(target, create=False) as db:
        assert len(LogStore(db).newest()) == 3


def test_first_start_needs_no_migrations(tmp_path: Path) -> None:
    """A fresh library is made without Alembic, whose import would be felt."""
    code = (
        "import sys; from innkeeper.library.db.engine import Database; Database.open(sys.argv[1]); print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "sqlalchemy" in loaded
    assert "alembic" not in loaded


def test_first_start_at_a_server(fresh: Fresh) -> None:
    """Several threads that make the same empty database do not get in one another's way."""
    url, failed = fresh(bare=True), []

    def start() -> None:
        try:
            with Database.open(url) as db:
                db.revision()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_waits_for_a_journal(path: Path) -> None:
    """A file that cannot be switched to a write-ahead log yet is waited for, and refused in the end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        started = time.monotonic()
        with pytest.raises(DatabaseLockedError):
            Database.open(path, timeout=0.1)
        assert time.monotonic() - started >= 0.1


def test_waits_for_who_reads_the_old_journal(path: Path) -> None:
    """Somebody who reads a file that is not yet written ahead is waited for, and then the file is opened."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN")
        other.execute("SELECT * FROM settings").fetchall()
        threading.Timer(0.1, lambda: other.execute("COMMIT")).start()
        with Database.open(path, timeout=30) as db, db.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere root cannot give up its rights this way")
def test_a_file_that_may_not_be_written(empty_file: bytes) -> None:
    """Somebody without the right to write is told so, and not that something is broken."""
    code = (
        "import ctypes, struct, sys\n"  # root gives up its right to write everywhere
        "ctypes.CDLL(None).capset(struct.pack('Ii', 0x20080522, 0), struct.pack('6I', *[0] * 6))\n"
        "from innkeeper.library.db.engine import Database\n"
        "from innkeeper.library.errors import DatabaseReadOnlyError\n"
        "try:\n"
        "    with Database.open(sys.argv[1], timeout=0.2) as db:\n"
        "        with db.transaction() as c: c.exec_driver_sql('DELETE FROM settings')\n"
        "except DatabaseReadOnlyError as error: print(error.kind)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.db"
        path.write_bytes(empty_file)
        with closing(sqlite3.connect(path)) as plain:
            plain.execute("PRAGMA journal_mode = DELETE")
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        Path(folder).chmod(0o755)
    assert done.stdout.strip() == "database_read_only", done.stderr


def test_targets(tmp_path: Path) -> None:
    """Where the library is: a path, a URL, the environment, else a file in Innkeeper's folder."""
    assert find_target(tmp_path / "a.db").path == tmp_path / "a.db"
    assert find_target(f"sqlite:///{tmp_path}/a.db").location == f"{tmp_path}/a.db"
    assert find_target(None, {"INNKEEPER_DATABASE_URL": "/x/y.db"}).location == "/x/y.db"
    assert find_target(None, {"INNKEEPER_HOME": "/x"}).location == "/x/innkeeper.db"
    plain = find_target("postgresql://u:secret@host/db")
    assert plain.url == "postgresql+pg8000://u:secret@host/db"
    assert "secret" not in plain.location
    assert plain.path is None
    assert find_target("postgres://u@/db?host=/run/pg&port=5433").url.endswith("?unix_sock=%2Frun%2Fpg%2F.s.PGSQL.5433")
    assert find_target("postgresql+psycopg://u@host/db").url == "postgresql+psycopg://u@host/db"


@pytest.mark.parametrize(
    "url", ["mysql://u@h/db", "sqlite://", "sqlite:///:memory:", "nonsense://x", "postgresql://h:port/db"]
)
def test_other_targets_are_refused(url: str) -> None:
    """Other databases, and libraries that would be lost at once, are refused with an example."""
    with pytest.raises(ConfigError) as caught:
        find_target(url)
    assert "sqlite:///" in (caught.value.hint or "")
