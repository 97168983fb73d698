"""A SillyTavern folder in the inspector: the prompt is what every door makes of it, and its files are edited where they lie."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.session.engine import WorkspaceEngine
from innkeeper.service.inspector.session.messages import EngineCall, InstallSource, WorkspaceOptions
from innkeeper.service.inspector.session.process import EngineHere
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.views.installed import InstallChoice
from innkeeper.service.inspector.views.workspace import SettingsChange, Variation
from innkeeper.service.inspector.workspace.installed import Installed
from innkeeper.taverns.silly.install import Install
from tests.service.inspector.opened import NOW, Browser, answer_of, browser_of
from tests.shared import VECTORS

RECORDED = VECTORS / "silly/folder/data/default-user"
CONTENTS = Install.open(RECORDED).contents()
CHOICES = [
    *(InstallChoice(character=file, chat=chat) for file, (_, chats) in CONTENTS.characters.items() for chat in (None, *chats)),
    *(InstallChoice(group=group) for group in CONTENTS.groups),
    InstallChoice(character="Mira.png", presets=("House",)),
    InstallChoice(character="Bram.png", books=("Extra",)),
]  # fmt: skip


def session_of_folder(root: Path, choice: InstallChoice) -> WorkspaceSession:
    """What is chosen of a folder, opened."""
    source = InstallSource(str(root), (), choice)
    session = WorkspaceSession("", (), WorkspaceOptions(now=NOW), EngineHere, install=source)
    session.open_install(source, Installed(source).opening())
    return session


def engine_of(session: WorkspaceSession) -> WorkspaceEngine:
    """Its engine."""
    engine = WorkspaceEngine()
    assert engine.answer(EngineCall("open"), session.opening())[0].is_ok
    return engine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the recorded folder that may be written."""
    return Path(shutil.copytree(RECORDED, tmp_path / "user"))


@pytest.fixture
def mira(root: Path) -> Browser:
    """A browser that has opened Mira in it."""
    return browser_of(session_of_folder(root, InstallChoice(character="Mira.png", chat="Sticky")))


def fingerprint(engine: WorkspaceEngine, **settings: Any) -> str:
    """Of the prompt that is shown."""
    return planned(engine.workspace, Variation(settings=SettingsChange(**settings))).fingerprint("openai")


@pytest.mark.parametrize("choice", CHOICES, ids=lambda one: f"{one.character or one.group}-{one.chat}")
def test_the_prompt_is_that_of_every_door(choice: InstallChoice) -> None:
    """Whoever is chosen: of the files that are open comes what ``build --sillytavern`` makes of the folder."""
    changes = {}
    if choice.books:
        chosen = json.loads((RECORDED / "settings.json").read_text())["world_info_settings"]["world_info"]
        changes = {"world_info_settings": {"world_info": {"globalSelect": [*chosen["globalSelect"], *choice.books]}}}
    prepared = Install.open(RECORDED, changes=changes).prepare(
        choice.character, group=choice.group, chat=choice.chat, presets=choice.presets
    )
    engine = engine_of(session_of_folder(RECORDED, choice))
    assert fingerprint(engine) == prepared.build(now=NOW, seed=0).fingerprint("openai")


def test_text_completion_has_the_templates_of_the_folder() -> None:
    """Who changes to a local model gets what SillyTavern would send it, and back."""
    engine = engine_of(session_of_folder(RECORDED, InstallChoice(character="Mira.png")))
    chat = fingerprint(engine)
    text = planned(engine.workspace, Variation(settings=SettingsChange(dialect="text", model=None)))
    local = Install.open(RECORDED, changes={"main_api": "textgenerationwebui"}).prepare("Mira.png")
    assert text.to_messages()["prompt"] == local.build(now=NOW, seed=0).to_messages()["prompt"]
    assert fingerprint(engine) == chat


