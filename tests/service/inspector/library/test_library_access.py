"""The library's rooms over SQLite and over PostgreSQL: the same is shown, looking writes nothing, changes are changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

from innkeeper.library.db.engine import Database
from innkeeper.library.db.tables.templates import metadata
from innkeeper.service.inspector.library.library_access import LibraryAccess
from tests.library.conftest import Fresh
from tests.service.inspector.library.stocked import ADULT, GREETER, KEY, rooms, stock
from tests.service.inspector.opened import Browser

ROOMS = ("templates", "models", "providers", "tools", "negatives", "budgets", "log", "metrics", "vault")
GREETER_AT = f"/v1/inspector/library/templates/{GREETER}"


@pytest.fixture
def stocked_url(url: str) -> str:
    """A library of its own with something in every room."""
    stock(url)
    return url


@pytest.fixture
def browser(stocked_url: str) -> Iterator[Browser]:
    """A browser in its rooms."""
    with rooms(stocked_url) as browser:
        yield browser


def _rows(url: str) -> dict[str, int]:
    """How many rows each table has."""
    with Database.open(url, create=False) as db, db.reading() as connection:
        tables = metadata.sorted_tables
        return {each.name: connection.execute(select(func.count()).select_from(each)).scalar_one() for each in tables}


def test_every_room_shows_what_is_there(stocked_url: str, browser: Browser) -> None:
    """All of them, and what a request would get; afterwards every table is as long as before."""
    before = _rows(stocked_url)
    shown: dict[str, Any] = {room: browser.json(f"library/{room}") for room in ROOMS}
    assert [(one["name"], one["published"]) for one in shown["templates"]] == [(ADULT, None), (GREETER, 2)]
    assert [row["request"] for row in shown["log"]["rows"]] == ["r3", "r2", "r1", "r0"]
    assert [name["name"] for name in shown["vault"]["names"]] == [KEY]
    assert all(shown[room] for room in ROOMS)
    asked = {"use_case": "chat", "target_model": "lantern-7b"}
    answer = browser.post("/v1/inspector/library/resolve", json=asked).json()
    assert (answer["name"], answer["version"], answer["source"]) == (GREETER, 2, "database")
    assert browser.json("library")["writable"]
    assert _rows(stocked_url) == before


def test_a_change_is_seen_by_who_looks(browser: Browser) -> None:
    """Drafted, published, rolled back; a draft of an older version is refused."""
    content = {**browser.json(f"library/templates/{GREETER}")["content"], "system_prompt": "Greet {{guest}} in verse."}
    made = browser.post(f"{GREETER_AT}/draft", json={"content": content, "base": 2}).json()
    assert (made["version"], made["versions"][-1]["state"]) == (3, "draft")
    stale = {"content": {**content, "system_prompt": "Greet {{guest}} in prose."}, "base": 2}
    assert browser.post(f"{GREETER_AT}/draft", json=stale).status_code == 409
    for call, published in (("publish", 3), ("rollback", 2)):
        reply = browser.post(f"{GREETER_AT}/{call}", json={"note": "as asked"})
        assert reply.json()["summary"]["published"] == published
        assert {one["name"]: one["published"] for one in browser.json("library/templates")}[GREETER] == published


def test_what_others_write_is_seen(stocked_url: str, browser: Browser) -> None:
    """Another program at the same database: the next look shows what it wrote."""
    assert browser.json(f"library/templates/{GREETER}")["summary"]["published"] == 2
    with LibraryAccess(stocked_url).changing() as library:
        library.authoring.publish(GREETER, 1, who="Ben")
    assert browser.json(f"library/templates/{GREETER}")["summary"]["published"] == 1


def test_a_database_without_a_library(fresh: Fresh) -> None:
    """Nothing is made in it: what comes with Innkeeper is shown, and how a library is made."""
    with rooms(fresh(bare=True)) as browser:
        view = browser.json("library")
    assert (view["source"], view["writable"]) == ("builtin", False)
    assert view["problem"]["hint"]
