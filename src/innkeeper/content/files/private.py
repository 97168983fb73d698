"""Private files: for their owner alone, written atomically, one writer at a time. Leftovers of killed writers are removed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from innkeeper.prompt.machine import random_bytes, utc_now

_MODE: Final = 0o600
_DRAFT: Final = re.compile(r"(\d+)\.[0-9a-f]{8}\.tmp(-wal|-shm|-journal|\.dump)?")
_ABANDONED: Final = 3_600.0
"""Seconds after which an untouched draft counts as abandoned even if its process runs: process numbers are reused."""


def make_private(path: Path) -> None:
    """Create an empty file that only its owner may use, if there is none, and its folder. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE))


def write_private(path: Path, data: bytes) -> None:
    """Replace a file; the bytes are on the disk before it takes its name. A device takes the bytes and stays what it is.

    Raises `OSError`, and the old file is whole then.
    """
    if is_device(path):
        path.write_bytes(data)
        return
    with draft_beside(path) as draft:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


def is_device(path: Path) -> bool:
    """Return whether the path is a device or a pipe, such as ``/dev/null``: root could give its name to a file."""
    return path.exists() and not (path.is_file() or path.is_dir())


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """The files of the folder, which is made, are this caller's alone: others that ask so wait, in all threads and processes.

    For what is read, changed and written again. The lock goes with its process; where a folder cannot be locked (Windows) there
    is none. It is not to be asked for twice by one caller, who would wait for himself. Raises `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def draft_beside(target: Path) -> Iterator[Path]:
    """Create an empty private file beside the target, for unfinished content; it is removed on failure. Raises `OSError`."""
    _sweep(target)
    draft = target.with_name(f".{target.name}.{os.getpid()}.{random_bytes(4).hex()}.tmp")
    make_private(draft)
    try:
        yield draft
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                Path(f"{draft}{suffix}").unlink(missing_ok=True)


def _sweep(target: Path) -> None:
    """Remove the drafts of processes that are no more: they may hold keys."""
    start = f".{target.name}."
    with suppress(OSError):
        for path in target.parent.iterdir():
            draft = _DRAFT.fullmatch(path.name, len(start)) if path.name.startswith(start) else None
            if draft is None or (_runs(int(draft[1])) and utc_now().timestamp() - path.stat().st_mtime < _ABANDONED):
                continue
            path.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    if os.name != "posix":
        return True  # there, asking would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
