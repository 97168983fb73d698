"""The inspector over HTTP and its socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import WebSocketTestSession

from innkeeper.service.inspector.library.library_access import LibraryAccess
from innkeeper.service.inspector.session.messages import EngineCall, EngineReply
from innkeeper.service.inspector.session.session import WorkspaceSession
from tests.service.inspector.opened import EXAMPLES, Browser, answer_of, browser_of, example_session, session_of


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser at the packaged example, with what comes with Innkeeper for a library."""
    room = LibraryAccess(str(tmp_path_factory.mktemp("library") / "none.db"))
    with browser_of(example_session(), room) as browser:
        yield browser


def test_the_example_is_a_whole_workspace(browser: Browser) -> None:
    """What comes with Innkeeper is told by its content, and what belongs together is used."""
    view = browser.json("workspace")
    kinds = {file["name"]: (file["kind"], file["used"]) for file in view["files"]}
    assert kinds["wenna.png"] == ("character", True)
    assert kinds["larks.lorebook.json"] == ("lorebook", True)
    assert kinds["wenna.chat.jsonl"] == ("chat", True)
    assert kinds["tobin.json"] == ("character", False)
    assert kinds["profile.toml"][0] == "profile"
    assert view["turns"] == 3


def test_pieces_lead_to_the_place_that_they_came_from(browser: Browser) -> None:
    """A text of the card points to its field, one of an entry to the entry, one of the chat to the message."""
    inspection = browser.json("inspection")
    places = {(one["asset"], tuple(one["path"])) for one in inspection["origins"]}
    assert ("character", ("data", "description")) in places
    assert ("history", ("messages", 0, "mes")) in places
    assert any(asset == "lorebook" and path[-1] == "content" for asset, path in places)
    texts = ["".join(piece["text"] for piece in message["pieces"]) for message in inspection["messages"]]
    assert texts[-2] == "Is the reef safe tonight?"
    assert sum(group["tokens"] for group in inspection["groups"]) == inspection["tokens"]["used"]


def test_a_verdict_says_where_its_key_is(browser: Browser) -> None:
    """The place of a key is in the message as it is written, without the name that was searched before it."""
    fired = next(one for one in browser.json("inspection")["verdicts"] if one["key"] == "reef")
    assert fired["fired"]
    assert fired["at"] == {"where": "chat", "message": None, "start": 7, "end": 11}
    assert fired["pass"] == 1
    assert fired["path"][:2] == ["data", "character_book"]


def test_a_keystroke_is_answered_with_what_changed(browser: Browser) -> None:
    """After the first state of a connection, lists come as their changes."""
    card = browser.id_of("wenna.png")
    with browser.live() as live:
        live.send_text(json.dumps({"serial": 1}))
        first = answer_of(live)
        assert first["serial"] == 1
        assert len(first["inspection"]["messages"]) > 10
        edit = {"file": card, "path": ["data", "personality"], "value": "loud"}
        live.send_text(json.dumps({"serial": 2, "edits": [edit]}))
        second = answer_of(live)
    assert second["serial"] == 2
    changed = second["inspection"]["messages_changed"]["changed"]
    assert "loud" in json.dumps(changed)
    assert len(changed) < 4
    assert second["took_ms"] >= 0
    assert [file["changed"] for file in second["files"] if file["id"] == card] == [True]
    browser.post(f"/v1/inspector/files/{card}/revert")
    assert not next(file for file in browser.json("workspace")["files"] if file["id"] == card)["changed"]


