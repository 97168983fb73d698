"""AssetStore: results by the hash of their bytes, in a folder, or wherever ``fsspec`` reaches.

What is written is whole before it has its name, so that a name always stands for all of its bytes; writing the same bytes again
changes nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from innkeeper.jobs.job import Stored
from innkeeper.jobs.limits import MAX_RESULT_BYTES
from innkeeper.lazy import require
from innkeeper.library.errors import NotFoundError
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError
from innkeeper.prompt.machine import home, random_bytes

ASSET: Final = "asset:"
"""What the name of a stored result begins with, where a picture is named."""

_MAGIC: Final = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png", ".png"),
    (0, b"\xff\xd8\xff", "image/jpeg", ".jpg"),
    (0, b"GIF8", "image/gif", ".gif"),
    (8, b"WEBP", "image/webp", ".webp"),
    (4, b"ftyp", "video/mp4", ".mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm", ".webm"),
)
_ENDS: Final = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9", "image/gif": b";"}
_PIECE: Final = 1024 * 1024


class AssetStore(Protocol):
    """Where results are kept."""

    def put(self, data: bytes, media_type: str = "") -> Stored:
        """Keep bytes; when this returns they are kept. Raises `FormatError` for what is no picture and no video."""
        ...

    def get(self, name: str) -> bytes:
        """The bytes of a name. Raises `NotFoundError`."""
        ...


def media_type_of(data: bytes) -> tuple[str, str]:
    """The media type of bytes by how they begin, and the suffix of such files. Raises `FormatError`."""
    for at, magic, kind, suffix in _MAGIC:
        if data[at : at + len(magic)] == magic:
            return kind, suffix
    raise FormatError("a result is no picture and no video that is known here")


def whole_or_refused(data: bytes, *, sha256: str = "", size: int | None = None) -> None:
    """Refuse bytes that were cut off on their way, or are not those that a provider names. Raises `FormatError`."""
    if size is not None and size != len(data):
        raise FormatError(f"a result has {len(data):,} bytes of {size:,}")
    if sha256 and hashlib.sha256(data).hexdigest() != sha256.lower():
        raise FormatError("a result is not the one that its hash names")
    kind, _ = media_type_of(data)
    if kind in _ENDS and _ENDS[kind] not in data[-64:]:
        raise FormatError("a result ends in the middle")


def _stored(data: bytes) -> Stored:
    if len(data) > MAX_RESULT_BYTES:
        raise LimitError("bytes of a result", limit="MAX_RESULT_BYTES", allowed=MAX_RESULT_BYTES, found=len(data))
    kind, suffix = media_type_of(data)
    digest = hashlib.sha256(data).hexdigest()
    return Stored(name=f"{digest[:2]}/{digest}{suffix}", sha256=digest, media_type=kind, size=len(data))


class FolderAssets:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes, media_type: str = "") -> Stored:
        """Keep bytes."""
        stored = _stored(data)
        path = self.folder / stored.name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{path.name}.{random_bytes(6).hex()}")
            try:
                _write(beside, data)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
            _sync_folder(path.parent)
        return stored

    def get(self, name: str) -> bytes:
        """The bytes of a name."""
        path = self.folder / name
        if ".." in Path(name).parts or not path.is_file():
            raise NotFoundError(f"there is no asset {name!r:.100}")
        return path.read_bytes()

    def remove_unfinished(self) -> int:
        """Remove what was being written when a process was killed; returns how many files."""
        left = list(self.folder.glob("*/.*")) if self.folder.is_dir() else []
        for path in left:
            with suppress(OSError):
                path.unlink()
        return len(left)


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # a system whose folders cannot be opened
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


class RemoteAssets:
    """A place that ``fsspec`` reaches: ``s3://bucket/folder`` and many others."""

    def __init__(self, url: str, **options: Any) -> None:
        require("fsspec")
        import fsspec

        with _reached():  # what somebody else has written or deleted counts, not a listing of before
            self._files, self._root = fsspec.core.url_to_fs(url, **{"use_listings_cache": False, **options})

    def put(self, data: bytes, media_type: str = "") -> Stored:
        """Keep bytes. Such stores show a file once all of it is there."""
        stored = _stored(data)
        path = f"{self._root}/{stored.name}"
        with _reached():
            if not self._files.exists(path):
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._files.pipe_file(path, data)
        return stored

    def get(self, name: str) -> bytes:
        """The bytes of a name."""
        if ".." in name.split("/"):
            raise NotFoundError(f"there is no asset {name!r:.100}")
        try:
            with _reached():
                data: bytes = self._files.cat_file(f"{self._root}/{name}")
        except FileNotFoundError:
            raise NotFoundError(f"there is no asset {name!r:.100}") from None
        return data


@contextmanager
def _reached() -> Iterator[None]:
    """Errors of whichever library reaches the store, as those of a disk. Nothing that they quote is passed on."""
    try:
        yield
    except (InnkeeperError, OSError):
        raise
    except Exception as error:
        raise OSError(errno.EIO, f"the store of results fails ({type(error).__name__})") from error


def open_assets(location: str | os.PathLike[str] | None = None) -> FolderAssets | RemoteAssets:
    """The store at a folder or an address; ``assets`` in Innkeeper's folder where left out. Raises `UnavailableError`."""
    text = os.fspath(location) if location is not None else os.environ.get("INNKEEPER_ASSETS", "")
    if "://" in text:
        return RemoteAssets(text)
    return FolderAssets(Path(text).expanduser() if text else home() / "assets")


def joined(pieces: Iterable[bytes], allowed: int = MAX_RESULT_BYTES) -> bytes:
    """Pieces as they come, as one. Raises `LimitError` as soon as there are too many bytes."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > allowed:
            raise LimitError("bytes of a result", limit="MAX_RESULT_BYTES", allowed=allowed)
    return bytes(data)
