"""WriteQueue: the order in which processes write to one SQLite file, first come, first served.

SQLite lets waiting writers try again at random, so that one may wait for seconds while others write again and again. Here each
draws a number from a file beside the database, and waits for whoever has the number before. A number is a lock of the operating
system on one byte of that file: who dies lets go of it. It is a matter of order alone; SQLite's own lock keeps writers apart
where this one cannot be had: on other systems, for the files of others, after whoever gave up.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

if sys.platform == "linux":
    import fcntl


SUFFIX: Final = "-turns"
"""The file beside a database."""

_COUNTER: Final = struct.Struct("<Q")
_LOCK: Final = struct.Struct("hhqqi4x")
_FIRST: Final = 4_096
"""The byte of number 0: behind the counter."""

_NUMBERS: Final = 1 << 32
_WORD: Final = 8
"""Bytes of a pointer where the form of a lock, as it is written here, is the system's."""

_SOONEST: Final = 0.0003
_LATEST: Final = 0.002
"""Seconds between two looks whether the one before is done."""


class WriteQueue:
    """The turns of one database, for one opened `Database`, whose threads come here one at a time."""

    def __init__(self, path: Path) -> None:
        self._path = Path(f"{path}{SUFFIX}")
        self._file: int | None = None
        self._owner = 0

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Wait for one's turn, at most so long; then go on all the same."""
        until = time.monotonic() + seconds
        file, number = self._opened(), None
        if file is not None:
            with suppress(OSError):  # a file system without such locks
                number = _drawn(file, until)
        if file is None or number is None:
            yield
            return
        try:
            with suppress(OSError):
                before = _FIRST + (number - 1) % _NUMBERS
                if _locked(file, before, until):
                    _unlock(file, before)
            yield
        finally:
            with suppress(OSError):
                _unlock(file, _FIRST + number)

    def close(self) -> None:
        """Give the file back."""
        file, self._file = self._file, None
        if file is not None and self._owner == os.getpid():
            os.close(file)

    def _opened(self) -> int | None:
        if sys.platform != "linux" or struct.calcsize("P") != _WORD:
            return None
        if self._file is not None and self._owner != os.getpid():  # a process that was forked would share the locks
            self._file = None
        if self._file is None:
            with suppress(OSError):
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                self._owner = os.getpid()
        return self._file


def _drawn(file: int, until: float) -> int | None:
    """The next number, with the lock on its byte; None where it was not to be had in time."""
    if not _locked(file, 0, until):
        return None
    try:
        written = os.pread(file, _COUNTER.size, 0)
        number: int = _COUNTER.unpack(written)[0] % _NUMBERS if len(written) == _COUNTER.size else 1
        os.pwrite(file, _COUNTER.pack((number + 1) % _NUMBERS), 0)
        return number if _lock(file, _FIRST + number) else None
    finally:
        _unlock(file, 0)


def _locked(file: int, byte: int, until: float) -> bool:
    """Lock one byte, as soon as nobody else has it. Tells whether that was in time."""
    pause = _SOONEST
    while not _lock(file, byte):
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _LATEST)
    return True


def _lock(file: int, byte: int) -> bool:
    """Lock one byte for this open file. Tells whether it is locked, which another may prevent."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(file: int, byte: int) -> None:
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, _LOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, byte, 1, 0))
