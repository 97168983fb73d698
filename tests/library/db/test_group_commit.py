"""Group commit: what threads write at the same time goes together, and nobody is answered before it is written."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from innkeeper.library.db.group_commit import MOST, GroupCommit

THREADS = 12


class Disk:
    """What is written to. The first write waits until all others have come."""

    def __init__(self, refused: int | None = None) -> None:
        self.batches: list[list[int]] = []
        self.refused = refused
        self.all_came = threading.Event()

    def write(self, items: Sequence[int]) -> list[str]:
        self.all_came.wait(120)
        if self.refused in items:
            raise ValueError(self.refused)
        self.batches.append(list(items))
        return [f"wrote {item}" for item in items]


def written(disk: Disk, count: int) -> list[str]:
    """What threads are answered that write at the same time."""
    together = GroupCommit(disk.write)
    with ThreadPoolExecutor(count) as pool:
        answers = [pool.submit(together, item) for item in range(count)]
        while len(together._waiting) < count - 1:
            pass
        disk.all_came.set()
        return [str(one.exception() or one.result()) for one in answers]


def test_together() -> None:
    """Those who come while somebody writes are written together by the next; each gets its own answer."""
    disk = Disk()
    assert written(disk, THREADS) == [f"wrote {item}" for item in range(THREADS)]
    assert [len(batch) for batch in disk.batches] == [1, THREADS - 1]
    assert sorted(item for batch in disk.batches for item in batch) == list(range(THREADS))


@pytest.mark.parametrize("refused", [0, 5])
def test_one_fails(refused: int) -> None:
    """What fails is an error of whoever wanted it, and of nobody else."""
    disk = Disk(refused)
    expected = [str(item) if item == refused else f"wrote {item}" for item in range(THREADS)]
    assert written(disk, THREADS) == expected


def test_alone() -> None:
    """One after the other, each is a write of its own; after an error the next goes on."""
    disk = Disk(1)
    disk.all_came.set()
    together = GroupCommit(disk.write)
    assert together(0) == "wrote 0"
    with pytest.raises(ValueError, match="1"):
        together(1)
    assert together(2) == "wrote 2"
    assert disk.batches == [[0], [2]]


def test_no_more_than_most() -> None:
    """A transaction has its limit: the rest is written by the next."""
    disk = Disk()
    assert len(written(disk, MOST + 10)) == MOST + 10
    assert [len(batch) for batch in disk.batches] == [1, MOST, 9]