def test_the_description_has_every_call(browser: Browser) -> None:
    """Each path of the API with its methods, and every schema that one of them names."""
    told = browser.json("openapi.json")
    routes = {
        (route.path.replace(":path}", "}"), method.lower())
        for route in browser.inspector.routes
        if isinstance(route, Route) and route.path.startswith("/v1/inspector/")
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {(path, method) for path, item in told["paths"].items() for method in item}
    assert described == {(path, method) for path, method in routes if not path.endswith("openapi.json")}
    references = {part.split('"')[0] for part in json.dumps(told).split("#/components/schemas/")[1:]}
    assert references <= told["components"]["schemas"].keys()
    assert {"InspectionView", "Wire", "Comparison", "ProblemView"} <= references


def test_dropped_files_and_replays(browser: Browser) -> None:
    """A dropped card is used; a bundle of the build is opened and built alone, with the same bytes."""
    before = browser.json("inspection")["fingerprint"]
    bundle = browser.get("/v1/inspector/replay").content
    with browser_of(session_of({})) as other:
        opened = other.post("/v1/inspector/replay", content=bundle, headers={"content-type": "application/json"})
        assert opened.status_code == 200
        assert opened.json()["files"][0]["kind"] == "request"
        assert other.json("inspection")["fingerprint"] == before
        card = (EXAMPLES / "tobin.json").read_bytes()
        dropped = other.post("/v1/inspector/files?name=tobin.json", content=card).json()
        assert (dropped["kind"], dropped["used"], dropped["writable"]) == ("character", True, False)
        assert other.post(f"/v1/inspector/files/{dropped['id']}/save", json={}).status_code == 400
        assert other.post("/v1/inspector/replay", json={"no": "bundle"}).status_code == 422
        assert len(other.json("workspace")["files"]) == 2


def test_what_one_page_changes_the_others_are_sent() -> None:
    """Edits and settings as they came; of files that are more or others, that there is something to ask for."""
    with browser_of(example_session()) as browser, browser.live() as first, browser.live() as second:
        edit = {"file": browser.id_of("wenna.png"), "path": ["data", "personality"], "value": "loud"}
        for live in (first, second):
            live.send_text(json.dumps({"serial": 1}))
            answer_of(live)
        first.send_text(json.dumps({"serial": 2, "edits": [edit], "settings": {"seed": 7}}))
        assert "inspection" in answer_of(first)
        assert shared_with(second) == {"edits": [edit], "settings": {"seed": 7}}
        browser.post("/v1/inspector/files?name=new.json", content=b"{}")
        assert [shared_with(first), shared_with(second)] == [{"reload": True}] * 2


def shared_with(live: WebSocketTestSession) -> Any:
    """The next change that a connection is sent of others."""
    while True:
        message = json.loads(live.receive_text())
        if "shared" in message:
            return message["shared"]


def test_the_newest_state_is_what_is_answered() -> None:
    """What comes while one is built is built together: no answer is older than one before."""
    with browser_of(example_session()) as browser, browser.live() as live:
        for serial in range(1, 31):
            live.send_text(json.dumps({"serial": serial, "settings": {"message": f"number {serial}"}}))
        serials: list[int] = []
        while not serials or serials[-1] != 30:
            answer = answer_of(live)
            if "inspection" in answer:
                serials.append(answer["serial"])
        assert serials == sorted(set(serials))
        messages = browser.json("inspection")["messages"]
    assert "number 30" in ["".join(piece["text"] for piece in one["pieces"]) for one in messages]


def test_what_was_sent_before_a_page_went_away_is_taken_in() -> None:
    """Also where nobody waits for what is built of it."""
    with browser_of(example_session()) as browser:
        with browser.live() as live:
            live.send_text(json.dumps({"serial": 1}))
            for number in range(2, 6):
                live.send_text(json.dumps({"serial": number, "settings": {"seed": number}}))
        assert browser.json("workspace")["settings"]["seed"] == 5


def test_the_prompt_is_built_before_anybody_asks() -> None:
    """A server that has begun to serve has its workspace opened and the prompt built: the page waits for none of it."""
    asked = list[str]()

    class Recording:
        async def call(self, call: EngineCall, body: bytes = b"") -> tuple[EngineReply, bytes]:
            del body
            asked.append(call.name)
            return EngineReply(), b""

        async def close(self) -> None: ...

    with browser_of(WorkspaceSession("test", (), engines=lambda _: Recording())) as browser:
        browser.get("/health")
    assert asked == ["inspection"]
