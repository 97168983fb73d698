"""Disk: the files that a workspace opens, named or below a folder, and how one is saved.

Links are not followed. A file is written whole or not at all, and what was there is kept beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from innkeeper.content.errors import MissingFileError, OutputExistsError
from innkeeper.content.files.saving import save_bytes
from innkeeper.prompt.errors import InnkeeperError, LimitError, UnavailableError, UsageError, Where
from innkeeper.service.inspector.session.messages import OpeningFile
from innkeeper.service.inspector.workspace.workspace import MAX_FILE_BYTES, check_files
from innkeeper.taverns.profiles.files import FolderFiles, checked_parts
from innkeeper.taverns.silly.install.files import UserFolder

SUFFIXES: Final = frozenset({".json", ".jsonl", ".png", ".apng", ".charx", ".byaf", ".toml"})
"""Endings of the files of a folder that are opened; what they hold decides what they are."""

Read = tuple[str, bytes, Path | None]


def read_files(paths: Sequence[Path]) -> list[Read]:
    """Files by their paths, each with where it is saved. Raises `UnavailableError`, `LimitError`."""
    read: list[Read] = []
    size = 0
    for path in paths:
        try:
            check_files(len(read) + 1, size + path.stat().st_size)
            data = path.read_bytes()
        except OSError as error:
            raise UnavailableError(f"cannot open: {error.strerror}", where=Where(asset=str(path))) from error
        size += len(data)
        # Files with the same name have their folder's name in front.
        alone = sum(other.name == path.name for other in paths) == 1
        read.append((path.name if alone else f"{path.parent.name}/{path.name}", data, path.resolve()))
    return read


def read_folder(folder: Path, *, writable: bool = True) -> list[Read]:
    """The files below a folder, by their names in it; hidden ones and links are left out.

    Raises:
        LimitError: there are too many, or they are too large.
    """
    read: list[Read] = []
    files, size, root = FolderFiles(folder.resolve()), 0, folder.resolve()
    for name in _names(root):
        try:
            data = files.read(name, limit="MAX_FILE_BYTES", allowed=MAX_FILE_BYTES)
        except LimitError:
            raise
        except InnkeeperError:  # it is gone by now, or may not be read
            continue
        size += len(data)
        read.append((name, data, root / name if writable else None))
        check_files(len(read), size)
    return read


def read_installed(folder: UserFolder, files: Iterable[OpeningFile]) -> list[Read]:
    """The files of a SillyTavern folder, each saved where it lies; those that are gone by now are left out.

    Raises:
        LimitError: there are too many, or they are too large.
    """
    read: list[Read] = []
    for file in files:
        parts = file.name.split("/")
        path = None if file.data is not None else folder.path(*parts)
        data = folder.data(*parts) if file.data is None else file.data
        if data is not None:
            read.append((file.name, data, path))
            check_files(len(read), sum(len(each) for _, each, _ in read))
    return read


def _names(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if (
                not name.startswith(".")
                and path.suffix.lower() in SUFFIXES
                and not path.is_symlink()
                and path.is_file()
            ):
                yield path.relative_to(root).as_posix()


# ----------------------------------------------------------------------------------------------------------------- saving

_MOST: Final = 1_000


class ChangedFileError(UsageError):
    """A file was changed by another program since it was opened; it is not overwritten."""

    http_status = 409
    HINT = "take theirs, keep yours, or merge both"


def stamp_of(path: Path) -> tuple[int, int] | None:
    """When a file was written, in nanoseconds, and its size; None where there is none."""
    try:
        facts = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def save_over(path: Path, opened: bytes, data: bytes) -> str | None:
    """Write ``data`` where ``opened`` was read; the name of the file that has what was there, where that is another.

    Raises:
        ChangedFileError: there is something else by now, or a link.
        MissingFileError: it cannot be written.
    """
    if path.is_symlink():
        raise ChangedFileError("the file is a link by now", where=Where(asset=path.name))
    try:
        there = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise MissingFileError(f"cannot read {path.name!r}: {error.strerror}", where=Where(asset=path.name)) from error
    if there is not None and there != opened:
        raise ChangedFileError("another program has changed the file", where=Where(asset=path.name))
    if there == data:
        return None
    backup = None if there is None else _backup(path, there)
    save_bytes(path, data, force=True)
    return backup


def _backup(path: Path, data: bytes) -> str:
    """Write what is there beside it; a name that nobody has."""
    for number in count(1):
        name = f"{path.name}.bak" if number == 1 else f"{path.name}.{number}.bak"
        try:
            save_bytes(path.with_name(name), data)
        except OutputExistsError:
            if number >= _MOST:
                raise
            continue
        return name
    raise AssertionError


def save_new(folder: Path, name: str, data: bytes) -> Path:
    """Write a file that was not there into a folder. Raises `FileNameError`, `OutputExistsError`, `MissingFileError`."""
    path = folder.joinpath(*checked_parts(name))
    if path.parent.resolve() != folder.resolve():
        raise UsageError("a new file goes into the folder itself", hint="give it a name without slashes")
    save_bytes(path, data)
    return path
