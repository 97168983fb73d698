"""The data folder: what is read, what is refused, and conversations that change whole or not at all."""

import base64
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.service import Gateway, Keys, Request, Settings
from innkeeper.service.gateway import state as data_folder
from innkeeper.service.gateway.state import DataError, root_of, within, writing
from tests.service.gateway.calls import JSON_HEADERS, get, post

CATALOG = "modules/smarttavern/data_catalog"
BRANCHES = "modules/smarttavern/chat_branches"
ROOT = "backend_projects/SmartTavern/data"
CHAT = "conversations/one/conversation.json"
DOC = {
    "roots": ["r"],
    "nodes": {
        "r": {"pid": None, "role": "system", "content": "S"},
        "u": {"pid": "r", "role": "user", "content": "U"},
        "a": {"pid": "u", "role": "assistant", "content": "A"},
    },
    "children": {"r": ["u"], "u": ["a"]},
    "active_path": ["r", "u", "a"],
}


def write(path: Path, value: Any) -> None:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with one of each."""
    root = tmp_path / "data"
    write(root / "presets/b/preset.json", {"name": "B", "description": "second"})
    write(root / "presets/a/preset.json", {"name": "A"})
    write(root / "presets/broken/preset.json", b"{")
    write(root / "presets/list/preset.json", [1])
    write(root / "presets/text/preset.json", "x")
    write(root / "presets/.hidden/preset.json", {"name": "H"})
    write(root / "characters/c/character.json", {"name": "C", "type": "threaded"})
    write(root / "characters/c/icon.png", b"\x89PNG")
    write(
        root / "llm_configs/m/llm_config.json",
        {
            "name": "M",
            "api_key": "sk-hidden",
            "max_tokens": 5,
            "custom_params": {"headers": [{"Authorization": "hidden"}], "password": ""},
        },
    )
    write(root / CHAT, DOC)
    write(tmp_path / "outside.json", {"name": "outside"})
    (root / "presets/link").symlink_to(tmp_path, target_is_directory=True)
    (root / "presets/b/link.json").symlink_to(tmp_path / "outside.json")
    (root / "world_books").symlink_to(tmp_path, target_is_directory=True)
    return root


@pytest.fixture
def gateway(data: Path) -> Gateway:
    """A gateway over it."""
    return Gateway(Settings(data=data))


def test_lists(gateway: Gateway) -> None:
    """A list has the readable assets in order, and the others as errors; hidden ones and links are not there."""
    _, found = post(gateway, f"{CATALOG}/list_presets", {})
    assert [item["name"] for item in found["items"]] == ["A", "B"]
    assert found["items"][1] == {"file": f"{ROOT}/presets/b/preset.json", "name": "B", "description": "second"}
    assert [error["file"].split("/")[-2] for error in found["errors"]] == ["broken", "list", "text"]
    assert found["total"] == 2
    _, characters = post(gateway, f"{CATALOG}/list_characters", {})
    assert characters["items"][0]["type"] == "threaded"
    assert "errors" not in characters
    for kinds in ("world_books", "personas"):
        assert post(gateway, f"{CATALOG}/list_{kinds}", {})[1]["items"] == []


def test_details(gateway: Gateway) -> None:
    """An asset is read by either name of its file."""
    for name in ("presets/b/preset.json", f"{ROOT}/presets/b/preset.json"):
        _, found = post(gateway, f"{CATALOG}/get_preset_detail", {"file": name})
        assert found["content"] == {"name": "B", "description": "second"}
        assert (found["file"], found["name"]) == (f"{ROOT}/presets/b/preset.json", "B")
    assert post(gateway, f"{CATALOG}/get_preset_detail", {"file": "presets/list/preset.json"})[1]["content"] == [1]


def test_secrets(gateway: Gateway) -> None:
    """Keys of a model configuration are never given, by no operation."""
    _, found = post(gateway, f"{CATALOG}/get_llm_config_detail", {"file": "llm_configs/m/llm_config.json"})
    assert found["content"]["api_key"] == found["content"]["custom_params"]["headers"][0]["Authorization"] == "[secret]"
    assert (found["content"]["max_tokens"], found["content"]["custom_params"]["password"]) == (5, "")
    for name in ("llm_configs/m/llm_config.json", "LLM_Configs/m/llm_config.json"):
        _, asset = post(gateway, f"{CATALOG}/get_data_asset", {"file": name})
        assert asset["error"] == "OUT_OF_SCOPE"


def test_asset(gateway: Gateway) -> None:
    """A file comes in base64 with its type."""
    _, found = post(gateway, f"{CATALOG}/get_data_asset", {"file": "characters/c/icon.png"})
    assert (found["mime"], found["size"]) == ("image/png", 4)
    assert base64.b64decode(found["content_base64"]) == b"\x89PNG"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "INVALID_INPUT"),
        ("presets/\x00", "INVALID_INPUT"),
        ("presets/" + "x" * 2_000, "INVALID_INPUT"),
        ("/etc/passwd", "OUT_OF_SCOPE"),
        ("../../etc/passwd", "OUT_OF_SCOPE"),
        ("presets/../../outside.json", "OUT_OF_SCOPE"),
        ("presets\\..\\..\\outside.json", "OUT_OF_SCOPE"),
        ("C:/presets/b/preset.json", "OUT_OF_SCOPE"),
        ("preset.json", "OUT_OF_SCOPE"),
        ("characters/c/character.json", "OUT_OF_SCOPE"),
        ("presets/.hidden/preset.json", "OUT_OF_SCOPE"),
        ("presets/link/outside.json", "OUT_OF_SCOPE"),
        ("presets/b/link.json", "OUT_OF_SCOPE"),
        (f"{ROOT}/{ROOT}/../x", "OUT_OF_SCOPE"),
        ("presets/none/preset.json", "NOT_FOUND"),
        ("presets/b", "NOT_FOUND"),
        ("presets/b/preset.json/deeper", "READ_FAILED"),
        ("presets/broken/preset.json", "READ_FAILED"),
        ("presets/text/preset.json", "INVALID_TYPE"),
    ],
)
def test_refused(gateway: Gateway, name: str, code: str) -> None:
    """Names that lead out, hide, link or miss are refused with the original's codes."""
    status, found = post(gateway, f"{CATALOG}/get_preset_detail", {"file": name})
    assert (status, found["error"]) == (200, code)


