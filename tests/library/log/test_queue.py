"""The queue of the log: it never delays, it is bounded, and nothing is lost without being counted."""

import logging
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.errors import FieldError
from innkeeper.library.library import Library
from innkeeper.library.log.logs import LogStore
from innkeeper.library.log.metrics import Metrics
from innkeeper.library.log.queue import LogFigures, LogQueue, QueuedRow
from tests.library.opening import ask, logged, opened, published


def row(name: str, chars: int = 0) -> QueuedRow:
    """A row of the log."""
    return QueuedRow(lambda db: LogStore(db).add({"request_id": name}), chars=chars)


def names(db: Database) -> list[str]:
    """What the log holds, oldest first."""
    return [str(one.request_id) for one in reversed(LogStore(db).newest(100_000))]


@pytest.fixture
def queue(db: Database) -> Iterator[LogQueue]:
    """A queue before a database."""
    with closing(LogQueue(lambda: db, Metrics(), rows=50, chars=100)) as made:
        yield made


def test_rows_are_written_in_their_order(db: Database, queue: LogQueue) -> None:
    """What was put is written, once and in its order."""
    for number in range(40):
        assert queue.put(row(str(number))) == ""
    assert queue.flush()
    assert names(db) == [str(number) for number in range(40)]
    assert queue.figures() == LogFigures(0, 40, 0)


def test_a_row_that_cannot_be_written_takes_no_other_along(db: Database, queue: LogQueue) -> None:
    """A row that the database cannot hold, or that fails otherwise, is dropped alone, and counted."""

    def fail(_db: Database) -> None:
        raise FieldError("no")

    for one in (row("a"), QueuedRow(fail), QueuedRow(lambda _db: 1 // 0), row("b")):
        assert queue.put(one) == ""
    assert queue.flush()
    assert names(db) == ["a", "b"]
    assert queue.figures() == LogFigures(0, 2, 2)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Database, sqlite3.Connection]]:
    """A database that somebody else holds."""
    path = tmp_path / "held.db"
    Database.open(path).close()
    with (
        Database.open(path, timeout=0.05) as db,
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        yield db, other


def test_the_queue_is_bounded(held: tuple[Database, sqlite3.Connection]) -> None:
    """While nothing can be written no more than so many rows and characters wait; what is beyond is told and counted."""
    db, other = held
    metrics = Metrics()
    with closing(LogQueue(lambda: db, metrics, rows=20, chars=100)) as queue:
        said = [queue.put(row(str(number))) for number in range(20)]
        assert "log_dropped" not in said
        assert not queue.flush()
        assert queue.put(row("one too many")) == "log_dropped"
        assert queue.figures() == LogFigures(20, 0, 1, "database_locked")
        assert metrics.value("library_log_dropped_total") == 1
        other.execute("ROLLBACK")
        assert queue.flush()
        assert queue.put(row("long", 101)) == "log_dropped"
        assert queue.put(row("last")) == ""
        assert queue.flush()
    assert names(db) == [*(str(number) for number in range(20)), "last"]


def test_closing_waits_a_while_and_tells_what_it_drops(
    held: tuple[Database, sqlite3.Connection], caplog: pytest.LogCaptureFixture
) -> None:
    """Closing tries once more; what it cannot write is dropped, counted and told; afterwards nothing is taken."""
    queue = LogQueue(lambda: held[0], Metrics())
    queue.put(row("a"))
    queue.put(row("b"))
    with caplog.at_level(logging.WARNING, logger="innkeeper.library"):
        queue.close()
    assert "2 rows of the log were dropped: database_locked" in caplog.text
    assert queue.figures() == LogFigures(0, 0, 2, "database_locked")
    assert queue.put(row("c")) == "log_dropped"


def test_closing_writes_what_waits(db: Database) -> None:
    """What was accepted before closing is written."""
    queue = LogQueue(lambda: db, Metrics())
    for number in range(1_000):
        queue.put(row(str(number)))
    queue.close(60)
    assert len(names(db)) == 1_000


def test_threads_lose_nothing(db: Database) -> None:
    """Rows of many threads are all written."""
    with closing(LogQueue(lambda: db, Metrics())) as queue:
        threads = [
            threading.Thread(target=lambda at=at: [queue.put(row(f"{at}-{n}")) for n in range(100)]) for at in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert queue.flush(60)
    assert len(set(names(db))) == 400


def test_a_process_that_ends_writes_what_it_accepted(tmp_path: Path) -> None:
    """Who forgets to close a library loses no row by it."""
    code = (
        "import sys; from innkeeper.library.library import Library; from tests.library.opening import ask\n"
        "library = Library.open(sys.argv[1], watch=False)\n"
        "for number in range(20): library.prepare(ask(text='a boat', request_id=str(number)))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.db")], check=True)
    with Database.open(tmp_path / "a.db") as db:
        assert len(names(db)) == 20


def test_answers_do_not_wait_for_a_held_database(tmp_path: Path) -> None:
    """While somebody holds the database for writing, answers come as ever: prepared, recorded and blocked."""
    path = tmp_path / "a.db"
    with opened(str(path)) as library:
        published(library)
        library.prepare(ask(values={"subject": "x"}))
        assert library.flush()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answers = _answers(library)
            other.execute("ROLLBACK")
        assert answers < 10  # not once the time that a held database is waited for
        assert len(logged(library)) == 3


def _answers(library: Library) -> float:
    started = time.monotonic()
    prepared = library.prepare(ask(values={"subject": "x"}), log=False)
    library.record(prepared)
    assert not library.tier_check({"user_text": "a nude child"}).passed
    library.prepare(ask(values={"subject": "y"}))
    return time.monotonic() - started
