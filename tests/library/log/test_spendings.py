"""What was spent, in the database: forgiven steadily, and nobody's sum is lost."""

import threading

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.log.spendings import Spendings

SLOW = 1e-12


def test_sums(db: Database) -> None:
    """They are apart by tenant and owner, and are forgiven at the rate that is asked by; the clock goes on by a second a look."""
    rows = Spendings(db)
    assert rows.spent("", "a", 1) == 0
    rows.add("", "a", 10, SLOW)
    rows.add("t", "", 3, SLOW)
    rows.add("", "a", 5, SLOW)
    assert rows.spent("", "a", SLOW) == pytest.approx(15)
    assert rows.spent("t", "", SLOW) == pytest.approx(3)
    assert rows.spent("t", "a", SLOW) == 0
    before = rows.spent("", "a", 0.5)
    assert before < 14
    assert rows.spent("", "a", 0.5) < before
    rows.add("", "a", 1, 100)
    assert rows.spent("", "a", SLOW) == pytest.approx(1)


def test_at_once(db: Database, url: str) -> None:
    """Two services that write at the same time."""
    Spendings(db).add("", "a", 1, SLOW)

    def write() -> None:
        with Database.open(url) as own:
            for _ in range(20):
                Spendings(own).add("", "a", 0.5, SLOW)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Spendings(db).spent("", "a", SLOW) == pytest.approx(21, abs=1e-3)
