"""Files of a profile: read by their names within one folder, never beyond it; or out of memory, for profiles of a database.

A name is relative. One that is absolute, goes up, is hidden, or leads through a link is refused, before and while it is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from innkeeper.content.errors import LIMITS
from innkeeper.prompt.errors import LimitError, UnavailableError, UsageError, Where
from innkeeper.prompt.text import shorten

MAX_FILES: Final = 256
"""Files that one profile may name (`LimitError`)."""

MAX_VOLUME: Final = 256 * 1024 * 1024
"""Bytes of all files of one profile (`LimitError`)."""

_SHOWN: Final = 80

Stamp = tuple[int, ...]
"""What changes when a file does: its place on the disk, its size, its times."""


class FileNameError(UsageError):
    """A name of a file that leads out of the folder: absolute, upwards, hidden, or through a link."""

    HINT = "put the file into the folder and name it from there"


class ProfileFiles(Protocol):
    """Where a profile's files are."""

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises `FileNameError`, `UnavailableError`, `LimitError`."""
        ...


def checked_parts(name: str) -> tuple[str, ...]:
    """The parts of a relative name. Raises `FileNameError`."""
    parts = PurePosixPath(name).parts
    wrong = not parts or "\\" in name or ":" in name or "\0" in name or PurePosixPath(name).is_absolute()
    if wrong or any(part == ".." or part.startswith(".") for part in parts):
        raise FileNameError(f"{shorten(name, _SHOWN)!r} is not a file within the folder")
    return parts


class FolderFiles:
    """The files below a folder. ``stamps`` are those of the files that were read, by their paths, as they were then."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stamps: dict[str, Stamp] = {}

    def read(self, name: str, *, limit: str = "archive_bytes", allowed: int | None = None) -> bytes:
        """The bytes of a file, at most as many as a card may have, or as another limit says."""
        parts, allowed = checked_parts(name), LIMITS.archive_bytes if allowed is None else allowed
        try:
            with ExitStack() as stack, os.fdopen(self._open(parts, stack), "rb") as file:
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    raise FileNameError(f"{shorten(name, _SHOWN)!r} is not a plain file")
                self.stamps[str(self.folder.joinpath(*parts))] = _stamp(facts)
                data = file.read(allowed + 1)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise FileNameError(f"{shorten(name, _SHOWN)!r} leads through a link") from None
            if error.errno == errno.EISDIR:
                raise FileNameError(f"{shorten(name, _SHOWN)!r} is a folder") from None
            raise self._missing(name, error) from error
        if len(data) > allowed:
            raise LimitError("a file of the folder", limit=limit, allowed=allowed, where=Where(asset=name))
        return data

    def is_same(self) -> bool:
        """Whether all that was read is as it was: the files themselves, also where one is a link now."""
        return all([_stamp_at(path) == stamp for path, stamp in self.stamps.items()])  # noqa: C419 - quicker

    def _open(self, parts: tuple[str, ...], stack: ExitStack) -> int:
        """A descriptor of the file. Each folder on the way is opened from the one before, so that no link is followed."""
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            return self._open_plainly(parts)
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, folder)
        for part in parts[:-1]:
            if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, "a link")
            folder = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            stack.callback(os.close, folder)
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)

    def _open_plainly(self, parts: tuple[str, ...]) -> int:
        """As `_open`, on systems that cannot open from a folder."""
        path = self.folder
        for part in parts:
            path /= part
            if path.is_symlink():
                raise OSError(errno.ELOOP, "a link")
        return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def _missing(self, name: str, error: OSError) -> UnavailableError:
        where = Where(asset=str(self.folder / name))
        return UnavailableError(
            f"cannot open: {error.strerror}", where=where, hint="put the file there, or name another"
        )


def _stamp_at(path: str) -> Stamp:
    """The stamp of a file, nothing where it cannot be looked at."""
    try:
        return _stamp(os.lstat(path))
    except OSError:
        return ()


def _stamp(facts: os.stat_result) -> Stamp:
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_mode)


class DocumentFiles:
    """Files in memory, by their names."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        checked_parts(name)
        if name not in self._files:
            raise UnavailableError(f"the profile has no file {shorten(name, _SHOWN)!r}")
        return self._files[name]