@given(name=st.text(alphabet="./\\:a~\u2215\uff0e presets", max_size=30))
def test_never_outside(name: str) -> None:
    """No name of any kind leads out of the folder."""
    root = Path("/nowhere/data")
    gateway = Gateway()
    object.__setattr__(gateway.state, "settings", Settings(data=root))
    try:
        path = within(gateway.state, name)
    except DataError as error:
        refused = error.code
    else:
        refused = "OUT_OF_SCOPE" if ".." in path.parts or not path.is_relative_to(root) else "NOT_FOUND"
        assert refused == "NOT_FOUND"
    assert refused in {"INVALID_INPUT", "OUT_OF_SCOPE", "NOT_FOUND"}


def test_large_file(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file over the limit is not read."""
    monkeypatch.setattr(data_folder, "_MAX_FILE", 3)
    _, found = post(gateway, f"{CATALOG}/get_data_asset", {"file": "characters/c/icon.png"})
    assert found["error"] == "READ_FAILED"


def test_no_folder() -> None:
    """Without a data folder its operations say so."""
    for name, body in (("list_presets", {}), ("get_preset_detail", {"file": "presets/a/preset.json"})):
        assert post(Gateway(), f"{CATALOG}/{name}", body)[1]["error"] == "NO_DATA_FOLDER"


def test_conversation_file(gateway: Gateway, data: Path) -> None:
    """A chat is read and changed in its file, whatever the answer shows of it."""
    assert post(gateway, f"{BRANCHES}/openai_messages", {"file": CHAT})[1]["path"] == ["r", "u", "a"]
    change = {"file": CHAT, "node_id": "a", "content": "B", "return_mode": "none"}
    assert "doc" not in post(gateway, f"{BRANCHES}/update_message", change)[1]
    assert json.loads((data / CHAT).read_text())["nodes"]["a"]["content"] == "B"
    before = (data / CHAT).read_bytes()
    _, kept = post(gateway, f"{BRANCHES}/retry_user_message", {"file": CHAT, "user_node_id": "u"})
    assert kept["action"] == "retry_assistant"
    _, failed = post(gateway, f"{BRANCHES}/truncate_after", {"file": CHAT, "node_id": "none"})
    assert failed["problem"]["kind"] == "shape"
    assert (data / CHAT).read_bytes() == before
    for name in ("openai_messages", "truncate_after"):
        body = {"file": "conversations/two/conversation.json"} | ({"node_id": "a"} if name == "truncate_after" else {})
        assert post(gateway, f"{BRANCHES}/{name}", body)[1]["error"] == "NOT_FOUND"


@pytest.mark.parametrize("name", ["openai_messages", "truncate_after"])
def test_conversation_files_that_are_refused(gateway: Gateway, name: str) -> None:
    """A file outside of the folder, or no name of one, gives the original's errors."""
    node = {"node_id": "a"} if name == "truncate_after" else {}
    said = [post(gateway, f"{BRANCHES}/{name}", {"file": file, **node})[1]["error"] for file in ("../x.json", " ")]
    outside = "File must be within conversations directory: ../x.json"
    assert said == [outside, "Either 'doc' or 'file' must be provided"]


def test_no_change_by_get(data: Path) -> None:
    """Where anybody may call, following a link changes no file; with a key it may."""
    target = f"/api/{BRANCHES}/truncate_after?file={CHAT}&node_id=a"
    assert get(Gateway(Settings(data=data)), target)[0] == 403
    assert get(Gateway(Settings(data=data, keys=Keys("k"))), target)[1]["active_path"] == ["r", "u"]


def test_document_mode(gateway: Gateway, data: Path) -> None:
    """A document in the request counts before a file, and no file is written."""
    before = (data / CHAT).read_bytes()
    body = {"doc": DOC, "file": CHAT, "node_id": "u"}
    assert post(gateway, f"{BRANCHES}/truncate_after", body)[1]["active_path"] == ["r"]
    assert post(gateway, f"{BRANCHES}/branch_table", {"doc": DOC})[1]["latest"]["node_id"] == "a"
    assert (data / CHAT).read_bytes() == before
    assert "error" in post(gateway, f"{BRANCHES}/truncate_after", {"node_id": "u"})[1]


def test_changes_at_once(gateway: Gateway, data: Path) -> None:
    """Of changes made at once none is lost."""
    calls = [{"action": "merge", "file": CHAT, "data": {f"k{number}": number}} for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda body: post(gateway, f"{BRANCHES}/variables", body), calls))
    assert len(json.loads((data / "conversations/one/variables.json").read_text())) == 20


