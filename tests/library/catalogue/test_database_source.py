"""The database as a source: the same answers as memory and snapshot, on SQLite and on PostgreSQL, and what replaces it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from innkeeper.gate.tier import Tier
from innkeeper.library.builtins import packaged_versions
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.database_source import DatabaseSnapshots, DatabaseSource, Follower, Watcher
from innkeeper.library.catalogue.resolver import Resolution, ResolveRequest, resolve
from innkeeper.library.catalogue.rows import CatalogueModel, catalogue_rows
from innkeeper.library.catalogue.snapshot import SnapshotFile, catalogue_of, snapshot_of
from innkeeper.library.catalogue.sources import Sources
from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.templates import prompt_cache_snapshot
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore, SettingsStore
from innkeeper.library.templates.publish import KeyCallers, validator
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import Labelled, MatchLevel, TemplateDraft, TemplateVersion
from innkeeper.prompt.errors import FormatError
from tests.library import drawing
from tests.library.drafts import draft
from tests.library.making import made

ASK = ResolveRequest(use_case="enhancement", job_type="image", target_model="sdxl")


def _fill(db: Database, rows: Iterable[Labelled], models: Iterable[dict[str, Any]] = ()) -> None:
    """Put labelled versions and models into a database, in one transaction."""
    store = TemplateStore(db)
    with db.transaction():
        store.create(TemplateDraft.of(made("part", "p", use_case="partial")))
        for row in rows:
            store.create(TemplateDraft.of(row.version))
            store.move_label(row.version.name, row.label, 1)
        provider = ProviderStore(db).add({"name": "p", "display_name": "P"})
        for model in models:
            ModelStore(db).add({**model, "modality": "chat", "provider_id": provider.id, "tasks": ["roleplay"]})


def _plain(answer: Resolution) -> Resolution:
    return msgspec.structs.replace(answer, source=AnswerSource.MEMORY)


def _told(answer: Resolution) -> tuple[Any, ...]:
    """An answer without what a store adds to a template (id and date)."""
    name = answer.template and answer.template.name
    return (name, answer.level, answer.matched, answer.tier_lowered, answer.reasons, answer.trace)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawing.rows, st.lists(drawing.requests, min_size=20, max_size=40), drawing.models, st.sampled_from(list(Tier)))
def test_all_sources_agree(
    fresh: Callable[[], str],
    rows: list[Labelled],
    requests: list[ResolveRequest],
    models: list[dict[str, Any]],
    ceiling: Tier,
) -> None:
    """Over random libraries: whole catalogue, point query, snapshot and the rows themselves give one answer and one trace."""
    drawn = Catalogue.build(rows, ceiling=ceiling, models=catalogue_rows(models, CatalogueModel))
    with Database.open(fresh()) as db:
        _fill(db, rows, models)
        source = DatabaseSource(db, ceiling=ceiling)
        whole = source.load()
        kept = catalogue_of(snapshot_of(whole))
        for request in requests:
            answer = _plain(resolve(request, whole))
            assert _plain(resolve(request, source.point(request))) == answer
            assert _plain(resolve(request, kept)) == answer
            assert _told(answer) == _told(resolve(request, drawn))


def test_catalogue_holds_the_rows_of_its_tables(db: Database) -> None:
    """Models, providers and negatives come along, active ones only, without dates; parts come with who pins them."""
    _fill(
        db,
        [Labelled("production", made("t", "{{> part}}", partials=(("part", 1),)))],
        [{"model_key": "m", "model_family": "f"}],
    )
    NegativeStore(db).add({"model_type": "sdxl", "negative_prompt": "blurry"})
    NegativeStore(db).add({"model_type": "sdxl", "negative_prompt": "off", "is_active": False})
    whole = DatabaseSource(db).load()
    assert [row.negative_prompt for row in whole.negatives] == ["blurry"]
    assert [row.model_key for row in whole.models] == ["m"]
    assert (whole.family_of("m"), len(whole.providers), whole.revision) == ("f", 1, db.revision())
    assert whole.version("part", 1) is not None
    assert DatabaseSource(db).point(ASK).version("part", 1) is not None
    assert catalogue_of(snapshot_of(whole)).models == whole.models


def test_one_revision(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is published while a catalogue is read is not in it, and its revision says so; the next reading has it."""
    store, source = TemplateStore(db), DatabaseSource(db)
    store.publish(draft("one"))
    before, real = db.revision(), source._templates.all_labelled

    def slow() -> tuple[Labelled, ...]:
        other = Thread(target=store.publish, args=(draft("two", target_model="wan"),))
        other.start()
        other.join()
        return real()

    monkeypatch.setattr(source._templates, "all_labelled", slow)
    whole = source.load()
    monkeypatch.undo()
    again = source.load()
    assert ([row.version.name for row in whole.labelled], whole.revision) == (["one"], before)
    assert ([row.version.name for row in again.labelled], again.revision) == (["one", "two"], db.revision())


