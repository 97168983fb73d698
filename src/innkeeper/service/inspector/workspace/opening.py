"""Opening: the files of a workspace from the disk: those that are named, or those of a folder; links lead nowhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from innkeeper.prompt.errors import InnkeeperError, LimitError, UnavailableError, Where
from innkeeper.service.inspector.workspace.workspace import MAX_FILE_BYTES, MAX_FILES
from innkeeper.taverns.profiles.files import FolderFiles

SUFFIXES: Final = frozenset({".json", ".jsonl", ".png", ".apng", ".charx", ".byaf", ".toml"})
"""Endings of the files of a folder that are opened; what they hold decides what they are."""

Read = tuple[str, bytes, Path | None]


def read_files(names: Sequence[Path]) -> list[Read]:
    """Files by their paths, each with where it is saved. Raises `UnavailableError`, `LimitError`."""
    read: list[Read] = []
    size = 0
    for path in names:
        try:
            data = path.read_bytes() if path.stat().st_size <= MAX_FILE_BYTES else b"\0" * (MAX_FILE_BYTES + 1)
        except OSError as error:
            raise UnavailableError(f"cannot open: {error.strerror}", where=Where(asset=str(path))) from error
        size += len(data)
        _check("MAX_FILE_BYTES", MAX_FILE_BYTES, size)
        # Files with the same name have their folder's name in front.
        alone = sum(other.name == path.name for other in names) == 1
        read.append((path.name if alone else f"{path.parent.name}/{path.name}", data, path.resolve()))
    _check("MAX_FILES", MAX_FILES, len(read))
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
        _check("MAX_FILE_BYTES", MAX_FILE_BYTES, size)
        read.append((name, data, root / name if writable else None))
        _check("MAX_FILES", MAX_FILES, len(read))
    return read


def _names(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if (
                not name.startswith(".")
                and path.suffix.lower() in SUFFIXES
                and not path.is_symlink()
                and path.is_file()
            ):
                yield path.relative_to(root).as_posix()


def _check(limit: str, allowed: int, actual: int) -> None:
    if actual > allowed:
        hint = "open fewer files, or a smaller folder"
        raise LimitError("the files of a workspace", limit=limit, allowed=allowed, found=actual, hint=hint)
