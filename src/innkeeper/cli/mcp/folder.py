"""The folder that an assistant works in: read-only access to its files by name, and to nothing outside."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from innkeeper.cli.prompt.assets import AssetFiles
from innkeeper.prompt import InnkeeperError, LimitError, UnavailableError, UsageError, Where
from innkeeper.taverns.profiles.files import FolderFiles

MAX_CALL_FILES: Final = 64
"""Files that one call of an assistant may name (`LimitError`)."""

MAX_CALL_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the files of one call of an assistant (`LimitError`)."""

MAX_LISTED_FILES: Final = 2_000
"""Files of the folder that are listed (no error: the list says that there are more)."""


class Folder:
    """A folder. Raises `UnavailableError` if it does not exist."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise UnavailableError("there is no such folder", where=Where(asset=str(path)))
        self.path = path.resolve()

    def read(self, name: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FileNameError: the name leads out of the folder: absolute, upwards, hidden, or through a link.
            UnavailableError: there is no such file.
            LimitError: it is larger than `MAX_CALL_BYTES`.
        """
        try:
            return FolderFiles(self.path).read(name, limit="MAX_CALL_BYTES", allowed=MAX_CALL_BYTES)
        except UnavailableError as error:
            hint = "name it from the folder of this server; the resource innkeeper://files lists what is there"
            raise UnavailableError(error.message, where=Where(asset=name), hint=hint) from None
        except InnkeeperError as error:
            raise error.at(asset=name) from None

    def listed(self) -> dict[str, Any]:
        """Return the readable files with their sizes in bytes, in order, without hidden files and links."""
        files: list[dict[str, Any]] = []
        for directory, folders, names in os.walk(self.path):
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            for name in sorted(names):
                path = Path(directory, name)
                if name.startswith(".") or path.is_symlink() or not path.is_file():
                    continue
                if len(files) == MAX_LISTED_FILES:
                    return {"files": files, "more": True}
                files.append({"file": path.relative_to(self.path).as_posix(), "bytes": path.stat().st_size})
        return {"files": files, "more": False}

    def assets(self, names: Iterable[str]) -> CallAssets:
        """Read files as the fields of one request. Raises as `read` and the readers of content."""
        assets = CallAssets(self, _Taken())
        for name in names:
            assets.add(name)
        return assets

    def each(self, names: Iterable[str]) -> Iterator[tuple[str, CallAssets]]:
        """Read each file by itself. Raises as `assets`."""
        taken = _Taken()
        for name in names:
            assets = CallAssets(self, taken)
            assets.add(name)
            yield name, assets


class _Taken:
    """The total size of the files of one call."""

    def __init__(self) -> None:
        self.files = self.bytes = 0

    def take(self, data: bytes) -> bytes:
        """``data``, counted. Raises `LimitError`."""
        self.files += 1
        self.bytes += len(data)
        for limit, allowed, actual in (
            ("MAX_CALL_FILES", MAX_CALL_FILES, self.files),
            ("MAX_CALL_BYTES", MAX_CALL_BYTES, self.bytes),
        ):
            if actual > allowed:
                raise LimitError("the files of a call", limit=limit, allowed=allowed, found=actual)
        return data


class CallAssets(AssetFiles):
    """The AssetFiles of one call from a `Folder`; ``located`` are their findings, each with its file."""

    def __init__(self, folder: Folder, taken: _Taken) -> None:
        super().__init__()
        self.located: list[dict[str, Any]] = []
        self._folder = folder
        self._taken = taken

    def add(self, name: str) -> None:
        """Add a file by its content. Raises as `AssetFiles.add`, always with the file's name."""
        known = len(self.findings)
        try:
            super().add(name)
        except InnkeeperError as error:
            raise error.at(asset=name) from error.__cause__
        self.located += [{"file": name, **finding.to_dict()} for finding in self.findings[known:]]

    def _source(self, name: str) -> bytes:
        if not name:
            raise UsageError("the name of a file is empty")
        return self._taken.take(self._folder.read(name))
