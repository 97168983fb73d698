"""Sources: the chain memory → snapshot → database → builtin, which gives the same answer from each and says which it was.

The catalogue in memory answers almost always. Once it is told to be out of date, or is too old, it goes on answering while one
thread fetches the next (stale-while-revalidate); where that fails, later tries wait longer and longer. Before there is one, a
request is answered from the few rows of the database that can match it. Where the database fails, is lost or is damaged, the last
verified snapshot stands in, and where there is none, what comes with Innkeeper does; each such answer is flagged.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.resolver import Resolution, ResolveRequest, resolve
from innkeeper.prompt.errors import InnkeeperError


class CatalogueSource(Protocol):
    """Where a catalogue is read. Both methods raise errors of Innkeeper's tree only."""

    def load(self) -> Catalogue:
        """Everything, of one revision."""
        ...

    def point(self, request: ResolveRequest) -> Catalogue:
        """At least the rows that can answer one request, of one revision."""
        ...


@runtime_checkable
class UpdatedSource(CatalogueSource, Protocol):
    """A source that reads less where an earlier catalogue is at hand."""

    def update(self, before: Catalogue) -> Catalogue:
        """As `load`, with what has not changed taken from ``before``."""
        ...


class SnapshotStore(Protocol):
    """Where the last good catalogue is kept: `SnapshotFile` is one. Both methods raise errors of Innkeeper's tree only."""

    def load(self) -> Catalogue:
        """The last catalogue."""
        ...

    def store(self, catalogue: Catalogue) -> None:
        """Keep a catalogue in place of the last one."""
        ...


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """In seconds: how old a catalogue may grow before it is fetched again, and how long failures are waited out.

    The wait after a failure doubles from ``first_wait`` to ``longest_wait``.
    """

    fresh: float = 60.0
    first_wait: float = 0.5
    longest_wait: float = 60.0


@dataclass(slots=True)
class Tally:
    """How many resolutions each source has answered."""

    counts: dict[AnswerSource, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    @property
    def hit_rate(self) -> float:
        """The share that memory answered, from 0 to 1; 0 before the first."""
        return self.counts.get(AnswerSource.MEMORY, 0) / self.total if self.total else 0.0

    def add(self, source: AnswerSource) -> None:
        """Count one."""
        self.counts[source] = self.counts.get(source, 0) + 1


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="innkeeper-catalogue", daemon=True).start()


_SETTLING: Final = 10.0
"""Seconds that closing waits for the snapshot to be kept."""

_NO_DATABASE: Final = "no_database"
_LOST: Final = "database_lost"
_EMPTY: Final = "database_empty"
_STALE: Final = "stale"


def _replaced(catalogue: Catalogue, **facts: Any) -> Catalogue:
    return dataclasses.replace(catalogue, **facts)


