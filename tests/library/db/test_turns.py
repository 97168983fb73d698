"""WriteQueue of writers: first come, first served, among processes, whoever dies, and never a reason to wait for good."""

import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.db.turns import SUFFIX, WriteQueue
from innkeeper.library.log.logs import LogStore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody keeps the order")

_WRITERS = 4
_ROUNDS = 30


def write(url: str, number: int, ready: Any, start: Any) -> None:
    """Write as fast as it goes."""
    with Database.open(url) as db:
        ready.release()
        start.wait(60)
        for _ in range(_ROUNDS):
            LogStore(db).add({"request_id": str(number)})


def test_writers_take_turns(tmp_path: Path) -> None:
    """Of processes that all write as fast as they can none is left behind: what each wrote lies among that of the others."""
    url, context = str(tmp_path / "a.db"), multiprocessing.get_context("spawn")
    Database.open(url).close()
    ready, start = context.Semaphore(0), context.Event()
    writers = [context.Process(target=write, args=(url, n, ready, start)) for n in range(_WRITERS)]
    for writer in writers:
        writer.start()
    assert all(ready.acquire(timeout=60) for _ in writers)
    start.set()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * _WRITERS
    with Database.open(url) as db:
        order = [row.request_id for row in reversed(LogStore(db).newest(1_000))]
    assert len(order) == _WRITERS * _ROUNDS
    # SQLite alone lets one write ten times and more in a row while others wait.
    middle = order[_WRITERS * 3 : -_WRITERS * 8]
    assert max(middle.count(str(number)) for number in range(_WRITERS)) <= 2 * len(middle) / _WRITERS


def test_numbers_are_drawn_in_order(tmp_path: Path) -> None:
    """Who comes second waits for the first; afterwards nobody waits."""
    path = tmp_path / "a.db"
    with closing(WriteQueue(path)) as one, closing(WriteQueue(path)) as other:
        with one.turn(1):
            started = time.monotonic()
            with other.turn(0.1):  # gives up, and goes on: it is a matter of order alone
                assert time.monotonic() - started >= 0.1
        for _ in range(3):
            for each in (one, other):
                with each.turn(60):
                    pass
    assert (tmp_path / f"a.db{SUFFIX}").stat().st_mode & 0o777 == 0o600


def test_who_dies_lets_go(tmp_path: Path) -> None:
    """A process that is killed in its turn holds up nobody."""
    path = tmp_path / "a.db"
    code = (
        "import sys, time; from pathlib import Path; from innkeeper.library.db.turns import WriteQueue\n"
        "with WriteQueue(Path(sys.argv[1])).turn(1): print('in', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "in\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with closing(WriteQueue(path)) as mine, mine.turn(60):
        pass


@pytest.mark.parametrize("what", ["no folder", "no locks", "a file that is no counter"])
def test_where_no_order_can_be_kept_work_goes_on(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file cannot be made, locked or read, writers go on without turns."""
    path = tmp_path / ("none/a.db" if what == "no folder" else "a.db")
    if what == "no locks":

        def refuse(*_: object) -> None:
            raise OSError(37, "No locks available")

        monkeypatch.setattr(fcntl, "fcntl", refuse)
    if what == "a file that is no counter":
        Path(f"{path}{SUFFIX}").write_bytes(b"\xff" * 100)
    done = 0
    with closing(WriteQueue(path)) as mine:
        for _ in range(2):
            with mine.turn(1):
                done += 1
    assert done == 2
