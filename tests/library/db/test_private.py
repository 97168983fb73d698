"""A private database: a table in memory, bounded, under the ceiling of all stores of the process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from innkeeper.library.db.private import PrivateDatabase
from innkeeper.library.db.tables.logs import spendings, stored_responses
from innkeeper.library.log.spendings import Spendings
from innkeeper.library.log.stored_responses import StoredResponses
from innkeeper.prompt.bounded_cache import stored_bytes, trim_stores

LARGE = "x" * 20_000


def responses(size: int = 1_000_000, rows: int | None = None) -> tuple[PrivateDatabase, StoredResponses]:
    """A store of responses in memory."""
    db = PrivateDatabase(stored_responses, size=size, rows=rows, age=stored_responses.c.created_at)
    return db, StoredResponses(db)


def test_it_is_private() -> None:
    """Each has a table of its own; it says that nobody has to wait for it."""
    (one, store), (other, empty) = responses(), responses()
    store.put("a", "r", "{}")
    assert (store.get("a", "r"), empty.get("a", "r")) == ("{}", None)
    assert one.in_memory
    assert other.in_memory


def test_the_oldest_rows_go_beyond_its_bounds() -> None:
    """Beyond its bytes or its rows the oldest go, and what they took up is free; the newest stays."""
    db, store = responses(size=200_000)
    for number in range(100):
        store.put("a", str(number), LARGE)
        assert 0 < db.held <= 200_000
    assert store.get("a", "99") == LARGE
    assert store.get("a", "80") is None
    db, store = responses(rows=3)
    for number in range(10):
        store.put("a", str(number), "{}")
    assert [store.get("a", str(number)) is None for number in (6, 7, 9)] == [True, False, False]


def test_what_is_larger_than_its_bounds_is_not_kept() -> None:
    """A row that fills it alone goes at once, and nothing fails."""
    db, store = responses(size=60_000)
    store.put("a", "r", LARGE * 10)
    assert store.get("a", "r") is None
    assert db.held <= 60_000


def test_it_stands_under_the_ceiling() -> None:
    """What it holds counts among the stores of the process, and goes when they hold too much together, what is old first."""
    before = stored_bytes()
    db, store = responses()
    for number in range(20):
        store.put("a", str(number), LARGE)
    assert stored_bytes() >= before + 400_000
    db.turn()
    store.put("a", "new", LARGE)
    db.turn()
    assert (store.get("a", "19"), store.get("a", "new")) == (None, LARGE)
    trim_stores(0)
    assert (db.held, store.get("a", "new")) == (0, None)


def test_spendings_are_never_forgotten() -> None:
    """A table without an age loses nothing, whatever else is forgotten."""
    db = PrivateDatabase(spendings)
    Spendings(db).add("", "ann", 2.0, 0.0)
    db.turn()
    assert Spendings(db).spent("", "ann", 0.0) == 2.0


def test_threads_take_turns() -> None:
    """Many threads at once lose nothing."""
    db, store = responses()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.put("a", str(number), "{}"), range(200)))
    with db.reading() as connection:
        assert connection.execute(select(func.count()).select_from(stored_responses)).scalar_one() == 200


def test_what_fails_leaves_nothing() -> None:
    """A transaction is undone as in any database."""
    db, store = responses()

    def put() -> None:
        with db.transaction():
            store.put("a", "r", "{}")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        put()
    assert store.get("a", "r") is None