def test_snapshots_in_the_database(db: Database) -> None:
    """The table of snapshots is a source as well: whole, verified, refused when somebody changed it."""
    kept = DatabaseSnapshots(db)
    with pytest.raises(FormatError, match="no snapshot"):
        kept.load()
    TemplateStore(db).publish(draft())
    whole = DatabaseSource(db).load()
    kept.store(whole)
    assert kept.load().labelled == whole.labelled
    with db.transaction() as connection:
        connection.execute(update(prompt_cache_snapshot).values(payload="{}"))
    with pytest.raises(FormatError, match="SHA-256"):
        kept.load()


def test_chain_over_a_database(db: Database, tmp_path: Path) -> None:
    """Asked first from rows, then from memory; closed and corrupt databases are stood in for by the snapshot."""
    TemplateStore(db).publish(draft("ours"), validate=validator(callers=KeyCallers(force=True)))
    file = SnapshotFile(tmp_path / "snapshot")
    chain = Sources(DatabaseSource(db), file, start=lambda work: work())
    assert [chain.resolve(ASK).source for _ in range(2)] == [AnswerSource.DATABASE, AnswerSource.MEMORY]
    with Database.open(tmp_path / "other.db") as other:
        (tmp_path / "other.db").write_bytes(b"not a database" * 1_000)
        answer = Sources(DatabaseSource(other), file, start=lambda work: work()).resolve(ASK)
    assert (answer.source, answer.template and answer.template.name, answer.degraded) == (
        AnswerSource.SNAPSHOT,
        "ours",
        True,
    )


def test_adult_rows_wait_for_the_operator(db: Database) -> None:
    """A published adult row answers nobody until the operator's policy raises the ceiling, and then only adult requests."""
    TemplateStore(db).publish(draft("up", content_mode="nsfw"))
    up = msgspec.structs.replace(ASK, content_mode=Tier.NSFW)
    closed, opened = DatabaseSource(db), DatabaseSource(db, ceiling=Tier.NSFW)
    for look in (DatabaseSource.load, lambda source: source.point(up)):
        assert resolve(up, look(closed)).level is MatchLevel.BUILTIN
        assert resolve(ASK, look(opened)).level is MatchLevel.BUILTIN
        assert resolve(up, look(opened)).level is MatchLevel.EXACT


def test_built_in_templates_fit_the_database(db: Database) -> None:
    """What comes with Innkeeper can be stored and published as it is, and answers as the library's own."""
    store = TemplateStore(db)
    known: dict[tuple[str, int], TemplateVersion] = {}
    for version in packaged_versions():
        made_of = store.create(TemplateDraft.of(version))
        known[made_of.ref] = made_of
        if version.key.content_mode is Tier.SFW:
            check = validator(lookup=lambda name, number: known.get((name, number)), window=8_192)
            store.move_label(version.name, "production", 1, validate=check)
    answer = resolve(ASK, DatabaseSource(db).load())
    assert answer.template is not None
    assert (answer.template.name, answer.level) == ("enhancement.sdxl.qwen_instruct.sfw", MatchLevel.ANY_ENHANCER)


def test_keeping_a_snapshot_is_no_change(db: Database) -> None:
    """Writing the snapshot into the database does not count as a publication, which would never end."""
    TemplateStore(db).publish(draft())
    before = db.revision()
    chain = Sources(DatabaseSource(db), DatabaseSnapshots(db))
    chain.refresh()
    assert chain.settle()
    assert chain.unkept is None
    assert (db.revision(), len(DatabaseSnapshots(db).load())) == (before, 1)


FOLLOWER_ASK = ResolveRequest(use_case="enhancement", job_type="image", target_model="sdxl")


class Calls:
    """Counts calls and lets others wait for them."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def reach(self, count: int) -> bool:
        """Whether there were so many calls, within a while."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count >= count, timeout=120)


def following(database: Callable[[], Database], calls: Callable[[], object]) -> Follower:
    """A follower that has begun."""
    follower = Follower(database, calls)
    follower.start()
    return follower


def test_changes_are_followed(db: Database) -> None:
    """It calls once at the start and once after a change, and no more after it was stopped."""
    calls = Calls()
    follower = following(lambda: db, calls)
    assert calls.reach(1)
    SettingsStore(db).set("a", 1)
    assert calls.reach(2)
    follower.stop()
    SettingsStore(db).set("a", 2)
    assert calls.count == 2


