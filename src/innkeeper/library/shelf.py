"""Shelf: the database of a library as one of its sources, opened when it is first needed and again after it was lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.library.catalogue import Catalogue
from innkeeper.library.connecting import find_target
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.rules import Rules, rules_of
from innkeeper.library.snapshot import SnapshotFile
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.home import home

if TYPE_CHECKING:
    from innkeeper.library.engine import Database
    from innkeeper.library.resolver import ResolveRequest

__all__ = ["KeptShelf", "Shelf", "snapshot_path"]

_FOLDER: Final = "snapshots"


class Shelf:
    """What is read of a database: its rules and, up to the tier that they allow, its catalogue. Threads may share it.

    Args:
        opener: opens the database; may raise `DatabaseError`, and is asked again later then.
        given: the policy and detector that are taken instead of those of the database.
        clock: seconds that only go forward.
    """

    def __init__(
        self, opener: Callable[[], Database], given: dict[str, Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._opener, self._given, self._clock = opener, given, clock
        self._db: Database | None = None
        self._rules: Rules | None = None
        self._lock = threading.Lock()
        self._closed = False
        self.loaded_at: float | None = None
        """When the last whole catalogue was read, on the clock."""

    @property
    def db(self) -> Database:
        """The open database. Raises `DatabaseError`."""
        with self._lock:
            if self._closed:
                raise DatabaseUnreachableError("the library was closed")
            if self._db is None:
                self._db = self._opener()
            return self._db

    @property
    def rules(self) -> Rules:
        """The rules that count. Before the database has answered once, what is given, else the defaults: the general tier."""
        if self._rules is None:
            try:
                return self.read_rules()
            except InnkeeperError:
                return self._standing_in()
        return self._rules

    def read_rules(self) -> Rules:
        """Read the rules anew. Raises `DatabaseError`; the last ones count on then."""
        self._rules = found = rules_of(self.db, before=self._rules, **self._given)
        return found

    def load(self) -> Catalogue:
        """Everything that the rules allow. Raises `DatabaseError`."""
        from innkeeper.library.database_source import DatabaseSource

        found = DatabaseSource(self.db, ceiling=self.read_rules().policy.ceiling).load()
        self.loaded_at = self._clock()
        return found

    def point(self, request: ResolveRequest) -> Catalogue:
        """The rows that can answer one request. Raises `DatabaseError`."""
        from innkeeper.library.database_source import DatabaseSource

        rules = self._rules or self.read_rules()
        return DatabaseSource(self.db, ceiling=rules.policy.ceiling).point(request)

    def close(self) -> None:
        """Give the database back."""
        with self._lock:
            self._closed, db, self._db = True, self._db, None
        if db is not None:
            db.close()

    def _standing_in(self) -> Rules:
        from innkeeper.library.tier_gate import TierGate

        return Rules(TierGate.of(self._given.get("policy"), self._given.get("detector")), problems=("rules_unread",))


class KeptShelf:
    """The snapshot of a shelf in a file, read up to the tier that the rules allow."""

    def __init__(self, path: Path, shelf: Shelf) -> None:
        self.path = path
        self._shelf = shelf

    def load(self) -> Catalogue:
        """The catalogue in the file. Raises `SnapshotError`."""
        rules = self._shelf._rules or self._shelf._standing_in()  # noqa: SLF001 - no new look at a database that is away
        return SnapshotFile(self.path, ceiling=rules.policy.ceiling).load()

    def point(self, _request: ResolveRequest) -> Catalogue:
        """A file is read whole."""
        return self.load()

    def store(self, catalogue: Catalogue) -> None:
        """Replace the file. Raises `MissingFileError`."""
        with suppress(OSError):  # where the folder cannot be made, writing the file says why
            self.path.parent.mkdir(parents=True, exist_ok=True)
        SnapshotFile(self.path).store(catalogue)


def snapshot_path(url: Any = None) -> Path:
    """Where the snapshot of a database is kept: beside a SQLite file, in Innkeeper's folder for a server."""
    from hashlib import sha256

    target = find_target(url)
    if target.path is not None:
        return target.path.with_name(f"{target.path.name}.snapshot.json")
    return home() / _FOLDER / f"{sha256(target.place.encode()).hexdigest()[:16]}.json"
