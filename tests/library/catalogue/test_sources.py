"""Sources: who answers when, with what flags, and that all of them answer alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.resolver import Resolution, ResolveRequest, resolve
from innkeeper.library.catalogue.rows import CatalogueModel, catalogue_rows
from innkeeper.library.catalogue.snapshot import SnapshotFile, catalogue_of, snapshot_of
from innkeeper.library.catalogue.sources import CatalogueSource, Sources, Timing
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.templates.template import Labelled, MatchLevel
from innkeeper.prompt.errors import FormatError, InnkeeperError
from tests.library import drawing
from tests.library.making import catalogue, made

ASK = ResolveRequest(use_case="chat")
OURS = made("ours", "x", use_case="chat")


class Kept:
    """A snapshot in memory."""

    def __init__(self, kept: Catalogue | None = None, *, refuses: bool = False) -> None:
        self.kept, self.refuses = kept, refuses

    def load(self) -> Catalogue:
        if self.kept is None:
            raise FormatError("none")
        return self.kept

    def point(self, _request: ResolveRequest) -> Catalogue:
        return self.load()

    def store(self, catalogue: Catalogue) -> None:
        if self.refuses:
            raise DatabaseUnreachableError("disk")
        self.kept = catalogue


class Shelf:
    """A database in memory that can be made to fail, and counts how often it is read whole."""

    def __init__(self, kept: Catalogue) -> None:
        self.kept = kept
        self.error: InnkeeperError | None = None
        self.loads = 0

    def load(self) -> Catalogue:
        self.loads += 1
        if self.error is not None:
            raise self.error
        return self.kept

    def point(self, request: ResolveRequest) -> Catalogue:
        if self.error is not None:
            raise self.error
        rows = [row for row in self.kept.labelled if row.version.key.use_case == request.use_case]
        return Catalogue.build(rows, ceiling=self.kept.ceiling, revision=self.kept.revision)


class Bench:
    """A chain with a clock and a background that the test moves."""

    def __init__(self, shelf: CatalogueSource | None, snapshot: Any = None, **timing: float) -> None:
        self.now = 100.0
        self.waiting: list[Callable[[], None]] = []
        self.chain = Sources(
            shelf, snapshot, timing=Timing(**timing), clock=lambda: self.now, start=self.waiting.append
        )

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def ask(self, request: ResolveRequest = ASK) -> Resolution:
        return self.chain.resolve(request)


def test_first_answer_by_a_point_query_then_memory() -> None:
    """Before the catalogue is there, the few matching rows answer; then memory does, without another look."""
    shelf = Shelf(catalogue(OURS, revision=3))
    bench = Bench(shelf)
    first = bench.ask()
    assert (first.source, shelf.loads, first.revision) == (AnswerSource.DATABASE, 0, 3)
    bench.run()
    assert [bench.ask().source for _ in range(3)] == [AnswerSource.MEMORY] * 3
    assert (shelf.loads, bench.waiting, first.degraded) == (1, [], False)


def test_steady_work_hits_memory() -> None:
    """On a steady workload at least 95 % of the answers come from memory."""
    bench = Bench(Shelf(catalogue(OURS)), fresh=60)
    for second in range(1_000):
        bench.now = 100.0 + second / 10
        bench.ask()
        bench.run()
    assert (bench.chain.tally.total, bench.chain.tally.hit_rate >= 0.95) == (1_000, True)
    assert Sources(None).tally.hit_rate == 0


def test_stale_while_revalidate_with_one_flight() -> None:
    """An old catalogue goes on answering while exactly one fetch is under way; then the new one does."""
    shelf = Shelf(catalogue(OURS, revision=1))
    bench = Bench(shelf, fresh=10)
    bench.chain.current()
    shelf.kept = catalogue(OURS, revision=2)
    bench.now += 11
    assert [bench.ask().revision for _ in range(5)] == [1] * 5
    assert len(bench.waiting) == 1
    bench.run()
    assert (bench.ask().revision, shelf.loads) == (2, 2)


def test_publishing_is_seen_at_once() -> None:
    """After `invalidate` the next question starts a fetch, however fresh the catalogue is."""
    shelf = Shelf(catalogue(OURS, revision=1))
    bench = Bench(shelf)
    bench.chain.current()
    shelf.kept = catalogue(OURS, revision=2)
    bench.chain.invalidate()
    assert bench.ask().revision == 1
    bench.run()
    assert bench.ask().revision == 2


def test_publishing_during_a_fetch_is_not_lost() -> None:
    """What was published while a fetch was under way is fetched with the next question."""

    class Busy(Shelf):
        def load(self) -> Catalogue:
            found = super().load()
            if self.loads == 1:
                self.kept = catalogue(OURS, revision=2)
                bench.chain.invalidate()
            return found

    bench = Bench(Busy(catalogue(OURS, revision=1)))
    bench.chain.refresh()
    assert bench.ask().revision == 1
    bench.run()
    assert bench.ask().revision == 2


def test_failures_wait_longer_and_longer() -> None:
    """While the database fails, what was in memory answers, flagged, and tries are 1, 2, 4, 4 seconds apart."""
    shelf = Shelf(catalogue(OURS))
    bench = Bench(shelf, fresh=10, first_wait=1, longest_wait=4)
    bench.chain.current()
    shelf.error = DatabaseUnreachableError("down")
    bench.now += 10
    tries = []
    for _ in range(60):
        answer = bench.ask()
        tries += [bench.now] * len(bench.waiting)
        bench.run()
        bench.now += 0.25
    assert [round(later - earlier, 2) for earlier, later in pairwise(tries)][:4] == [1, 2, 4, 4]
    assert (answer.source, answer.reasons, answer.degraded) == (
        AnswerSource.MEMORY,
        ("database_unreachable", "stale"),
        True,
    )
    shelf.error = None
    bench.now += 4
    bench.ask()
    bench.run()
    assert bench.ask().degraded is False


def test_database_down_snapshot_answers() -> None:
    """Without a database and without memory the last snapshot answers with the same template, flagged."""
    shelf, kept = Shelf(catalogue()), Kept(catalogue(OURS))
    shelf.error = DatabaseUnreachableError("down")
    answer = Bench(shelf, kept).ask()
    assert (answer.template, answer.source) == (OURS, AnswerSource.SNAPSHOT)
    assert answer.reasons == ("database_unreachable", "snapshot")


def test_database_down_no_snapshot_builtins_answer() -> None:
    """With nothing at all what comes with Innkeeper answers, flagged twice: why, and that it is built in."""
    shelf = Shelf(catalogue())
    shelf.error = DatabaseUnreachableError("down")
    answer = Bench(shelf, Kept()).ask()
    assert (answer.level, answer.source) == (MatchLevel.BUILTIN, AnswerSource.BUILTIN)
    assert answer.reasons == ("database_unreachable", "builtin")


def test_no_database() -> None:
    """A chain without a database lives on its snapshot, or on what is built in."""
    assert Bench(None, Kept(catalogue(OURS))).ask().reasons == ("no_database", "snapshot")
    assert Bench(None).ask().reasons == ("no_database", "builtin")


def test_empty_database() -> None:
    """A new, empty database is answered for by what is built in, and says so."""
    answer = Bench(Shelf(catalogue())).ask()
    assert (answer.level, answer.reasons) == (MatchLevel.BUILTIN, ("database_empty", "builtin"))


def test_lost_database() -> None:
    """An empty database that is older than the snapshot was lost: the snapshot answers."""
    answer = Bench(Shelf(catalogue(revision=0)), Kept(catalogue(OURS, revision=9))).ask()
    assert (answer.template, answer.reasons) == (OURS, ("database_lost", "snapshot"))


def test_withdrawn_templates_do_not_come_back() -> None:
    """Who took the last label off is not overruled by a snapshot from before."""
    answer = Bench(Shelf(catalogue(revision=10)), Kept(catalogue(OURS, revision=9))).ask()
    assert (answer.level, answer.reasons) == (MatchLevel.BUILTIN, ("database_empty", "builtin"))


def test_lost_database_after_memory() -> None:
    """A database that is lost while a catalogue is in memory is noticed too."""
    shelf, kept = Shelf(catalogue(OURS, revision=5)), Kept()
    bench = Bench(shelf, kept)
    bench.chain.current()
    bench.run()
    shelf.kept = catalogue(revision=0)
    bench.chain.refresh()
    assert bench.ask().reasons == ("database_lost", "snapshot")


def test_point_query_fails() -> None:
    """A database that fails on the first question is asked once more as a whole, and then stood in for."""
    shelf = Shelf(catalogue(OURS))
    shelf.error = DatabaseUnreachableError("down")
    bench = Bench(shelf)
    bench.ask()
    assert shelf.loads == 1


def test_snapshot_is_kept_by_revision() -> None:
    """Each new revision becomes the snapshot, once; where it cannot be kept, answers go on and the reason is told."""
    shelf, kept = Shelf(catalogue(OURS, revision=1)), Kept()
    bench = Bench(shelf, kept)
    bench.chain.refresh()
    bench.run()
    first = kept.kept
    bench.chain.refresh()
    bench.run()
    assert kept.kept is first
    assert first is not None
    assert first.revision == 1
    kept.refuses, shelf.kept = True, catalogue(OURS, revision=2)
    bench.chain.refresh()
    bench.run()
    assert (bench.ask().revision, bench.chain.unkept is not None) == (2, True)


def test_real_thread() -> None:
    """Left to itself the chain fetches in a thread of its own."""
    chain = Sources(Shelf(catalogue(OURS)))
    assert chain.resolve(ASK).source is AnswerSource.DATABASE
    for _ in range(1_000):
        if chain.resolve(ASK).source is AnswerSource.MEMORY:
            break
    assert chain.current().source is AnswerSource.MEMORY


def _plain(answer: Resolution) -> Resolution:
    return msgspec.structs.replace(answer, source=AnswerSource.MEMORY)


@given(drawing.rows, drawing.requests, drawing.models)
def test_all_sources_agree(rows: list[Labelled], request: ResolveRequest, models: list[dict[str, Any]]) -> None:
    """Memory, snapshot and point query give the same answer with the same trace; only the source differs."""
    parts = [made("part", "p")]
    whole = Catalogue.build(
        rows, pinned=parts, ceiling=Tier.NSFW, models=catalogue_rows(models, CatalogueModel), revision=4
    )
    answer = _plain(resolve(request, whole))
    assert _plain(resolve(request, catalogue_of(snapshot_of(whole)))) == answer
    few = [row for row in rows if row.label == request.label and row.version.key.use_case == request.use_case]
    point = Catalogue.build(
        few, pinned=parts, ceiling=Tier.NSFW, models=catalogue_rows(models, CatalogueModel), revision=4
    )
    assert _plain(resolve(request, point)) == answer


def test_snapshot_file_in_the_chain(tmp_path: Path) -> None:
    """What one process keeps in a file another starts from when the database is gone."""
    file = SnapshotFile(tmp_path / "snapshot.json")
    bench = Bench(Shelf(catalogue(OURS, revision=2)), file)
    bench.chain.refresh()
    bench.run()
    answer = Bench(None, file).ask()
    assert (answer.template, answer.revision) == (OURS, 2)


def test_who_waited_for_the_first_fetch_does_not_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several that need the first catalogue at once, one fetches and the others take what it got."""
    shelf = Shelf(catalogue(OURS))
    chain = Sources(shelf)

    class Turn:
        """A lock that somebody else held, who fetched."""

        def __enter__(self) -> None:
            chain._refresh()

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(chain, "_turn", Turn())
    assert len(chain.current()) == 1
    assert shelf.loads == 1