class Sources:
    """The chain. Safe to share between threads.

    Args:
        database: where templates live; None where there is no database.
        snapshot: where the last good catalogue is kept.
        builtins: what comes with Innkeeper; the packaged templates where left out.
        timing: when to fetch again.
        clock: seconds that only go forward.
        start: runs a function in the background; None where nothing runs there.
    """

    def __init__(
        self,
        database: CatalogueSource | None,
        snapshot: SnapshotStore | None = None,
        *,
        builtins: Catalogue | None = None,
        timing: Timing = Timing(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], None] | None = _in_thread,
    ) -> None:
        self.tally = Tally()
        self.unkept: InnkeeperError | None = None
        """Why the last catalogue could not be kept as the snapshot, if it could not."""
        self._database = database
        self._snapshot = snapshot
        self._builtins = builtins
        self._timing = timing
        self._clock = clock
        self._start = start
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # one fetch after the other, so that the last one counts
        self._invalidated = 0
        self._memory: Catalogue | None = None
        self._due = 0.0  # when the catalogue is to be fetched again
        self._failures = 0
        self._fetching = False
        self._to_keep: Catalogue | None = None
        self._keeping = False
        self._all_stored = threading.Condition(self._lock)

    # -------------------------------------------------------------------------------------------------------- answering

    def resolve(self, request: ResolveRequest) -> Resolution:
        """The template for a request, from the first source that there is."""
        catalogue = self._for(request)
        answer = resolve(request, catalogue, self._builtins)
        with self._lock:
            self.tally.add(catalogue.source)
        return answer

    def _for(self, request: ResolveRequest) -> Catalogue:
        memory = self._memory
        if memory is not None:
            self._revalidate()
            return memory
        if self._database is not None and (self._failures == 0 or self._clock() >= self._due):
            try:
                catalogue = self._database.point(request)
            except InnkeeperError:
                return self.current()
            if catalogue.labelled:
                self._revalidate()
                return _replaced(catalogue, source=AnswerSource.DATABASE)
        return self.current()

    def current(self) -> Catalogue:
        """The catalogue in memory, fetched now where there is none yet. Never raises for a source that fails."""
        if self._memory is None:
            with self._turn:
                if self._memory is None:
                    self._refresh()
        memory = self._memory
        return memory if memory is not None else Catalogue(source=AnswerSource.BUILTIN, degraded=(_NO_DATABASE,))

    # --------------------------------------------------------------------------------------------------------- fetching

    def invalidate(self) -> None:
        """Say that something was published: the next resolution starts fetching, whatever was waited for."""
        with self._lock:
            self._due, self._failures = 0.0, 0
            self._invalidated += 1

    def refresh(self, *, whole: bool = False) -> Catalogue:
        """Fetch what changed, or the ``whole``, now, and wait for it. Returns the catalogue that counts from now on.

        The snapshot is kept afterwards, in the background where there is one.
        """
        with self._turn:
            return self._refresh(whole=whole)

    def settle(self, seconds: float = _SETTLING) -> bool:
        """Wait until the snapshot is kept. Tells whether it is."""
        with self._lock:
            return self._all_stored.wait_for(lambda: not self._keeping, seconds)

    def _refresh(self, *, whole: bool = True) -> Catalogue:
        before = self._invalidated
        try:
            fresh, failed = self._fetch(whole=whole), False
        except InnkeeperError as error:
            fresh, failed = self._stand_in(f"database_{error.kind.removeprefix('database_')}"), True
        self._settle(fresh, failed=failed)
        with self._lock:
            if self._invalidated != before and not failed:  # what was published meanwhile may be missing
                self._due = 0.0
        return fresh

    def _revalidate(self) -> None:
        """Start fetching in the background where it is time and nobody else does."""
        if self._clock() < self._due:
            return
        with self._lock:
            if self._fetching or self._clock() < self._due:
                return
            self._fetching = True
        if self._start is not None:
            self._start(self._fetch_in_background)

    def _fetch_in_background(self) -> None:
        try:
            self.refresh(whole=True)  # what is damaged is found by reading it
        finally:
            with self._lock:
                self._fetching = False

    def _fetch(self, *, whole: bool) -> Catalogue:
        """The catalogue of the database, or what stands in for an empty one. Raises what the database raises."""
        if self._database is None:
            return self._stand_in(_NO_DATABASE)
        memory, database = self._memory, self._database
        well = memory is not None and memory.source is AnswerSource.MEMORY and not memory.degraded
        if memory is not None and well and not whole and isinstance(database, UpdatedSource):
            fresh = database.update(memory)
        else:
            fresh = database.load()
        if not fresh.labelled:
            snapshot = self._last_snapshot()
            lost = snapshot is not None and snapshot.revision > fresh.revision
            return self._stand_in(_LOST) if lost else _replaced(fresh, degraded=(_EMPTY,))
        return _replaced(fresh, source=AnswerSource.MEMORY)

    def _settle(self, fresh: Catalogue, *, failed: bool) -> None:
        with self._lock:
            before = self._memory
            self._failures = self._failures + 1 if failed else 0
            doubled = self._timing.first_wait * 2.0 ** min(self._failures - 1, 30)
            self._due = self._clock() + (min(doubled, self._timing.longest_wait) if failed else self._timing.fresh)
            self._memory = fresh
        if fresh.source is AnswerSource.MEMORY and not fresh.degraded and not (before and before == fresh):
            self._keep_soon(fresh)

    # ------------------------------------------------------------------------------------------------------- standing in

    def _stand_in(self, reason: str) -> Catalogue:
        """What answers while the database does not: what was in memory, the snapshot, or nothing but the built-in templates."""
        memory = self._memory
        if memory is not None and memory.labelled and memory.source is AnswerSource.MEMORY and reason != _LOST:
            return _replaced(memory, degraded=(reason, _STALE))
        snapshot = self._last_snapshot()
        if snapshot is not None:
            return _replaced(snapshot, degraded=(reason, AnswerSource.SNAPSHOT.value))
        return Catalogue(source=AnswerSource.BUILTIN, degraded=(reason,))

    def _last_snapshot(self) -> Catalogue | None:
        """The last verified snapshot, if it is whole and holds anything."""
        if self._snapshot is None:
            return None
        try:
            snapshot = self._snapshot.load()
        except InnkeeperError:
            return None
        return _replaced(snapshot, source=AnswerSource.SNAPSHOT) if snapshot.labelled else None

    def _keep_soon(self, fresh: Catalogue) -> None:
        """Keep a catalogue as the snapshot: after those who wait for it have it, and not every one of many."""
        if self._snapshot is None:
            return
        with self._lock:
            self._to_keep, busy, self._keeping = fresh, self._keeping, True
        if busy:
            return
        if self._start is None:
            self._keep_all()
        else:
            self._start(self._keep_all)

    def _keep_all(self) -> None:
        """Keep the newest catalogue until there is no newer one; that it cannot be kept stops nothing."""
        while True:
            with self._lock:
                fresh, self._to_keep = self._to_keep, None
                if fresh is None or self._snapshot is None:
                    self._keeping = False
                    self._all_stored.notify_all()
                    return
            try:
                self._snapshot.store(_replaced(fresh, source=AnswerSource.DATABASE))
                self.unkept = None
            except InnkeeperError as error:
                self.unkept = error
