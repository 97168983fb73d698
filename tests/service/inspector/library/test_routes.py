"""The library's rooms over HTTP: looking, and changing templates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from innkeeper.library.library import Library
from innkeeper.service.guard.grants import Grant, Keys
from tests.service.inspector.library.stocked import ADULT, GREETER, KEY, draft, files_of, rooms, stocked
from tests.service.inspector.opened import Browser

GREETER_AT = f"/v1/inspector/library/templates/{GREETER}"
ADMIN = Grant(scope=("inspector", "admin"))
READER = Grant(scope=("inspector",))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """A browser at a stocked library of its own."""
    with rooms(stocked(tmp_path)) as browser:
        yield browser


def _content(browser: Browser) -> dict[str, Any]:
    content: dict[str, Any] = browser.json(f"library/templates/{GREETER}")["content"]
    return content


def test_looking_changes_nothing(tmp_path: Path, browser: Browser) -> None:
    """Every room was looked at, and in the folder is what was there before, byte for byte."""
    before = files_of(tmp_path)
    shown = ("templates", "models", "providers", "tools", "negatives", "budgets", "log", "metrics", "vault")
    paths = (*(f"/{room}" for room in shown), f"/templates/{GREETER}", f"/changes/{GREETER}")
    for path in ("", *paths):
        browser.json(f"library{path}")
    for call, body in (("resolve", {"use_case": "chat"}), ("tier", {"text": "hello"})):
        assert browser.post(f"/v1/inspector/library/{call}", json=body).status_code == 200
    asked = {"content": _content(browser), "check": True}
    assert browser.post(f"{GREETER_AT}/draft", json=asked).status_code == 200
    assert files_of(tmp_path) == before


def test_a_template_is_shown_with_values_in_it(browser: Browser) -> None:
    """With the runs of its variables, their tokens, and what was given in vain; a value that does not fit is refused."""
    values = {"guest": "Ansel {{guest}}", "ghost": "x"}
    made = browser.post(f"{GREETER_AT}/render", json={"version": 1, "values": values}).json()
    assert (made["text"], made["ignored"]) == ("Greet Ansel {{guest}}.", ["ghost"])
    assert made["ranges"] == [[6, None], [21, "guest"], [22, None]]
    assert browser.post(f"{GREETER_AT}/render", json={"version": 9}).status_code == 404
    assert browser.post(f"{GREETER_AT}/render", json={"values": {"guest": {}}}).status_code == 422


def test_values_are_put_into_no_template_above_the_tier(tmp_path: Path) -> None:
    """It is not there for whoever may not see it."""
    with rooms(stocked(tmp_path), READER) as browser:
        assert browser.post(f"/v1/inspector/library/templates/{quote(ADULT)}/render", json={}).status_code == 404


def test_where_there_is_no_database(tmp_path: Path) -> None:
    """What comes with Innkeeper is shown, publishing says how to make a database, and no file is made."""
    with rooms(tmp_path / "none.db") as browser:
        view = browser.json("library")
        assert (view["source"], view["writable"]) == ("builtin", False)
        assert "db upgrade" in view["problem"]["hint"]
        name = browser.json("library/templates")[0]["name"]
        assert browser.json(f"library/templates/{name}")["content"]["system_prompt"]
        refused = browser.post(f"/v1/inspector/library/templates/{name}/publish", json={})
    assert refused.status_code == 503
    assert "db upgrade" in refused.json()["error"]["hint"]
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_made_meanwhile_is_looked_at(tmp_path: Path) -> None:
    """The room that showed what comes with Innkeeper shows the database as soon as there is one."""
    with rooms(tmp_path / "library.db") as browser:
        assert browser.json("library")["source"] == "builtin"
        stocked(tmp_path)
        assert browser.json("library")["source"] == "database"


def test_the_list_and_a_template(browser: Browser) -> None:
    """A template is listed with what is in production, and shown with its versions, moves and content."""
    listed = {one["name"]: one for one in browser.json("library/templates")}
    assert (listed[GREETER]["published"], listed[GREETER]["latest"]) == (2, 2)
    assert listed[ADULT]["published"] is None
    assert [one["name"] for one in browser.json("library/templates?search=warmly")] == [GREETER]
    view = browser.json(f"library/templates/{GREETER}?version=1")
    assert view["summary"]["title"] == "Greets whoever comes in"
    assert [(one["version"], one["state"]) for one in view["versions"]] == [(1, "older"), (2, "published")]
    assert [(one["before"], one["after"]) for one in view["moves"]] == [(None, 1), (1, 2)]
    assert view["content"]["system_prompt"] == "Greet {{guest}}."
    assert view["findings"] == []
    assert view["tokens"] > 20


def test_the_path_says_which_template(browser: Browser) -> None:
    """A word of the query that is called as a part of the path is not taken for it."""
    assert browser.json(f"library/templates/{GREETER}?name=another")["summary"]["name"] == GREETER


@pytest.mark.parametrize("name", ["a/diff", "a/draft", "a/publish/rollback", "changes", "draft"])
def test_a_template_may_be_called_as_a_call_is(tmp_path: Path, name: str) -> None:
    """It is found, and each call is about it."""
    path = stocked(tmp_path)
    with Library.open(path, watch=False) as library:
        library.authoring.create(draft("Hello, {{guest}}.", name, target="harbour-3b"))
    with rooms(path) as browser:
        at = f"library/templates/{quote(name, safe='')}"
        assert browser.json(at)["summary"]["name"] == name
        assert browser.json(at.replace("templates", "changes"))["after"]
        assert browser.post(f"/v1/inspector/{at}/publish", json={}).json()["summary"]["published"] == 1


def test_two_versions_side_by_side(browser: Browser) -> None:
    """Both as people write them."""
    changes = browser.json(f"library/changes/{GREETER}?a=1&b=2")
    assert "Greet {{guest}}." in changes["before"]
    assert "Greet {{guest}} warmly." in changes["after"]
    assert browser.get(f"/v1/inspector/library/changes/{GREETER}?a=one").status_code == 400


def test_draft_publish_and_rollback(browser: Browser) -> None:
    """A draft becomes a version, is published, and taken back to the version before; the history says why."""
    content = {**_content(browser), "system_prompt": "Greet {{guest}} in verse."}
    asked = {"content": content, "base": 2, "note": "verse"}
    made = browser.post(f"{GREETER_AT}/draft", json=asked).json()
    assert (made["version"], made["versions"][-1]["state"], made["versions"][-1]["note"]) == (3, "draft", "verse")
    assert browser.post(f"{GREETER_AT}/draft", json={**asked, "base": 3}).json()["version"] == 3
    stale = browser.post(f"{GREETER_AT}/draft", json={"content": _content(browser), "base": 2})
    assert stale.status_code == 409
    published = browser.post(f"{GREETER_AT}/publish", json={"note": "better"}).json()
    assert published["summary"]["published"] == 3
    back = browser.post(f"{GREETER_AT}/rollback", json={"note": "worse"}).json()
    assert (back["summary"]["published"], back["moves"][-1]["why"]) == (2, "worse")


def test_a_draft_says_what_is_wrong_with_it(browser: Browser) -> None:
    """Where a name is not declared, with its line; such a version is not published."""
    content = {**_content(browser), "system_prompt": "Greet {{guest}}\nand {{host}}."}
    checked = browser.post(f"{GREETER_AT}/draft", json={"content": content, "check": True}).json()
    assert [(one["code"], one["line"]) for one in checked["findings"]] == [("undeclared", 2)]
    assert browser.json(f"library/templates/{GREETER}")["summary"]["latest"] == 2
    browser.post(f"{GREETER_AT}/draft", json={"content": content})
    assert browser.post(f"{GREETER_AT}/publish", json={}).status_code == 422


def test_what_others_write_is_seen(tmp_path: Path, browser: Browser) -> None:
    """A version that another process adds is there at the next look."""
    assert browser.json(f"library/templates/{GREETER}")["summary"]["latest"] == 2
    with Library.open(tmp_path / "library.db", watch=False) as library:
        library.authoring.add_version(draft("Greet {{guest}} loudly."))
        assert browser.json(f"library/templates/{GREETER}")["summary"]["latest"] == 3
    assert browser.json(f"library/templates/{GREETER}")["summary"]["latest"] == 3


def test_what_a_key_may(tmp_path: Path) -> None:
    """Only a key with the scope ``admin`` changes templates; its name stands in the history."""
    path = stocked(tmp_path)
    with rooms(path, READER) as browser:
        assert not browser.json("library")["writable"]
        assert browser.json("library")["place"] == ""
        for call in ("publish", "rollback"):
            assert browser.post(f"{GREETER_AT}/{call}", json={}).status_code == 403
        asked: dict[str, Any] = {"content": _content(browser)}
        assert browser.post(f"{GREETER_AT}/draft", json=asked).status_code == 403
        assert browser.post(f"{GREETER_AT}/draft", json={**asked, "check": True}).status_code == 200
    with rooms(path, ADMIN) as browser:
        moved = browser.post(f"{GREETER_AT}/publish", json={"version": 1}).json()
        assert moved["moves"][-1]["who"] == f"key {Keys(KEY).name(KEY.encode())}"


def test_what_lies_above_a_key_is_not_there(tmp_path: Path) -> None:
    """A template of the adult tier is no template to a key of the general one, in whatever call."""
    adult = f"/v1/inspector/library/templates/{ADULT}"
    with rooms(stocked(tmp_path), ADMIN) as browser:
        assert ADULT not in [one["name"] for one in browser.json("library/templates")]
        assert browser.get(adult).status_code == 404
        assert browser.get(adult.replace("templates", "changes")).status_code == 404
        assert browser.post(f"{adult}/publish", json={}).status_code == 404
        content = {**_content(browser), "content_mode": "nsfw"}
        assert browser.post(f"{GREETER_AT}/draft", json={"content": content}).status_code == 404