def test_what_is_edited_counts(mira: Browser) -> None:
    """A card, a book in its scope, the chat's own note and its greeting: each at once."""
    files = {file["name"]: file["id"] for file in mira.json("workspace")["files"]}
    book = files["worlds/Town.json"]
    document = mira.json(f"files/{book}")["document"]
    entry = next(iter(document["entries"]))
    edits = [
        {"file": files["characters/Mira.png"], "path": ["data", "description"], "value": "Mira counts whales."},
        {"file": book, "path": ["entries", entry, "content"], "value": "The town sank."},
        {"file": book, "path": ["entries", entry, "constant"], "value": True},
        {"file": files["chats/Mira/Sticky.jsonl"], "path": ["header", "chat_metadata", "note_prompt"], "value": "Whisper."},
        {"file": files["persona.json"], "path": ["description"], "value": "Ilse mends nets."},
    ]  # fmt: skip
    with mira.live() as live:
        live.send_json({"serial": 1, "edits": edits})
        told = answer_of(live)
    shown = json.dumps([message["pieces"] for message in told["inspection"]["messages"]])
    for text in ("Mira counts whales.", "The town sank.", "Whisper.", "Ilse mends nets."):
        assert text in shown, text


@pytest.mark.parametrize(("character", "chat"), [("Mira.png", None), ("Nora.png", "rich"), ("Nora.png", "no header")])
def test_each_text_of_the_chat_leads_to_its_message(character: str, chat: str | None) -> None:
    """Also where SillyTavern counts hidden messages, and where it takes the first for a header."""
    browser = browser_of(session_of_folder(RECORDED, InstallChoice(character=character, chat=chat)))
    inspection = browser.json("inspection")
    id_of = next(file["id"] for file in browser.json("workspace")["files"] if file["kind"] == "chat")
    texts = [message["mes"] for message in browser.json(f"files/{id_of}")["document"]["messages"]]
    led = []
    for piece in (piece for message in inspection["messages"] for piece in message["pieces"]):
        origin = {} if piece["origin"] is None else inspection["origins"][piece["origin"]]
        if origin.get("asset") == "history" and len(piece["text"]) > 12 and any(piece["text"] in one for one in texts):
            led.append(piece)
            assert piece["text"] in texts[origin["path"][1]]
    assert led


def test_another_choice_opens_its_files(mira: Browser, root: Path) -> None:
    """In one step; a file with edits stays open, and is not lost. What is not there is refused, and nothing changes."""
    card = mira.id_of("characters/Mira.png")
    with mira.live() as live:
        live.send_json({"serial": 1, "edits": [{"file": card, "path": ["data", "personality"], "value": "Loud."}]})
        answer_of(live)
    before = mira.json("workspace")
    missing = mira.post("/v1/inspector/install", content=b'{"character": "Nobody.png"}', headers=JSON)
    assert (missing.status_code, mira.json("workspace")) == (404, before)
    workspace = mira.post("/v1/inspector/install", content=b'{"character": "Bram.png"}', headers=JSON).json()
    used = {file["name"] for file in workspace["files"] if file["used"]}
    assert "characters/Bram.png" in used
    assert "characters/Mira.png" not in used
    assert (workspace["title"], workspace["install"]["name"]) == ("Bram · Bram - no such file", "Bram")
    assert next(file for file in workspace["files"] if file["id"] == card)["changed"]
    assert mira.post(f"/v1/inspector/files/{card}/save").status_code == 200
    saved = Install.open(root).prepare("Mira.png").request.character
    assert saved.personality == "Loud."


def test_there_is_a_list_of_all_that_can_be_chosen(mira: Browser) -> None:
    """Each with what is active."""
    contents = mira.json("install")
    assert {one["name"] for one in contents["speakers"]} >= {"Mira", "Bram", "The cellar"}
    assert [one["id"] for one in contents["speakers"] if one["is_active"]]
    assert "Sticky" in next(one["chats"] for one in contents["speakers"] if one["id"] == "Mira.png")
    assert {one["name"]: one["scopes"] for one in contents["books"]}["Town"] == ["global"]
    assert [(one["folder"], one["name"]) for one in contents["presets"] if one["is_selected"]] == [
        ("OpenAI Settings", "House")
    ]


JSON = {"content-type": "application/json"}
