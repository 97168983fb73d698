"""Archive: an untrusted zip. Its directory is checked as a whole before anything in it is read.

Refused, each under its rule's name: ``no-encryption``, ``no-links``, ``no-nesting`` (archives inside), ``no-overlap``
(entries that share bytes), ``no-duplicates``, ``safe-paths`` (absolute, ``..``, drives, backslashes, control
characters), ``stored-or-deflated``, ``no-zip64``, ``sound`` (anything else that does not add up). Sizes are counted while
reading, whatever the directory says.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from innkeeper.content.errors import DamagedFileError, limit_error
from innkeeper.content.files.reader import BLOCK, Reader
from innkeeper.prompt.errors import Where

if TYPE_CHECKING:
    from zipfile import ZipInfo


_END: Final = struct.Struct("<4s4H2LH")
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_END_MARK: Final = b"PK\5\6"
_END64_MARK: Final = b"PK\6\7"
_ENTRY_MARK: Final = b"PK\1\2"
_LOCAL_MARK: Final = b"PK\3\4"
_COMMENT: Final = 2**16

SMALL: Final = 64 * 1024
"""Bytes below which a high ratio is no harm."""

_UNSAFE: Final = re.compile(r"^/|^[A-Za-z]:|\\|(?:^|/)\.\.(?:/|$)|[\x00-\x1f\x7f]")
_ARCHIVES: Final = (".zip", ".charx", ".byaf", ".jar", ".7z", ".rar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".tar")
_MAGIC: Final = (
    b"PK\3\4",
    b"PK\5\6",
    b"\x1f\x8b",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b"\xfd7zXZ",
    b"BZh",
    b"\x28\xb5\x2f\xfd",
)
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
_PLAIN_FILES: Final = frozenset({0, stat.S_IFREG, stat.S_IFDIR})


class Archive:
    """The files of a zip, with the limits of its reader.

    Raises:
        DamagedFileError: it is not a zip, or it breaks a rule.
        LimitError: too many files, or too long names.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        count = _count_entries(reader)
        with _zip_errors(reader):
            self._zip = zipfile.ZipFile(reader.file)
        infos = self._zip.infolist()
        if len(infos) != count:  # pragma: no cover - a guard, should the zip library count in another way
            raise _broken(reader, "the directory does not hold as many files as it says", "sound")
        _check_names(reader, infos)
        for info in infos:
            _check_entry(reader, info)
        _check_overlap(reader, infos, self._zip.start_dir)
        self._files = {info.filename: info for info in infos if not info.is_dir()}

    @property
    def names(self) -> tuple[str, ...]:
        """The files, in the order of the directory."""
        return tuple(self._files)

    def read(self, name: str) -> bytes:
        """One file, decompressed.

        Raises:
            DamagedFileError: there is no such file, or its bytes do not add up, or it is an archive itself.
            LimitError: it is too large, or all that were read are, or it is compressed too well.
        """
        info = self._files.get(name)
        if info is None:
            raise DamagedFileError(f"the archive has no file {name!r}", rule="sound", where=self.reader.where())
        out = bytearray()
        with _zip_errors(self.reader, name), self._zip.open(info) as file:
            while block := file.read(BLOCK):
                out += block
                self._count(info, len(out), len(block))
        if len(out) != info.file_size:
            raise _broken(self.reader, "the file is not as long as the directory says", "sound", name)
        if out.startswith(_MAGIC):
            raise _broken(self.reader, "the file is an archive itself", "no-nesting", name)
        return bytes(out)

    def _count(self, info: ZipInfo, size: int, more: int) -> None:
        what = f"the file {info.filename!r}"
        self.reader.check("archive_entry_bytes", size, what)
        self.reader.charge("archive_total_bytes", more, "all files of the archive")
        allowed = self.reader.limits.archive_ratio
        if size > SMALL and size > allowed * info.compress_size:
            ratio = size // max(info.compress_size, 1)
            raise limit_error("archive_ratio", what, allowed, ratio).at(asset=self.reader.name, path=info.filename)


def find_directory(tail: bytes) -> int:
    """Return where the end record of a zip begins within the last bytes of a file, or -1."""
    bare = len(tail) - _END.size
    if bare >= 0 and tail.startswith(_END_MARK, bare) and tail.endswith(b"\0\0"):
        return bare
    mark = tail.rfind(_END_MARK)
    return mark if mark >= 0 and mark <= bare else -1