def test_variables_and_settings(gateway: Gateway) -> None:
    """A conversation's variables and settings live beside it."""
    name = f"{BRANCHES}/variables"
    assert post(gateway, name, {"action": "get", "slug": "one"})[1]["variables"] == {}
    assert post(gateway, name, {"action": "set", "slug": "one", "data": {"a": 1}})[1] == {
        "variables_file": f"{ROOT}/conversations/one/variables.json",
        "variables": {"a": 1},
        "slug": "one",
    }
    update = {"file": CHAT, "overrides": {"b": {"c": [1]}}, "operation": "merge"}
    _, changed = post(gateway, "workflow/smarttavern/variables_update/apply", update)
    assert changed == {
        "variables": {"a": 1, "b": {"c": [1]}},
        "variables_file": f"{ROOT}/conversations/one/variables.json",
    }
    assert post(gateway, name, {"action": "reset", "slug": "one"})[1]["variables"] == {}
    patch = {"action": "update", "slug": "one", "patch": {"preset": "p"}}
    assert post(gateway, f"{BRANCHES}/settings", patch)[1]["settings"] == {"preset": "p"}
    assert post(gateway, f"{BRANCHES}/settings", {"action": "get", "file": CHAT})[1]["settings"] == {"preset": "p"}
    for body in ({"action": "get", "slug": "none"}, {"action": "get", "slug": "../presets"}, {"action": "get"}):
        assert post(gateway, name, body)[1]["error"] in {"NOT_FOUND", "OUT_OF_SCOPE", "INVALID_INPUT"}


