"""Operations on branched chats: a document counts before a file, and a file changes whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.prompt.determinism import EPOCH
from innkeeper.service import Settings
from innkeeper.service.gateway.branch_operations import BranchChange, Look, settings, update_variables, variables
from innkeeper.service.gateway.operation import Operations
from innkeeper.service.gateway.state import PREFIX, AppState, GatewayCall

CHAT = "conversations/one/conversation.json"
DOC: dict[str, Any] = {
    "roots": ["r"],
    "nodes": {
        "r": {"pid": None, "role": "system", "content": "S"},
        "u": {"pid": "r", "role": "user", "content": "U"},
    },
    "children": {"r": ["u"]},
    "active_path": ["r", "u"],
}


@pytest.fixture
def call(tmp_path: Path) -> GatewayCall:
    """A call of a service whose data folder has one conversation."""
    path = tmp_path / CHAT
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(DOC))
    return GatewayCall(AppState(Settings(data=tmp_path), Operations()), EPOCH, 1)


def file_of(call: GatewayCall, name: str = CHAT) -> Any:
    """What a file of the data folder holds."""
    assert call.state.settings.data is not None
    return json.loads((call.state.settings.data / name).read_text())


def test_looking(call: GatewayCall) -> None:
    """A chat is read from the request or its file alike, and stays as it is."""
    look = Look("openai_messages")
    assert look(call, DOC) == look(call, file=CHAT) == look(call, DOC, "conversations/none/conversation.json")
    assert file_of(call) == DOC


def test_changing(call: GatewayCall) -> None:
    """A document is changed in the answer only, a file is written."""
    change = BranchChange("truncate_after")
    assert change(call, DOC, CHAT, node_id="u")["active_path"] == ["r"]
    assert file_of(call) == DOC
    assert change(call, file=CHAT, node_id="u")["active_path"] == ["r"]
    assert file_of(call)["active_path"] == ["r"]


@pytest.mark.parametrize(
    "operation", [Look("openai_messages"), BranchChange("truncate_after")], ids=lambda item: item.name
)
@pytest.mark.parametrize(
    ("file", "error"),
    [
        (None, "Either 'doc' or 'file' must be provided"),
        (" ", "Either 'doc' or 'file' must be provided"),
        ("../x.json", "File must be within conversations directory: ../x.json"),
        ("presets/a/preset.json", "File must be within conversations directory: presets/a/preset.json"),
        ("conversations/none/conversation.json", "NOT_FOUND"),
    ],
)
def test_refused(call: GatewayCall, operation: Any, file: str | None, error: str) -> None:
    """No chat, a file outside of the folder and one that is not there are the original's errors."""
    arguments = {"node_id": "u"} if isinstance(operation, BranchChange) else {}
    assert operation(call, file=file, **arguments)["error"] == error


def test_variables(call: GatewayCall) -> None:
    """Variables are set, merged at the top level, read and forgotten; the chat is found by its file or its name."""
    place = {"variables_file": f"{PREFIX}/conversations/one/variables.json", "slug": "one"}
    assert variables(call, "get", slug="one") == {**place, "variables": {}}
    assert variables(call, "set", {"a": {"b": 1}}, CHAT)["variables"] == {"a": {"b": 1}}
    assert variables(call, "merge", {"a": {"c": 2}, "d": 3}, slug="one")["variables"] == {"a": {"c": 2}, "d": 3}
    assert variables(call, "get", file=CHAT) == {**place, "variables": {"a": {"c": 2}, "d": 3}}
    assert variables(call, "reset", slug="one")["variables"] == {}


def test_an_update_merges_deeply(call: GatewayCall) -> None:
    """``variables_update`` changes the same file, by its own operations."""
    variables(call, "set", {"a": {"b": 1}}, CHAT)
    assert update_variables(call, CHAT, {"a": {"c": 2}})["variables"] == {"a": {"b": 1, "c": 2}}
    assert variables(call, "get", slug="one")["variables"] == {"a": {"b": 1, "c": 2}}


def test_settings(call: GatewayCall) -> None:
    """Settings are read without writing a file, and patched at the top level."""
    assert settings(call, "get", slug="one")["settings"] == {}
    assert not (Path(str(call.state.settings.data)) / "conversations/one/settings.json").exists()
    assert settings(call, "update", {"preset": "p"}, CHAT)["settings"] == {"preset": "p"}
    assert settings(call, "update", {"n": 1}, slug="one")["settings"] == {"preset": "p", "n": 1}


@pytest.mark.parametrize(
    ("slug", "error"), [("none", "NOT_FOUND"), ("../presets", "OUT_OF_SCOPE"), (None, "INVALID_INPUT")]
)
def test_no_such_conversation(call: GatewayCall, slug: str | None, error: str) -> None:
    """Beside no conversation nothing is read or written."""
    assert variables(call, "set", {"a": 1}, slug=slug)["error"] == error
    assert settings(call, "get", slug=slug)["error"] == error
