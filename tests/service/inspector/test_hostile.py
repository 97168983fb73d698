"""Cards, books and chats that want to do harm are shown as what they are: text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.service.inspector.opened import Browser, answer_of, browser_of, session_of

SCRIPTS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg onload=alert(1)><a href='javascript:alert(1)'>x</a></svg>",
    "\u202egnp.exe\u202c \u2066\u200b\ufeff",
    "{{char}}" * 20,
    "\x00\x01\x1b[31m\x7f",
    "\ud83d \ud800",
    "../../../../etc/passwd",
    "x" * 5_000,
)
FIELDS = (
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "creator_notes",
)


def card(text: str) -> dict[str, Any]:
    """A card that has a text everywhere."""
    entry = {
        "keys": [text, "k"],
        "content": text,
        "comment": text,
        "enabled": True,
        "insertion_order": 1,
        "constant": True,
    }
    entry |= {"extensions": {}, "name": text}
    data: dict[str, Any] = dict.fromkeys(FIELDS, text)
    data |= {
        "tags": [text],
        "alternate_greetings": [text],
        "extensions": {text: text, "depth_prompt": {"prompt": text}},
    }
    data |= {"character_book": {"name": text, "entries": [entry], "extensions": {}}, "creator": text}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data, text: text}


@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_what_a_card_says_is_data(text: str) -> None:
    """Every reply about it is JSON that no browser takes for anything else, and each is answered.

    A text prompt of a name that is twenty macros of itself is refused, as more than a build may take.
    """
    session = session_of({"card.json": json.dumps(card(text)).encode()}, settings={"message": text})
    with browser_of(session) as browser:
        for path in (
            "workspace",
            "inspection",
            "files/f1",
            "files/f1/changes",
            "wire?dialect=anthropic",
            "wire?dialect=text",
        ):
            reply = browser.get(f"/v1/inspector/{path}")
            too_much = reply.status_code == 413 and reply.json()["error"]["code"] == "allowance"
            assert reply.status_code == 200 or (too_much and "dialect=text" in path), (path, reply.text[:300])
            assert reply.headers["content-type"] == "application/json"
            assert json.loads(reply.content)
        exported = browser.get("/v1/inspector/files/f1/export?format=v3")
        assert exported.headers["content-type"] == "application/octet-stream"
        assert exported.headers["content-disposition"].startswith("attachment")
        assert browser.get("/v1/inspector/files/f1/picture").status_code == 404


@pytest.mark.parametrize(
    "name", ["../../x.json", "..\\x.json", "<script>.json", "\u202egnp.json", "a" * 3_000, "", "%2e%2e%2fx"]
)
def test_names_of_dropped_files_lead_nowhere(name: str, tmp_path: Any) -> None:
    """They are what is shown, and at most files of the folder itself."""
    folder = tmp_path / "cards"
    folder.mkdir()
    with browser_of(session_of({}, folder)) as browser:
        reply = browser.post("/v1/inspector/files", params={"name": name}, content=b'{"name": "a", "description": "b"}')
        assert reply.status_code == 200
        browser.post(f"/v1/inspector/files/{reply.json()['id']}/save", json={})
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != folder] == []


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"entries": ' + b"[{}," * 30_000 + b"{}]}",
        b"\x89PNG\r\n\x1a\n" + b"\xff\xff\xff\xffIHDR" * 50,
        b"PK\x03\x04" + b"\0" * 4_000,
        b'{"spec": "chara_card_v2", "data": {"name": "\\ud800", "description": "\\u0000"}}',
    ],
    ids=range(6),
)
def test_files_that_want_to_break_readers_do_not(data: bytes) -> None:
    """They are opened as what they are, or say why not, and the workspace goes on."""
    with browser_of(session_of({})) as browser:
        reply = browser.post("/v1/inspector/files?name=bad.json", content=data)
        assert reply.status_code == 200
        assert browser.json("workspace")["files"][0]["kind"]
        assert browser.get("/v1/inspector/inspection").status_code in {200, 400, 422}


@pytest.mark.parametrize(
    "message",
    [
        "{",
        "[]",
        '{"serial": "x"}',
        '{"serial": 1, "edits": {}}',
        "\x00",
        '{"serial": 1, "settings": []}',
        "[" * 5_000,
    ],
)
def test_what_is_no_message_ends_the_connection(message: str) -> None:
    """And nothing else."""
    with browser_of(session_of({})) as browser:
        with browser.live() as live:
            live.send_text(message)
            assert live.receive()["code"] == 1007
        assert browser.json("workspace")["files"] == []


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"file": "f1"},
        {"file": "f9", "path": [], "value": 1},
        {"file": "f1", "path": ["a", "b"], "value": 1},
        {"file": "f1", "path": [1.5], "value": 1},
        {"file": "f1", "path": ["__class__"], "remove": "x"},
        {"file": "f1", "path": ["data", "name"], "value": {"a": [[[[1]]]]}},
        {"file": "f1", "path": [], "value": []},
        "x",
        None,
    ],
)
def test_an_edit_that_cannot_be_is_told(edit: Any) -> None:
    """With the serial that it came with; the next good one is built."""
    with browser_of(session_of({"card.json": json.dumps(card("x")).encode()})) as browser, browser.live() as live:
        live.send_text(json.dumps({"serial": 1, "edits": [edit]}))
        first = answer_of(live)
        assert first["serial"] == 1
        good = {"file": "f1", "path": [], "value": card("good")}
        live.send_text(json.dumps({"serial": 2, "edits": [good], "settings": {"message": "m"}}))
        while (second := answer_of(live))["serial"] != 2:
            pass
        assert "good" in json.dumps(second["inspection"]["messages"])


def test_settings_that_cannot_be_are_told(tmp_path: Any) -> None:
    """A word of no setting, or a tavern that is not there: a failure, and those that were go on."""
    with browser_of(session_of({"card.json": json.dumps(card("x")).encode()}, tmp_path)) as browser:
        assert_settings(browser)


def assert_settings(browser: Browser) -> None:
    """The same connection answers the next message."""
    with browser.live() as live:
        for serial, settings in enumerate(({"nothing": 1}, {"tavern": "none"}, {"seed": "x"}, {"turn": -1}), 1):
            live.send_text(json.dumps({"serial": serial, "settings": settings}))
            answer = answer_of(live)
            assert answer["serial"] == serial
            assert answer["error"]["message"]
        live.send_text(json.dumps({"serial": 9, "settings": {"seed": 4}}))
        assert answer_of(live)["inspection"]
    assert browser.json("workspace")["settings"]["seed"] == 4
