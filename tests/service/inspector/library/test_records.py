"""The log, its figures and the names in the vault, as the inspector shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from innkeeper.library.library import Library
from innkeeper.library.log.logs import LogStore
from innkeeper.service.guard.grants import Grant
from innkeeper.service.inspector.library import records
from innkeeper.service.inspector.library.library_access import LibraryAccess
from tests.service.inspector.library.stocked import GREETER, KEY, SECRET, rooms, stocked
from tests.service.inspector.opened import Browser

NOW = datetime(2026, 10, 6, 13, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stocked library."""
    return stocked(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def browser(path: Path) -> Iterator[Browser]:
    """A browser in its rooms."""
    with rooms(path) as browser:
        yield browser


def test_the_newest_calls(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come page by page, and those of one status alone."""
    monkeypatch.setattr(records, "LOG_PAGE", 3)
    first = browser.json("library/log")
    assert [row["request"] for row in first["rows"]] == ["r3", "r2", "r1"]
    second = browser.json(f"library/log?before={first['next']}")
    assert ([row["request"] for row in second["rows"]], second["next"]) == (["r0"], None)
    assert [row["request"] for row in browser.json("library/log?status=error")["rows"]] == ["r1"]


def test_figures_by_time(path: Path) -> None:
    """Every stretch of time is there, with exact percentiles; nothing where nobody called."""
    room = LibraryAccess(str(path))
    view = room.look(lambda contents: records.metrics(contents, 24, NOW))
    room.close()
    assert (view.seconds, len(view.buckets)) == (1800, 48)
    assert view.buckets[-1].start == "2026-10-06T13:00:00.000000Z"
    called = {one.start[11:16]: (one.calls, one.p50, one.errors, one.blocked) for one in view.buckets if one.calls}
    assert called == {"10:30": (1, 10, 0, 0), "11:30": (1, 11, 1, 0), "12:30": (2, 12, 0, 1)}
    assert (view.all.calls, view.all.p50, view.all.p99, view.all.cost) == (4, 11, 12, 2)
    assert [(one.template, one.calls, one.input_tokens) for one in view.templates] == [(GREETER, 4, 28)]
    assert not view.truncated


def test_more_calls_than_are_looked_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest are, and the reply says so."""
    monkeypatch.setattr(records, "MAX_METRIC_CALLS", 2)
    room = LibraryAccess(str(path))
    view = room.look(lambda contents: records.metrics(contents, 24, NOW))
    room.close()
    assert (view.truncated, view.all.calls, view.all.p50) == (True, 2, 12)


@pytest.mark.parametrize("hours", [0, 1, 5, 24, 168, 720, 10**9])
def test_charts_are_of_a_size_that_can_be_seen(hours: int, tmp_path: Path) -> None:
    """However many hours: no more stretches of time than fit a chart."""
    room = LibraryAccess(str(tmp_path / "none.db"))
    view = room.look(lambda contents: records.metrics(contents, hours, NOW))
    assert 1 <= len(view.buckets) <= 60
    assert view.hours <= records.MAX_HOURS


def test_the_vault_shows_names_alone(path: Path, browser: Browser) -> None:
    """Neither a value, nor its length, nor anything it is sealed as, is in any reply."""
    reply = browser.get("/v1/inspector/library/vault")
    (name,) = reply.json()["names"]
    assert (name["name"], name["scope"], name["is_set"], name["changed_by"]) == (KEY, ["lantern"], True, "Ann")
    assert name["created"]
    assert name["last_used"]
    with Library.open(path, read_only="traceless", create=False, watch=False) as library:
        sealed = library.vault._store.ciphertext(KEY)
        key = library.vault._store.get(KEY).key_id
    calls = ("library", "library/vault", "library/providers", "library/tools", "library/log", "library/metrics")
    told = "\n".join(browser.get(f"/v1/inspector/{call}").text for call in calls)
    digests = (sha256(SECRET.encode()).hexdigest(), sha256(sealed).hexdigest())
    for hidden in (SECRET, key, sealed.hex(), *digests):
        assert hidden not in told
    assert str(len(SECRET)) not in json.dumps([one for one in name.values() if isinstance(one, int)])


@pytest.mark.parametrize("room", ["log", "metrics", "vault"])
def test_they_are_for_administrators(path: Path, room: str) -> None:
    """A key without the scope ``admin`` sees nothing of what others did."""
    with rooms(path, Grant(scope=("inspector",))) as browser:
        assert browser.get(f"/v1/inspector/library/{room}").status_code == 403
        assert browser.json("library")["counts"]["calls"] == 0


def test_pages_of_the_log(path: Path) -> None:
    """Those before an id, newest first."""
    with Library.open(path, read_only="traceless", create=False, watch=False) as library:
        store = LogStore(library.db)
        newest = [row.id for row in store.newest()]
        assert [row.id for row in store.newest(before=newest[1])] == newest[2:]
