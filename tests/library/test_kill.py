"""Writers are killed while they write: nothing acknowledged is lost, nothing half-written is left."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.db.queries import query
from innkeeper.library.templates.store import TemplateStore
from tests import shared
from tests.library.drafts import draft

KILLS = {"sqlite": 1_000, "postgresql": 100}
"""A file is ours to keep whole; a server has a process of its own, and only our side of the wire can be killed."""

NURSERIES = 4
SHORT = 50
"""So much shorter it is where it does not stand for endurance."""


@pytest.mark.parametrize("part", [SHORT, pytest.param(1, marks=pytest.mark.endurance)])
def test_kill_nine_loses_nothing(url: str, dialect: str, part: int) -> None:
    """`kill -9` at any moment of publishing and logging: old or new, never between, and all that was said is there."""
    kills = KILLS[dialect] // NURSERIES // part
    command = [sys.executable, "-m", "tests.library.killing", url, str(kills)]
    started = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True, cwd=shared.ROOT)
        for seed in range(1, NURSERIES + 1)
    ]
    said: list[str] = []
    for process in started:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        said += json.loads(out)
    assert [line for line in said if line.startswith("x")] == []
    acknowledged = [line.split(" ") for line in said]
    writers = {line[-1].partition(".")[0] for line in acknowledged}
    assert len(writers) == (kills + 1) * NURSERIES  # each has written, and so have the nurseries
    with Database.open(url) as db:
        assert_kept(db, acknowledged)
        assert_whole(db)
        assert TemplateStore(db).publish(draft("afterwards", job_type="afterwards")).version == 1


def assert_kept(db: Database, acknowledged: list[list[str]]) -> None:
    """Every acknowledged version and log row is there, with its content."""
    everything = 10**9
    versions = query(
        db,
        "SELECT t.name, v.version, v.note, v.system_prompt FROM template_versions v JOIN templates t ON t.id = v.template_id",
        limit=everything,
    )
    found = {(name, version): (note, prompt) for name, version, note, prompt in versions.rows}
    logged = dict(query(db, "SELECT id, request_id FROM enhancement_logs", limit=everything).rows)
    for kind, *rest in acknowledged:
        if kind == "v":
            name, version, mark = rest
            assert found[name, int(version)] == (mark, f"text of {mark} " * 40)
        else:
            assert logged[int(rest[0])] == rest[1]


def assert_whole(db: Database) -> None:
    """A version, its label, its history and its audit event are there together, and numbers have no holes."""
    store = TemplateStore(db)
    audited = Counter(query(db, "SELECT actor FROM audit_events", limit=10**9).rows)
    for entry in store.list():
        versions, events = store.versions(entry.name), store.history(entry.name)
        assert [version.version for version in versions] == list(range(1, entry.latest_version + 1))
        assert [event.to_version for event in events] == [version.version for version in versions]
        assert [event.from_version for event in events] == [None, *(event.to_version for event in events[:-1])]
        assert [event.who for event in events] == [version.note for version in versions]
        assert all(audited[event.who,] == 1 for event in events)
        assert entry.labels == {"production": entry.latest_version}
    if db.dialect == "sqlite":
        with db.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
