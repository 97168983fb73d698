"""State: everything that Innkeeper keeps on a machine, as one archive that is verified before it counts.

The archive is a zip. ``manifest.json`` has the size and the SHA-256 of every member. Databases are copied as of one moment, while
others write; the library is a backup (`innkeeper.library.db.backup`), which goes into SQLite and PostgreSQL alike.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Final

import msgspec

from innkeeper.content.files.private import draft_beside, make_private
from innkeeper.library.db.backup import back_up, damaged, holds_something, is_database, restore
from innkeeper.library.db.connection import DatabaseTarget
from innkeeper.library.db.engine import Database
from innkeeper.library.db.sqlite_file import copy_database
from innkeeper.library.errors import AlreadyExistsError
from innkeeper.prompt.errors import FormatError, LimitError, Where
from innkeeper.prompt.typed.once import decode
from innkeeper.version import VERSION

MANIFEST: Final = "manifest.json"
LIBRARY: Final = "library"
"""The member that is the backup of the library."""

MAX_MANIFEST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the manifest of an archive (`LimitError`): some 300,000 files."""

_BLOCK: Final = 1024 * 1024
_PASSING: Final = ("-wal", "-shm", "-journal", ".tmp", ".lock")
"""Ends of names of files that are of no use later."""


class StateMember(msgspec.Struct, frozen=True):
    """A file of an archive: its size in bytes and its SHA-256."""

    size: int
    sha256: str


class StateManifest(msgspec.Struct, frozen=True):
    """The contents of an archive: its members by name, and what is not in it, in words."""

    version: str
    members: dict[str, StateMember]
    left_out: tuple[str, ...] = ()
    innkeeper_state: int = 1


class StatePaths(msgspec.Struct, frozen=True):
    """Where state is kept: ``files`` and ``folders`` by their name in the archive, the library, and folders that stay out."""

    files: Mapping[str, Path]
    folders: Mapping[str, Path]
    library: DatabaseTarget
    excluded: tuple[Path, ...] = ()

    def sources(self) -> Iterator[tuple[str, Path]]:
        """Yield the files that exist but the library, each with its name in the archive."""
        yield from ((name, path) for name, path in self.files.items() if path.is_file())
        library = self.library.path
        database = () if library is None else (library, library.with_name(f"{library.name}.snapshot.json"))
        for name, folder in self.folders.items():
            others = [path for other, path in self.folders.items() if other != name and path.is_relative_to(folder)]
            apart = {*self.excluded, *others, *self.files.values(), *database}
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.name.endswith(_PASSING) and apart.isdisjoint((path, *path.parents)):
                    yield f"{name}/{path.relative_to(folder).as_posix()}", path

    def target(self, name: str, archive: Path) -> Path:
        """Return where a member belongs. Raises `FormatError` for a name that leads elsewhere."""
        if name in self.files:
            return self.files[name]
        folder, *parts = PurePosixPath(name).parts
        if folder not in self.folders or not parts or ".." in parts or "\\" in name or ":" in name:
            raise damaged(archive, f"the archive has a file {name[:100]!r}, which belongs nowhere")
        return self.folders[folder].joinpath(*parts)


def back_up_state(
    path: Path, paths: StatePaths, *, left_out: tuple[str, ...] = (), progress: Callable[[int], None] = lambda _: None
) -> StateManifest:
    """Write all state into an archive that only its owner may read, and verify it. ``progress`` is told of bytes.

    Raises:
        AlreadyExistsError: the file exists.
        DatabaseError: a database cannot be read.
        OSError: a file cannot be read, or the archive not written.
    """
    if path.exists():
        raise AlreadyExistsError(f"{path} exists already", hint="choose another name")
    members = {}
    with draft_beside(path) as draft, TemporaryDirectory(dir=draft.parent) as scratch:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, source in _whole(paths, Path(scratch)):
                with source.open("rb") as file, archive.open(name, "w", force_zip64=True) as out:
                    members[name] = _copied(file, out, progress)
            manifest = StateManifest(VERSION, members, left_out)
            archive.writestr(MANIFEST, msgspec.json.encode(manifest))
        verify_state(draft)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    return manifest


def _whole(paths: StatePaths, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Yield every source as a file of one moment: databases as copies."""
    for number, (name, source) in enumerate(paths.sources()):
        if is_database(source):
            copy_database(source, scratch / f"{number}.db")
            yield name, scratch / f"{number}.db"
        else:
            yield name, source
    if paths.library.path is None or paths.library.path.is_file():
        with Database.open(paths.library.url, create=False, upgrade=False) as db:
            back_up(db, scratch / LIBRARY)
        yield LIBRARY, scratch / LIBRARY


def verify_state(path: Path) -> StateManifest:
    """Read an archive to its end. Raises `FormatError` for one that is not whole, `LimitError`."""
    with _opened(path) as (archive, manifest):
        for name, member in manifest.members.items():
            with archive.open(name) as file:
                if archive.getinfo(name).file_size != member.size or _copied(file, None) != member:
                    raise damaged(path, f"the archive is damaged: {name[:100]!r} is not what was written")
    return manifest


def restore_state(path: Path, paths: StatePaths, *, progress: Callable[[int], None] = lambda _: None) -> StateManifest:
    """Put everything of an archive where it belongs, all or nothing. Nothing that exists is written over.

    Raises:
        FormatError: the archive is not whole.
        AlreadyExistsError: a file exists, or the library holds something.
    """
    manifest = verify_state(path)
    targets = {name: paths.target(name, path) for name in manifest.members if name != LIBRARY}
    check_free(manifest, targets, paths)
    with _opened(path) as (archive, _), ExitStack() as undo, TemporaryDirectory() as scratch:
        for name, target in targets.items():
            make_private(target)
            undo.callback(target.unlink, missing_ok=True)
            with archive.open(name) as file, target.open("wb") as out:
                _copied(file, out, progress)
        if LIBRARY in manifest.members:
            restore(archive.extract(LIBRARY, scratch), paths.library.url)
        undo.pop_all()
    return manifest


def check_free(manifest: StateManifest, targets: Mapping[str, Path], paths: StatePaths) -> None:
    """Raise `AlreadyExistsError` if something of the archive would be written over."""
    there = [str(target) for target in targets.values() if target.exists()]
    if LIBRARY in manifest.members and holds_something(paths.library.path or paths.library.url):
        there.append(paths.library.location)
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        hint = "move it away, or set INNKEEPER_HOME to an empty folder"
        raise AlreadyExistsError(f"{there[0]} exists already{more}: nothing was changed", hint=hint)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, StateManifest]]:
    if not path.is_file():
        raise FormatError(
            "there is no such file", where=Where(asset=str(path)), hint="`innkeeper admin backup` makes one"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(MANIFEST).file_size
            if size > MAX_MANIFEST_BYTES:
                where, name = Where(asset=str(path)), "MAX_MANIFEST_BYTES"
                raise LimitError("the manifest", limit=name, allowed=MAX_MANIFEST_BYTES, found=size, where=where)
            yield archive, decode(archive.read(MANIFEST), StateManifest)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, msgspec.MsgspecError) as error:
        raise damaged(path, f"this is no archive of Innkeeper's state, or a damaged one: {error}") from error


def _copied(file: IO[bytes], out: IO[bytes] | None, progress: Callable[[int], None] = lambda _: None) -> StateMember:
    digest, size = hashlib.sha256(), 0
    while block := file.read(_BLOCK):
        digest.update(block)
        size += len(block)
        if out is not None:
            out.write(block)
        progress(len(block))
    return StateMember(size, digest.hexdigest())
