"""DatabaseSource: catalogues from the database, whole or only the rows that can answer one request, and fetched anew on a change.

`DatabaseSnapshots` are the last catalogues that were built and verified, kept in the database's own table. A `Follower` is a
thread that fetches the catalogue as soon as any process has changed what it holds: its `Watcher` learns of a change within a
moment, as PostgreSQL announces it, and the revision is polled in case an announcement got lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from select import select as readable
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import msgspec
from sqlalchemy import delete, insert, select

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.rows import DATES, CatalogueModel, CatalogueNegative, CatalogueProvider, catalogue_rows
from innkeeper.library.catalogue.snapshot import Snapshot, catalogue_of, damaged, snapshot_of
from innkeeper.library.db.connection import translated
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import by_priority, checked, first_row
from innkeeper.library.db.schema import CHANNEL
from innkeeper.library.db.tables.templates import api_models, api_providers, negative_prompts, prompt_cache_snapshot
from innkeeper.library.rows import StoredRow
from innkeeper.library.templates.template import Labelled, PartRef
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

    from innkeeper.library.catalogue.resolver import ResolveRequest


R = TypeVar("R", bound=StoredRow)


class DatabaseSource:
    """The library in a database, as a source. ``ceiling`` is the highest tier that the operator's policy allows."""

    def __init__(self, db: Database, *, ceiling: Tier = Tier.SFW) -> None:
        from innkeeper.library.templates.store import TemplateStore

        self.db = db
        self.ceiling = ceiling
        self._templates = TemplateStore(db)

    def load(self) -> Catalogue:
        """Everything, of one revision. Raises `DatabaseError`."""
        with self.db.snapshot():
            return self._load(self.db.revision(), self._templates.all_labelled)

    def update(self, before: Catalogue) -> Catalogue:
        """As `load`, with what ``before`` holds taken from there where it is still the same. Raises `DatabaseError`."""
        with self.db.snapshot():
            return self._load(self.db.revision(), lambda: self._templates.labelled_after(before.labelled))

    def point(self, request: ResolveRequest) -> Catalogue:
        """The rows that can answer one request, and what they take in, of one revision. Raises `DatabaseError`."""
        with self.db.snapshot():
            revision, models = self.db.revision(), self._families((request.target_model, request.enhancer_model))
            families = [model.model_family for model in models if model.is_active]
            return self._built(self._templates.rows_for(request, families=families), revision, models)

    def _load(self, revision: int, rows: Callable[[], Iterable[Labelled]]) -> Catalogue:
        models = self._rows(api_models, CatalogueModel)
        negatives = self._rows(negative_prompts, CatalogueNegative, negative_prompts.c.is_active)
        providers = self._rows(api_providers, CatalogueProvider, api_providers.c.is_active)
        return self._built(rows(), revision, models, negatives=negatives, providers=providers)

    def _rows(self, table: Table, kind: type[R], *conditions: Any) -> tuple[R, ...]:
        query = select(*(column for column in table.c if column.name not in DATES)).where(*conditions)
        ordered = by_priority(query, table) if "priority" in table.c else query.order_by(table.c.name)
        with self.db.reading() as connection:
            return catalogue_rows(connection.execute(ordered).mappings(), kind)

    def _families(self, keys: Iterable[str | None]) -> tuple[CatalogueModel, ...]:
        """The families of models: three columns, since all of them take a millisecond longer the first time."""
        known_keys = sorted({key for key in keys if key})
        if not known_keys:
            return ()
        table = api_models.c
        query = select(table.model_key, table.model_family, table.is_active).where(table.model_key.in_(known_keys))
        with self.db.reading() as connection:
            return catalogue_rows(connection.execute(query.order_by(table.model_key)).mappings(), CatalogueModel)

    def _built(
        self, rows: Iterable[Labelled], revision: int, models: tuple[CatalogueModel, ...], **tables: Any
    ) -> Catalogue:
        labelled = tuple(rows)
        refs: set[PartRef] = {ref for row in labelled for ref in row.version.pins}
        return Catalogue.build(
            labelled,
            pinned=self._templates.pinned(refs) if refs else (),
            ceiling=self.ceiling,
            models=[model for model in models if model.is_active],
            retired=tuple(sorted(model.model_key for model in models if not model.is_active)),
            revision=revision,
            source=AnswerSource.DATABASE,
            **tables,
        )


SNAPSHOTS = 5
"""How many snapshots are kept."""


class SnapshotRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``prompt_cache_snapshot``."""

    id: int
    created_at: str
    content_sha256: str
    payload: str
    built_from_revision: int


class DatabaseSnapshots:
    """The last verified snapshots in the database's own table ``prompt_cache_snapshot``: a source that can be written."""

    def __init__(self, db: Database, *, ceiling: Tier = Tier.SFW) -> None:
        self.db = db
        self._ceiling = ceiling

    def load(self) -> Catalogue:
        """The newest snapshot. Raises `FormatError` where there is none or it is damaged, `DatabaseError`."""
        table = prompt_cache_snapshot
        with self.db.reading() as connection:
            query = select(table).order_by(table.c.id.desc()).limit(1)
            row = first_row(connection.execute(query), SnapshotRow)
        if row is None:
            raise damaged("no snapshot was made yet")
        snapshot = Snapshot(row.payload.encode(), row.content_sha256, row.built_from_revision)
        return catalogue_of(snapshot, ceiling=self._ceiling)

    def store(self, catalogue: Catalogue) -> None:
        """Keep a catalogue and forget all but the newest `KEPT`. Raises `DatabaseError`."""
        made, table = snapshot_of(catalogue), prompt_cache_snapshot
        facts = {"content_sha256": made.content_sha256, "built_from_revision": made.built_from_revision}
        row = {"payload": made.payload.decode(), **facts, "created_at": self.db.now()}
        with self.db.transaction() as connection:
            connection.execute(insert(table), checked(table, row))
            newest = select(table.c.id).order_by(table.c.id.desc()).limit(SNAPSHOTS)
            connection.execute(delete(table).where(table.c.id.not_in(newest)))


_LOOK: Final = 5.0
"""How long one wait for a change lasts before it begins anew, in seconds."""

_REST: Final = 0.5
"""How long the thread rests after the database failed, in seconds."""


class Follower:
    """Calls ``changed`` after each change of a database, whenever it fails, and after it came back from a failure.

    Args:
        database: gives the open database; may raise `DatabaseError`.
        changed: fetches what changed; raises nothing.
    """

    def __init__(self, database: Callable[[], Database], changed: Callable[[], object]) -> None:
        self._database, self._changed = database, changed
        self._stopped = threading.Event()
        self._watcher: Watcher | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="innkeeper-follower", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait until the thread has ended."""
        self._stopped.set()
        with self._lock:
            watcher = self._watcher
        if watcher is not None:
            watcher.close()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_LOOK + 1)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except InnkeeperError:
                self._changed()  # what stands in is flagged from now on, also where the first call came too early to see it
                self._stopped.wait(_REST)
            finally:
                self._let_go()

    def _follow(self) -> None:
        """Follow until the database fails. What changed before the first look is fetched by the first call."""
        watcher = Watcher(self._database())
        with self._lock:
            self._watcher = watcher
        self._changed()
        while not self._stopped.is_set():
            if watcher.wait(_LOOK) is not None:
                self._changed()

    def _let_go(self) -> None:
        with self._lock:
            watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close()


POLL: Final = 0.25
"""Seconds between two looks at the revision. PostgreSQL announces changes; the look is for announcements that got lost."""


class Watcher:
    """Follows the revision of one database. Not for several threads at once, except for `close`.

    On PostgreSQL it listens on a connection of its own, and makes a new one after that was lost.
    """

    def __init__(self, db: Database, *, poll: float = POLL) -> None:
        self.db = db
        self.seen = db.revision()
        self._poll = poll
        self._closed = threading.Event()
        self._busy = threading.Lock()
        self._listening: Connection | None = None

    def changed(self) -> bool:
        """Whether the revision is another one than at the last look. Raises `DatabaseError`."""
        before, self.seen = self.seen, self.db.revision()
        return self.seen != before

    def wait(self, timeout: float) -> int | None:
        """The new revision as soon as there is one; None after ``timeout`` seconds or when closed. Raises `DatabaseError`."""
        with self._busy:
            return self._wait(time.monotonic() + timeout)

    def _wait(self, until: float) -> int | None:
        self._listen()  # before the first look, so that no change falls between the two
        while not self._closed.is_set():
            if self.changed():
                return self.seen
            left = until - time.monotonic()
            if left <= 0:
                return None
            self._pause(min(self._poll, left))
        return None

    def close(self) -> None:
        """Stop waiting, in whatever thread that happens, and give the connection back."""
        self._closed.set()
        with self._busy:
            self._hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        if self.db.dialect != "postgresql" or self._closed.is_set() or self._listening is not None:
            return
        with translated(self.db.location):
            connection = self.db.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql(f"LISTEN {CHANNEL}")
            self._listening = connection

    def _pause(self, seconds: float) -> None:
        """Sleep until something is announced or the time is over."""
        listening, socket = self._listening, self._socket()
        if listening is None or socket is None:
            self._closed.wait(seconds)
            return
        ready, _, _ = readable([socket], [], [], seconds)
        if ready:
            self._take(listening)

    def _socket(self) -> Any:
        """The socket on which announcements arrive; drivers that do not show it are polled."""
        driver = None if self._listening is None else self._listening.connection.driver_connection
        return getattr(driver, "_usock", None)

    def _take(self, listening: Connection) -> None:
        """Let the driver read what was announced. Where the connection was lost, the next `wait` makes another."""
        try:
            with translated(self.db.location):
                listening.exec_driver_sql("SELECT 1")
        except InnkeeperError:
            self._hang_up()

    def _hang_up(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.invalidate()  # it listens: nobody else should get it
            listening.close()