def test_odd_files(gateway: Gateway, data: Path) -> None:
    """A variables file that is no object, or that cannot be written, is a failure with a code."""
    write(data / "conversations/one/variables.json", [1])
    assert post(gateway, f"{BRANCHES}/variables", {"action": "get", "slug": "one"})[1]["error"] == "INVALID_TYPE"
    (data / "conversations/one/settings.json").mkdir()
    body = {"action": "get", "slug": "one"}
    assert post(gateway, f"{BRANCHES}/settings", body)[1]["error"] == "NOT_FOUND"


def test_unwritable(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full leaves the old file and says so."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(data_folder, "save_bytes", full)
    body = {"action": "set", "slug": "one", "data": {}}
    assert post(gateway, f"{BRANCHES}/variables", body)[1]["error"] == "WRITE_FAILED"


MACRO = "modules/smarttavern/macro"
TEXT = f"{MACRO}/process_text"


def test_same_call_again() -> None:
    """A reply's headers tell its moment and seed; a call with them gives the same bytes."""
    text = json.dumps({"text": "{{time}} {{random:1:1000000}}|{{python:random.random()}}"}).encode()
    gateway = Gateway()
    first = gateway.answer(Request.of("POST", f"/api/{TEXT}", JSON_HEADERS, text))
    again = gateway.answer(Request.of("POST", f"/api/{TEXT}", {**JSON_HEADERS, **first.headers}, text))
    assert first.body == again.body
    assert {"x-innkeeper-now", "x-innkeeper-seed"} <= set(again.headers)


def test_notes_are_counted_and_told_when_asked() -> None:
    """What could not be done is counted in a header, so the body stays the original's; with the header it is in the body."""
    body = json.dumps({"text": "{{foo}}{{python:9**9**8}}"}).encode()
    plain = Gateway().answer(Request.of("POST", f"/api/{TEXT}", JSON_HEADERS, body))
    assert plain.headers["x-innkeeper-notes"] == "2"
    assert list(json.loads(plain.body)) == ["text", "variables"]
    _, told = post(Gateway(), TEXT, body, X_Innkeeper_Explain="1")
    assert [(note["kind"], note["data"]["kind"]) for note in told["notes"]] == [
        ("macro", "unknown_macro"),
        ("limit", "sandbox_limit"),
    ]


@pytest.mark.parametrize("headers", [{"X_Innkeeper_Now": "noon"}, {"X_Innkeeper_Seed": "-1"}])
def test_bad_moment(headers: dict[str, str]) -> None:
    """A moment or a seed that is none is refused."""
    status, said = post(Gateway(), TEXT, {"text": "a"}, **headers)
    assert (status, said["problem"]["kind"]) == (422, "format")


def test_drafts_of_killed_writers(gateway: Gateway, data: Path) -> None:
    """What a writer that was killed has left beside a file goes with the next write; other files stay."""
    folder = data / "conversations" / "c"
    folder.mkdir(parents=True)
    for name in (".variables.json.123.tmp", ".other.tmp", "variables.json.1.tmp"):
        (folder / name).write_text("x")
    call = {"action": "set", "data": {"a": 1}, "slug": "c"}
    assert post(gateway, "modules/smarttavern/chat_branches/variables", call)[1]["variables"] == {"a": 1}
    left = sorted(path.name for path in folder.iterdir() if "tmp" in path.name)
    assert left == [".other.tmp", "variables.json.1.tmp"]


def test_lock(gateway: Gateway) -> None:
    """Who writes is alone, among processes too; the lock of one that is gone is free."""
    code = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 0), 2 | 4)"
    with writing(gateway.state):
        assert subprocess.run([sys.executable, "-c", code, str(root_of(gateway.state))], check=False).returncode
    assert not subprocess.run([sys.executable, "-c", code, str(root_of(gateway.state))], check=False).returncode
    with writing(gateway.state):
        pass
