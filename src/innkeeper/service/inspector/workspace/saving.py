"""Saving: a file of a workspace is written whole or not at all, and what was there is kept beside it."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Final

from innkeeper.content.errors import MissingFileError, OutputExistsError
from innkeeper.content.files.saving import save_bytes
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.taverns.profiles.files import checked_parts

_MOST: Final = 1_000


class ChangedFileError(UsageError):
    """A file was changed by another program since it was opened; it is not overwritten."""

    http_status = 409
    HINT = "export what you have, and open the file again"


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
