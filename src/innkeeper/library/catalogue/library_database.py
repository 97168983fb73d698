"""The database of a library as a source of catalogues, opened when it is first needed and again after it was lost.

Beside it stands its snapshot file, which is read up to the tier that the operator's rules allow. `CacheView` shows the catalogue
in memory, the snapshot and the cache of rendered texts, and builds them anew.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.gate.gate import TierGate
from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.snapshot import SnapshotFile, snapshot_of
from innkeeper.library.db.connection import find_target
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.tiers.rules import OperatorRules, rules_of
from innkeeper.prompt.errors import FormatError, InnkeeperError
from innkeeper.prompt.machine import home

if TYPE_CHECKING:
    from innkeeper.library.catalogue.database_source import DatabaseSource
    from innkeeper.library.catalogue.resolver import ResolveRequest
    from innkeeper.library.db.engine import Database
    from innkeeper.library.library import Library


_FOLDER: Final = "snapshots"


class LibraryDatabase:
    """What is read of a database: its rules and, up to the tier that they allow, its catalogue. Threads may share it.

    Args:
        opener: opens the database; may raise `DatabaseError`, and is asked again later then.
        given: the policy and detector that are taken instead of those of the database.
        clock: seconds that only go forward.
    """

    def __init__(
        self, opener: Callable[[], Database], overrides: dict[str, Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._opener, self._overrides, self._clock = opener, overrides, clock
        self._db: Database | None = None
        self._rules: OperatorRules | None = None
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
    def rules(self) -> OperatorRules:
        """The rules that count. Before the database has answered once, what is given, else the defaults: the general tier."""
        if self._rules is None:
            with suppress(InnkeeperError):
                return self.read_rules()
        return self.last_rules

    @property
    def last_rules(self) -> OperatorRules:
        """The rules without a new look at the database: the last that were read, else what is given, else the defaults."""
        if self._rules is not None:
            return self._rules
        gate = TierGate.of(self._overrides.get("policy"), self._overrides.get("detector"))
        return OperatorRules(gate, problems=("rules_unread",))

    def read_rules(self) -> OperatorRules:
        """Read the rules anew. Raises `DatabaseError`; the last ones count on then."""
        self._rules = rules = rules_of(self.db, before=self._rules, **self._overrides)
        return rules

    def load(self) -> Catalogue:
        """Everything that the rules allow. Raises `DatabaseError`."""
        return self._read(self._source(self.read_rules()).load())

    def update(self, before: Catalogue) -> Catalogue:
        """As `load`, reading only what changed since ``before``, as long as the rules allow the same. Raises `DatabaseError`."""
        source = self._source(self.read_rules())
        return self._read(source.update(before) if before.ceiling is source.ceiling else source.load())

    def point(self, request: ResolveRequest) -> Catalogue:
        """The rows that can answer one request. Raises `DatabaseError`."""
        return self._source(self._rules or self.read_rules()).point(request)

    def _source(self, rules: OperatorRules) -> DatabaseSource:
        from innkeeper.library.catalogue.database_source import DatabaseSource

        return DatabaseSource(self.db, ceiling=rules.policy.ceiling)

    def _read(self, catalogue: Catalogue) -> Catalogue:
        self.loaded_at = self._clock()
        return catalogue

    def close(self) -> None:
        """Give the database back."""
        with self._lock:
            self._closed, db, self._db = True, self._db, None
        if db is not None:
            db.close()


def snapshot_path(url: Any = None) -> Path:
    """Where the snapshot of a database is kept: beside a SQLite file, in Innkeeper's folder for a server."""
    from hashlib import sha256

    target = find_target(url)
    if target.path is not None:
        return target.path.with_name(f"{target.path.name}.snapshot.json")
    return home() / _FOLDER / f"{sha256(target.location.encode()).hexdigest()[:16]}.json"


class SnapshotFacts(msgspec.Struct, frozen=True):
    """The snapshot in its file. ``problem`` says why it cannot be used, and is empty where it can."""

    path: str
    problem: str = ""
    revision: int | None = None
    templates: int = 0
    content_sha256: str = ""


class CacheView:
    """Made by `Library.cache`."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def show(self) -> dict[str, Any]:
        """What is in memory and in the snapshot, how often memory answered, by which rules; JSON-ready."""
        library = self._library
        catalogue = library.catalogue
        labels: dict[str, int] = {}
        for row in catalogue.labelled:
            labels[row.label] = labels.get(row.label, 0) + 1
        tally, texts, rules = library.sources.tally, library.texts.figures(), library.rules
        unkept = library.sources.unkept
        return {
            "revision": catalogue.revision,
            "source": catalogue.source.value,
            "degraded": list(catalogue.degraded),
            "templates": len(catalogue),
            "labels": dict(sorted(labels.items())),
            "negatives": len(catalogue.negatives),
            "models": len(catalogue.models),
            "providers": len(catalogue.providers),
            "ceiling": catalogue.ceiling.value,
            "age_s": library.cache_age(),
            "resolutions": tally.total,
            "hit_rate": round(tally.hit_rate, 6),
            "texts": {**msgspec.structs.asdict(texts), "hit_rate": round(texts.hit_rate, 6)},
            "rules": {"policy": rules.policy.version, "lexicon": rules.gate.detector.lexicon_version},
            "problems": [*rules.problems, *(() if unkept is None else (f"snapshot:{unkept.kind}",))],
            "snapshot": msgspec.structs.asdict(self.snapshot()),
            "log": msgspec.structs.asdict(library.log.figures()),
        }

    def snapshot(self) -> SnapshotFacts:
        """The snapshot in its file, verified."""
        path = self._library.snapshot
        try:
            catalogue = SnapshotFile(path, ceiling=Tier.NSFW).load()
        except FormatError as error:
            return SnapshotFacts(str(path), error.message)
        return SnapshotFacts(str(path), "", catalogue.revision, len(catalogue), snapshot_of(catalogue).content_sha256)

    def rebuild(self) -> dict[str, Any]:
        """Read everything from the database, verify it, and keep it as the snapshot, in its file and in the database.

        Raises:
            DatabaseError: the database does not answer; memory and snapshot stay as they were.
            MissingFileError: the file cannot be written.
        """
        from innkeeper.library.catalogue.database_source import DatabaseSnapshots

        library = self._library
        fresh = library.database.load()
        SnapshotFile(library.snapshot).store(fresh)
        problem = ""
        try:
            DatabaseSnapshots(library.db).store(fresh)
        except InnkeeperError as error:
            problem = error.kind
        library.refresh()
        made = snapshot_of(fresh)
        facts = {"revision": fresh.revision, "templates": len(fresh), "path": str(library.snapshot)}
        return {**facts, "content_sha256": made.content_sha256, "size": len(made.payload), "problem": problem}