def _count_entries(reader: Reader) -> int:
    """Count the entries of the directory before any memory is spent on them."""
    start, size = _directory(reader)
    reader.file.seek(start)
    left, count = size, 0
    while left >= _ENTRY.size:
        head = _ENTRY.unpack(reader.take(_ENTRY.size, "the directory"))
        if head[0] != _ENTRY_MARK:
            raise _broken(reader, "the directory is damaged", "sound")
        name, extra, comment = head[10], head[11], head[12]
        count, left = count + 1, left - _ENTRY.size - name - extra - comment
        reader.check("archive_entries", count, "the number of files")
        reader.check("archive_name_bytes", name, "a file name")
        reader.take(name + extra + comment, "the directory")
    return count


def _directory(reader: Reader) -> tuple[int, int]:
    """Return the offset and the size of the directory."""
    tail_start = max(0, reader.size - _COMMENT - _END.size)
    reader.file.seek(tail_start)
    tail = reader.take(reader.size - tail_start, "the archive")
    end = find_directory(tail)
    if end < 0:
        raise _broken(reader, "this is not a zip archive, or its end is missing", "sound")
    if tail[max(0, end - 20) : end].startswith(_END64_MARK):
        raise _broken(reader, "the archive is in the large format (zip64)", "no-zip64")
    _, _, _, _, _, size, offset, _ = _END.unpack_from(tail, end)
    start = tail_start + end - size
    if start < offset or start < 0:
        raise _broken(reader, "the directory is not where the archive says", "sound")
    return start, size


def _check_names(reader: Reader, infos: list[ZipInfo]) -> None:
    seen: set[str] = set()
    for info in infos:
        name = info.orig_filename
        if not name or _UNSAFE.search(name):
            raise _broken(reader, f"{name!r} is not a safe path", "safe-paths", name)
        if info.filename in seen:
            raise _broken(reader, "two files have this name", "no-duplicates", name)
        seen.add(info.filename)


def _check_entry(reader: Reader, info: ZipInfo) -> None:
    name = info.filename
    if info.flag_bits & _ENCRYPTED:
        raise _broken(reader, "the file is encrypted", "no-encryption", name)
    if stat.S_IFMT(info.external_attr >> 16) not in _PLAIN_FILES:
        raise _broken(reader, "this is a link or device, not a file", "no-links", name)
    if name.lower().endswith(_ARCHIVES):
        raise _broken(reader, "the file is an archive itself", "no-nesting", name)
    if info.compress_type not in _METHODS:
        raise _broken(reader, "the file is compressed in a way that is not read", "stored-or-deflated", name)


def _check_overlap(reader: Reader, infos: list[ZipInfo], directory: int) -> None:
    """Check that each file's bytes end before the next one's begin: zip bombs let files share one kernel."""
    spans = sorted((info.header_offset, _end_of(reader, info), info.filename) for info in infos)
    for (_, end, name), (start, _, _) in pairwise([*spans, (directory, directory, "")]):
        if end > start:
            raise _broken(reader, "the file's bytes belong to another one as well", "no-overlap", name)


def _end_of(reader: Reader, info: ZipInfo) -> int:
    if not 0 <= info.header_offset <= reader.size - _LOCAL.size:
        raise _broken(reader, "the file is not where the directory says", "sound", info.filename)
    reader.file.seek(info.header_offset)
    head = _LOCAL.unpack(reader.take(_LOCAL.size, "a file's header"))
    if head[0] != _LOCAL_MARK:
        raise _broken(reader, "the file is not where the directory says", "sound", info.filename)
    return info.header_offset + _LOCAL.size + int(head[9]) + int(head[10]) + info.compress_size


def _broken(reader: Reader, message: str, rule: str, name: str | None = None) -> DamagedFileError:
    return DamagedFileError(message, rule=rule, where=Where(asset=reader.name, path=name))


@contextmanager
def _zip_errors(reader: Reader, name: str | None = None) -> Iterator[None]:
    """Everything the zip library can say about bad input, as an `DamagedFileError`."""
    try:
        yield
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, struct.error) as error:
        raise _broken(reader, f"the archive is damaged: {error}", "sound", name) from error
    except (ValueError, OSError, LookupError, OverflowError) as error:  # pragma: no cover - a guard, as above
        raise _broken(reader, f"the archive cannot be read: {error}", "sound", name) from error
