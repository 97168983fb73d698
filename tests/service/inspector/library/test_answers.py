"""Which template answers, and which tier a text gets, as the inspector shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.library.library import Library
from innkeeper.library.tiers.documents import PolicyStore
from innkeeper.service.guard.grants import Grant
from innkeeper.service.inspector.library.answers import MAX_TIER_TEXT
from tests.service.inspector.library.stocked import GREETER, files_of, rooms, stocked
from tests.service.inspector.opened import Browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stocked library."""
    made = tmp_path_factory.mktemp("library")
    stocked(made)
    return made


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    """A browser in its rooms."""
    with rooms(folder / "library.db") as browser:
        yield browser


def _asked(browser: Browser, call: str, **body: Any) -> Any:
    reply = browser.post(f"/v1/inspector/library/{call}", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_the_path_to_a_template(browser: Browser) -> None:
    """Each level that was tried stands there with the key that it looks for, and the one that answered."""
    view = _asked(browser, "resolve", use_case="chat", target_model="lantern-7b", enhancer_model="quill")
    assert [(one["level"], one["outcome"]) for one in view["steps"]] == [
        ("exact", "nothing"),
        ("any_enhancer", "found"),
    ]
    assert view["steps"][0]["candidate"] == "chat / any / lantern-7b / quill / sfw"
    assert (view["name"], view["version"], view["source"]) == (GREETER, 2, "database")


def test_nothing_answers(browser: Browser) -> None:
    """That is no error here: the path says what was looked for."""
    view = _asked(browser, "resolve", use_case="knitting")
    assert (view["name"], view["level"], view["reasons"]) == (None, "unavailable", ["not_found"])


def test_a_higher_tier_is_not_had_for_the_asking(browser: Browser) -> None:
    """Whatever a client says: without the operator's policy and word, the general tier is granted, and why is told."""
    view = _asked(browser, "resolve", use_case="chat", target_model="lantern-7b", tier="nsfw")
    assert (view["requested"], view["granted"]) == ("nsfw", "sfw")
    assert {one["code"] for one in view["tier_reasons"]} == {"ceiling:account", "ceiling:policy"}
    assert all(one["message"] for one in view["tier_reasons"])
    for more in ({"account": "nsfw"}, {"verified": True}):
        body = {"use_case": "chat", "tier": "nsfw", **more}
        assert browser.post("/v1/inspector/library/resolve", json=body).status_code == 400


def test_the_operator_grants_it(tmp_path: Path) -> None:
    """With a policy that has the tier and a key whose holder was verified, it is granted; to another key it is not."""
    path = stocked(tmp_path)
    with Library.open(path, watch=False) as library:
        store = PolicyStore(library.db)
        store.add("default", {"adult_enabled": True}, who="Ann")
        store.activate("default", 1, who="Ann")
    for tier in ("nsfw", "sfw"):
        grant = Grant(scope=("inspector",), tier=tier)
        with rooms(path, grant) as browser:
            assert _asked(browser, "resolve", use_case="chat", tier="nsfw")["granted"] == tier


def test_why_a_text_got_its_tier(folder: Path, browser: Browser) -> None:
    """Found words are told by their places, with the policy's rows; nothing is recorded."""
    before = files_of(folder)
    text = "The keeper reads an erotic novel, porn at its worst."
    view = _asked(browser, "tier", text=text, tier="nsfw")
    assert view["granted"] == "sfw"
    words = {text[one["start"] : one["end"]].lower() for one in view["spans"]}
    assert "porn" in words
    assert {one["category"] for one in view["scores"]} >= {"sexual"}
    assert {"side": "account", "tier": "sfw"} in view["ceilings"]
    assert any(row["absolute"] for row in view["policy"])
    assert any(row["category"] == "sexual" and row["block"] for row in view["policy"])
    assert "user_text" in view["entries"]
    assert files_of(folder) == before


def test_a_harmless_text(browser: Browser) -> None:
    """It passes, and nothing is found in it."""
    view = _asked(browser, "tier", text="The lamp is lit.", entry="card", rating="sfw")
    assert (view["decision"], view["passed"], view["spans"], view["reasons"]) == ("allow", True, [], [])
    assert {"side": "character", "tier": "sfw"} in view["ceilings"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"text": "a", "entry": "nowhere"}, 404, id="no such entry"),
        pytest.param({"text": "a" * (MAX_TIER_TEXT + 1)}, 413, id="too long"),
        pytest.param({"text": "a", "policy": {"adult_enabled": True}}, 400, id="a policy of one's own"),
    ],
)
def test_what_is_not_judged(browser: Browser, body: dict[str, Any], status: int) -> None:
    """A place that there is not, a text beyond the limit, and fields that would switch something off."""
    assert browser.post("/v1/inspector/library/tier", json=body).status_code == status