def test_it_comes_back(db: Database) -> None:
    """After the database was away it goes on following, and calls, since something may have changed."""
    calls, failures = Calls(), [DatabaseUnreachableError("away")]

    def database() -> Database:
        if failures:
            raise failures.pop()
        return db

    follower = following(database, calls)
    assert calls.reach(1)
    follower.stop()


def test_it_may_be_stopped_from_inside(db: Database) -> None:
    """Who is called may stop it."""
    done = threading.Event()

    def stop() -> None:
        follower.stop()
        done.set()

    follower = Follower(lambda: db, stop)
    follower.start()
    assert done.wait(120)
    follower.stop()


def test_one_that_never_started_can_be_stopped(db: Database) -> None:
    """Stopping does nothing where nothing runs, and nothing is fetched by it."""
    calls = Calls()
    Follower(lambda: db, calls).stop()
    assert calls.count == 0


def test_a_publication_is_seen_by_all(url: str) -> None:
    """What one process publishes another has in memory, without being asked in between."""
    with Database.open(url) as writer, Database.open(url) as reader:
        chain = Sources(DatabaseSource(reader))
        TemplateStore(writer).publish(draft("first"))
        fetched = Calls()

        def refresh() -> None:
            chain.refresh()
            fetched()

        follower = following(lambda: reader, refresh)
        assert fetched.reach(1)
        TemplateStore(writer).publish(draft("first", "Other {{subject}}."))
        assert fetched.reach(2)
        version = chain.resolve(FOLLOWER_ASK).template
        follower.stop()
    assert version is not None
    assert version.version == 2


PROMPTLY = 2.0
"""Seconds within which a change is visible everywhere: a promise."""


def test_a_change_of_another_process_is_seen_within_two_seconds(db: Database, url: str) -> None:
    """What another process publishes wakes who waits, with the new revision."""
    code = (
        "import sys, time; from innkeeper.library.db.engine import Database\n"
        "from innkeeper.library.models.stores import SettingsStore\n"
        "with Database.open(sys.argv[1]) as db:\n"
        "    SettingsStore(db).set('a', 1); print(time.time(), flush=True)\n"
    )
    with Watcher(db) as watcher:
        seen = watcher.seen
        with subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True) as other:
            found = watcher.wait(60)
            at = time.time()
            assert other.stdout is not None
            published = float(other.stdout.readline())
        assert found is not None
        assert found > seen
        assert at - published < PROMPTLY


def test_nothing_happens(db: Database) -> None:
    """Without a change, waiting ends after its time, and a look says no."""
    with Watcher(db, poll=0.01) as watcher:
        assert not watcher.changed()
        assert watcher.wait(0.05) is None


def test_a_change_before_waiting_is_not_lost(db: Database) -> None:
    """What changed between two calls is told by the next one, once."""
    with Watcher(db) as watcher:
        assert watcher.wait(0) is None
        SettingsStore(db).set("a", 1)
        assert watcher.wait(60) == db.revision()
        assert watcher.wait(0) is None


def test_close_ends_the_waiting_of_another_thread(db: Database) -> None:
    """Who waits is let go when the watcher is closed, and it stays closed."""
    watcher, answers = Watcher(db, poll=0.01), []
    thread = threading.Thread(target=lambda: answers.append(watcher.wait(60)))
    thread.start()
    watcher.close()
    thread.join(120)
    assert answers == [None]
    assert watcher.wait(60) is None


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_a_lost_connection_is_made_anew(db: Database) -> None:
    """A server that cut the watcher's connection costs an error at most; changes are seen afterwards."""
    with Watcher(db, poll=0.01) as watcher:
        watcher.wait(0)
        with Database.open(db.target.url) as other, other.transaction() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        for _ in range(3):
            try:
                watcher.wait(0.2)
            except DatabaseUnreachableError:
                continue
        SettingsStore(db).set("a", 1)
        assert watcher.wait(60) == db.revision()


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
@pytest.mark.parametrize("error", [ConnectionResetError("reset"), BrokenPipeError("gone"), OSError("timed out")])
def test_what_a_broken_socket_raises_is_no_error_of_the_watcher(
    db: Database, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """The driver lets the socket's own errors through; the watcher listens anew after each."""
    with Watcher(db, poll=0.01) as watcher:
        watcher.wait(0)
        driver = watcher._listening.connection.driver_connection  # type: ignore[union-attr]
        monkeypatch.setattr(type(driver), "execute_simple", Mock(side_effect=error))
        watcher._take(watcher._listening)  # type: ignore[arg-type]
        monkeypatch.undo()
        SettingsStore(db).set("a", 1)
        assert watcher.wait(60) == db.revision()