class Changing(Shelf):
    """A database that reads less where something is at hand."""

    updates = 0

    def update(self, before: Catalogue) -> Catalogue:
        self.updates += 1
        if self.error is not None:
            raise self.error
        return self.kept


def test_only_what_changed_is_read_anew() -> None:
    """Once a catalogue is in memory a change reads less; after a failure, and once it is too old, all of it is read."""
    shelf = Changing(catalogue(OURS, revision=1))
    bench = Bench(shelf, Kept())
    bench.chain.refresh()
    bench.chain.refresh()
    assert (shelf.loads, shelf.updates) == (1, 1)
    shelf.error = DatabaseUnreachableError("away")
    assert bench.chain.refresh().degraded
    shelf.error = None
    bench.chain.refresh()
    assert (shelf.loads, shelf.updates) == (2, 2)
    bench.now += 1_000
    bench.ask()
    bench.run()
    assert (shelf.loads, shelf.updates) == (3, 2)


def test_of_many_changes_the_last_is_kept() -> None:
    """While one snapshot waits to be written, a newer one takes its place."""
    shelf, kept = Shelf(catalogue(OURS, revision=1)), Kept()
    bench = Bench(shelf, kept)
    for revision in (1, 2, 3):
        shelf.kept = catalogue(OURS, revision=revision)
        bench.chain.refresh()
    assert not bench.chain.settle(0.01)
    assert len(bench.waiting) == 1
    bench.run()
    assert bench.chain.settle()
    assert kept.kept is not None
    assert kept.kept.revision == 3
