"""Updates: what is told of a change, put on what was told before, is the inspection that a new workspace makes."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pytest

from innkeeper.service.inspector.session.engine import WorkspaceEngine
from innkeeper.service.inspector.session.messages import EngineCall, OpenedFile, WorkspaceOptions, WorkspaceState
from tests.service.inspector.opened import EXAMPLES, NOW

FILES: Final = {"card": "wenna.png", "book": "larks.lorebook.json", "chat": "wenna.chat.jsonl"}
LISTS: Final = ("messages", "verdicts", "origins", "trims")

CHANGES: Final[dict[str, dict[str, Any]]] = {
    "a message": {"settings": {"message": "A gale from Hartholm?"}},
    "an entry's text": {"edits": [{"file": "book", "path": ["entries", "0", "content"], "value": "Twelve islands."}]},
    "an entry's key": {"edits": [{"file": "book", "path": ["entries", "0", "key"], "value": ["tonight", "gale"]}]},
    "one entry less": {"edits": [{"file": "book", "path": ["entries", "0"], "remove": True}]},
    "a field of the card": {"edits": [{"file": "card", "path": ["data", "personality"], "value": "Gentle."}]},
    "a name of the card": {"edits": [{"file": "card", "path": ["data", "name"], "value": "Mira"}]},
    "a message of the chat": {"edits": [{"file": "chat", "path": ["messages", 1, "mes"], "value": "The reef?"}]},
    "one message less": {"edits": [{"file": "chat", "path": ["messages", 1], "remove": True}]},
    "a hidden message": {"edits": [{"file": "chat", "path": ["messages", 0, "is_system"], "value": True}]},
    "an earlier turn": {"settings": {"turn": 1}},
    "no lorebook": {"settings": {"used": ["card", "chat"]}},
    "another tavern": {"settings": {"tavern": "vibe"}},
    "another model": {"settings": {"model": "gpt-4o"}},
}


def opened(edits: list[dict[str, Any]], settings: dict[str, Any]) -> WorkspaceEngine:
    """A workspace after these changes."""
    files = tuple(OpenedFile(key, name, (EXAMPLES / name).read_bytes()) for key, name in FILES.items())
    raw = tuple(json.dumps(edit).encode() for edit in edits)
    options = WorkspaceOptions(now=NOW, every=True)
    opening = WorkspaceState(files=files, edits=raw, settings=json.dumps(settings).encode(), options=options)
    engine = WorkspaceEngine()
    assert engine.answer(EngineCall("open"), msgspec.msgpack.encode(opening))[0].status == 200
    return engine


def put_on(before: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """An inspection brought up to date, as the page does it."""
    after = dict(update)
    for name in LISTS:
        change = after.pop(f"{name}_changed", None)
        if change is not None:
            items = dict(enumerate(before[name])) | {int(index): item for index, item in change["changed"].items()}
            after[name] = [items[index] for index in range(change["length"])]
    return after


def resolved(inspection: dict[str, Any]) -> dict[str, Any]:
    """An inspection with the origins themselves instead of their numbers, which depend on what was shown before."""
    origins: dict[int | None, Any] = {None: None} | dict(enumerate(inspection["origins"]))
    pieces = [
        [(one["text"], origins[one["origin"]]) for one in message["pieces"]] for message in inspection["messages"]
    ]
    return inspection | {
        "origins": None,
        "pieces": pieces,
        "messages": [one | {"pieces": None} for one in inspection["messages"]],
    }


def test_updates_come_to_what_a_new_workspace_shows() -> None:
    """One change after the other, each on top of those before, and a message after each that changes nothing else."""
    edits, settings = list[dict[str, Any]](), {"message": "A storm on Larks?"}
    engine = opened(edits, settings)
    shown = put_on({}, json.loads(engine.answer(EngineCall("live", "page"), b"{}")[1])["inspection"])
    for number, (name, change) in enumerate(CHANGES.items()):
        for step in (change, {"settings": {"message": f"A storm on Larks tonight, {number}?"}}):
            told = json.loads(engine.answer(EngineCall("live", "page"), json.dumps(step).encode())[1])
            edits, settings = [*edits, *step.get("edits", ())], settings | step.get("settings", {})
            assert "inspection" in told, (name, told)
            shown = put_on(shown, told["inspection"])
            whole = json.loads(opened(edits, settings).answer(EngineCall("inspection"), b"")[1])
            assert resolved(shown) == resolved(whole), name


@pytest.mark.parametrize("settings", [{"message": "A storm on Larks tonight"}, {"context_window": 9_000}])
def test_what_did_not_change_is_not_told_again(settings: dict[str, Any]) -> None:
    """A keystroke in a message costs that message, and no origin of the others."""
    engine = opened([], {"message": "A storm on Larks tonigh", "context_window": 8_000})
    engine.answer(EngineCall("live", "page"), b"{}")
    update = json.loads(engine.answer(EngineCall("live", "page"), json.dumps({"settings": settings}).encode())[1])[
        "inspection"
    ]
    assert not update.keys() & set(LISTS)
    assert len(update["messages_changed"]["changed"]) <= 1
    assert not update["verdicts_changed"]["changed"].keys() - {"0", "1"}
    assert not update["origins_changed"]["changed"]
