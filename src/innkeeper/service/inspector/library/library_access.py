"""LibraryAccess: the library as the inspector opens it: to read without leaving a trace, and for one change at a time to write.

Where there is no database, or it cannot be read, its last snapshot is shown, or else what comes with Innkeeper.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from innkeeper.library.errors import DatabaseMissingError
from innkeeper.prompt.errors import FormatError, InnkeeperError
from innkeeper.service.inspector.access import Visitor

if TYPE_CHECKING:
    from innkeeper.library.catalogue.catalogue import Catalogue
    from innkeeper.library.library import Library
    from innkeeper.service.inspector.library.contents import LibraryContents


T = TypeVar("T")

_TRIES: Final = 3
_MAKE: Final = "`innkeeper admin db upgrade` makes one, `innkeeper admin template import --builtin` fills it"


class LibraryAccess:
    """One library. Threads may share it.

    Args:
        url: its database, as `Database.open` takes it: the one that commands use, where left out.
    """

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._library: Library | None = None
        self._catalogue: Catalogue | None = None

    def look(self, work: Callable[[LibraryContents], T]) -> T:
        """What ``work`` makes of the library as it is now; once more where the file was written to meanwhile.

        Raises `ConfigError` for a URL that is not understood.
        """
        for _ in range(_TRIES):
            before = self._written()
            try:
                result = work(self.contents())
            except InnkeeperError:
                if before == self._written():
                    raise
            else:
                if before == self._written():
                    return result
        return work(self.contents())

    def _written(self) -> tuple[int, int, int] | None:
        """Which file the database is and when it was written to, where it is one."""
        from innkeeper.library.db.connection import find_target

        path = find_target(self._url).path
        try:
            facts = None if path is None else path.stat()
        except OSError:
            return None
        return None if facts is None else (facts.st_ino, facts.st_size, facts.st_mtime_ns)

    def contents(self) -> LibraryContents:
        """What is looked at now. Raises `ConfigError` for a URL that is not understood."""
        from innkeeper.service.inspector.library.contents import DatabaseContents

        try:
            library = self._reading()
            library.db.revision()
        except InnkeeperError as error:
            return self._fallback(error)
        return DatabaseContents(library, lambda: self._read(library))

    def _reading(self) -> Library:
        from innkeeper.library.library import Library

        with self._lock:
            if self._library is None:
                self._library = Library.open(self._url, create=False, read_only="traceless", watch=False)
            return self._library

    def _read(self, library: Library) -> Catalogue:
        """What requests are answered from, of which only what has changed is read again."""
        with self._lock:
            before, database = self._catalogue, library.database
            self._catalogue = catalogue = database.load() if before is None else database.update(before)
        return catalogue

    def _fallback(self, problem: InnkeeperError) -> LibraryContents:
        """The last snapshot, up to the tier that the rules allow, or what comes with Innkeeper."""
        from innkeeper.library.builtins import packaged
        from innkeeper.library.catalogue.snapshot import SnapshotFile
        from innkeeper.service.inspector.library.contents import SnapshotContents

        if isinstance(problem, DatabaseMissingError):
            problem.hint = _MAKE
        library = self._library
        if library is not None:
            ceiling = library.database.last_rules.policy.ceiling
            try:
                return SnapshotContents(SnapshotFile(library.snapshot, ceiling=ceiling).load(), "snapshot", problem)
            except FormatError:
                pass
        return SnapshotContents(packaged(), "builtin", problem)

    @contextmanager
    def changing(self) -> Iterator[Library]:
        """The library to be written, for one change. A database is not made by the way.

        Raises `DatabaseError`: there is none, or it cannot be opened.
        """
        from innkeeper.library.library import Library

        with Library.open(self._url, create=False, watch=False) as library:
            try:
                library.db.revision()
            except DatabaseMissingError as error:
                error.hint = _MAKE
                raise
            yield library

    def close(self) -> None:
        """Give the database back."""
        with self._lock:
            library, self._library = self._library, None
        if library is not None:
            library.close()


class LibraryScope(NamedTuple):
    """What an operation that reads gets: the library as it is now, who asks, and the template that the path names."""

    contents: LibraryContents
    visitor: Visitor
    name: str = ""


class ChangeScope(NamedTuple):
    """What an operation that changes the library gets."""

    library: LibraryAccess
    visitor: Visitor
    name: str = ""


class EmptyRequest(msgspec.Struct, frozen=True):
    """A request without fields."""
