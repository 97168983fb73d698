"""Reader: the one way bytes of a file come in, whatever its format; nothing is read past a named limit."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self

from innkeeper.content.errors import LIMITS, DamagedFileError, Limits, MissingFileError, check_limit, limit_error
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.text import shorten

if TYPE_CHECKING:
    from types import TracebackType


Source = str | os.PathLike[str] | bytes | bytearray | memoryview
"""The source of every reader of this package: a path, or the bytes themselves."""

NAME_CHARS: Final = 200
"""Characters of a path that errors show."""

BLOCK: Final = 64 * 1024
"""Bytes that are inflated before the limits are looked at again."""


class Reader:
    """Bytes of a file or of memory, with the limits that hold for them and what has been used of each.

    Args:
        source: a path or bytes.
        limits: the limits to hold.
        size_limit: the name of the limit on the whole source.

    Raises:
        MissingFileError: the path cannot be opened.
        LimitError: the source is larger than ``size_limit`` allows.
    """

    def __init__(self, source: Source, limits: Limits = LIMITS, *, size_limit: str = "file_bytes") -> None:
        self.limits = limits
        self.name = source_name(source)
        self.used: dict[str, int] = {}
        self._size_limit = size_limit
        self.file: IO[bytes] = _open(source)
        try:
            self.size = self.file.seek(0, io.SEEK_END)
            self.file.seek(0)
            self.check(size_limit, self.size, "the file")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a reader of memory has nothing to close."""
        self.file.close()

    def all(self) -> bytes:
        """Everything from the start. A file that grows while it is read stops at the limit."""
        self.file.seek(0)
        data = self.file.read(getattr(self.limits, self._size_limit) + 1)
        self.check(self._size_limit, len(data), "the file")
        return data

    def head(self, count: int) -> bytes:
        """Return the first ``count`` bytes, or fewer at the end of the file."""
        self.file.seek(0)
        return self.file.read(count)

    def take(self, count: int, what: str) -> bytes:
        """The next ``count`` bytes. Raises `DamagedFileError` where there are fewer, before asking for memory."""
        left = self.size - self.file.tell()
        data = b"" if count > left else self.file.read(count)
        if len(data) < count:
            raise DamagedFileError(
                f"{what} announces {count:,} bytes, {max(left, 0):,} are left", rule="whole", where=self.where()
            )
        return data

    def check(self, limit: str, actual: float, what: str) -> None:
        """Hold a figure against a limit. Raises `LimitError`."""
        check_limit(self.limits, limit, actual, what, asset=self.name)

    def charge(self, limit: str, amount: int, what: str) -> None:
        """Count ``amount`` more towards a limit. Raises `LimitError` once the sum is above it."""
        self.used[limit] = self.used.get(limit, 0) + amount
        self.check(limit, self.used[limit], what)

    def inflate(self, data: bytes | memoryview, limit: str, what: str) -> bytes:
        """Zlib-compressed bytes, decompressed no further than the limit called ``limit``.

        Raises:
            LimitError: it would be larger.
            FormatError: the bytes are not a zlib stream.
            DamagedFileError: the stream ends too early.
        """
        engine, out, allowed = zlib.decompressobj(), bytearray(), getattr(self.limits, limit)
        try:
            for piece in _inflated(engine, memoryview(data)):
                out += piece
                if len(out) > allowed:
                    raise limit_error(limit, what, allowed).at(asset=self.name)
        except zlib.error as error:
            raise FormatError(f"{what} cannot be decompressed: {error}", where=self.where()) from error
        if not engine.eof:
            raise DamagedFileError(
                f"{what} ends in the middle of its compressed data", rule="whole", where=self.where()
            )
        return bytes(out)

    def where(self) -> Where | None:
        """The file, as errors name it."""
        return Where(asset=self.name) if self.name else None


def source_name(source: object) -> str | None:
    """Return the source's name in errors: its path as given, or nothing for bytes."""
    return shorten(os.fspath(source), NAME_CHARS) if isinstance(source, (str, os.PathLike)) else None


@contextmanager
def missing_as_error(name: str) -> Iterator[None]:
    """Turn the operating system's error about opening ``name`` into a `MissingFileError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason, short = getattr(error, "strerror", None) or str(error), shorten(name, NAME_CHARS)
        hint = "this is JSON, not a path; the type's `of` reads JSON text" if name.lstrip()[:1] in {"{", "["} else None
        if isinstance(error, IsADirectoryError):
            hint = "name a file in it"
        if isinstance(error, FileNotFoundError):
            hint = hint or _file_beside(Path(name))
        raise MissingFileError(f"cannot open: {reason}", where=Where(asset=short), hint=hint) from error


def _file_beside(path: Path) -> str | None:
    """The hint that offers the file of its folder that was probably meant."""
    try:
        return did_you_mean(path.name, (file.name for file in path.parent.iterdir()))
    except OSError:
        return None


def _inflated(engine: Any, data: memoryview) -> Iterator[bytes]:
    """Feed ``data`` block by block, so that neither input nor output is ever copied as a whole."""
    for start in range(0, len(data), BLOCK):
        pending: bytes | memoryview = data[start : start + BLOCK]
        while pending and not engine.eof:
            yield engine.decompress(pending, BLOCK)
            pending = engine.unconsumed_tail
    while not engine.eof and (rest := engine.decompress(b"", BLOCK)):
        yield rest  # pragma: no cover - a guard: the engine asks for its input again until all output is out


def _open(source: Source) -> IO[bytes]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return io.BytesIO(source)
    name = os.fspath(source)
    with missing_as_error(name):
        file = Path(name).open("rb")  # noqa: SIM115 - the reader closes it
    if file.seekable():
        return file
    with file:
        return io.BytesIO(file.read(LIMITS.file_bytes + 1))
