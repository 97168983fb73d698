"""The catalogue of the data folder, operation by operation, without a gateway."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.determinism import EPOCH
from innkeeper.service import Settings
from innkeeper.service.gateway.catalog import SECRET, Detail, Listing, asset, node, supported_types, without_secrets
from innkeeper.service.gateway.operation import Operations
from innkeeper.service.gateway.state import MAIN_FILES, PREFIX, AppState, GatewayCall


def call_in(folder: Path | None, **files: Any) -> GatewayCall:
    """A call of a service over this data folder, with these presets in it."""
    for name, content in files.items():
        path = (folder or Path()) / "presets" / name / "preset.json"
        path.parent.mkdir(parents=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return GatewayCall(AppState(Settings(data=folder), Operations()), EPOCH, 1)


def test_listing(tmp_path: Path) -> None:
    """A list is in the order of names, and says which files cannot be read."""
    found = Listing("presets")(call_in(tmp_path, b={"name": "B"}, a={"description": "first"}, c="{", d=[1]))
    assert [(item["file"], item["name"]) for item in found["items"]] == [
        (f"{PREFIX}/presets/a/preset.json", None),
        (f"{PREFIX}/presets/b/preset.json", "B"),
    ]
    assert [error["error"].partition(":")[0] for error in found["errors"]] == ["READ_FAILED", "INVALID_TYPE"]
    assert found["total"] == 2


@pytest.mark.parametrize("folder", sorted(MAIN_FILES))
def test_an_absent_folder_is_an_empty_list(folder: str, tmp_path: Path) -> None:
    """Every folder can be listed before there is one, and none without a data folder."""
    assert Listing(folder)(call_in(tmp_path))["items"] == []
    assert Listing(folder)(call_in(None))["error"] == "NO_DATA_FOLDER"


def test_detail(tmp_path: Path) -> None:
    """An asset is given whole; text is none."""
    call = call_in(tmp_path, a={"name": "A", "api_key": "x"}, b='"text"')
    found = Detail("presets")(call, "presets/a/preset.json")
    assert (found["name"], found["content"]) == ("A", {"name": "A", "api_key": "x"})
    assert Detail("presets")(call, "presets/b/preset.json")["error"] == "INVALID_TYPE"
    assert Detail("characters")(call, "presets/a/preset.json")["error"] == "OUT_OF_SCOPE"


def test_asset(tmp_path: Path) -> None:
    """A file comes in base64 with its type; model configurations never."""
    found = asset(call_in(tmp_path, a={}), "presets/a/preset.json")
    assert (found["mime"], found["size"], base64.b64decode(found["content_base64"])) == ("application/json", 2, b"{}")
    assert asset(call_in(tmp_path), "llm_configs/m/llm_config.json")["error"] == "OUT_OF_SCOPE"


def test_supported_types(tmp_path: Path) -> None:
    """Every kind that can be listed has its folder and main file."""
    found = {item["dir"]: item["main_file"] for item in supported_types(call_in(tmp_path))["types"]}
    assert {folder: file for folder, file in MAIN_FILES.items() if folder != "conversations"}.items() <= found.items()


@dataclass(frozen=True)
class Case:
    """A name, its value, and whether that is blotted out."""

    name: str
    value: Any
    secret: bool


CASES = (
    Case("api_key", "x", True),
    Case("Authorization", "x", True),
    Case("userPassword", "x", True),
    Case("token", "x", True),
    Case("token", {"value": "x"}, True),
    Case("max_tokens", 5, False),
    Case("tokens", "x", True),
    Case("api_key", "", False),
    Case("api_key", None, False),
    Case("name", "x", False),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}={case.value!r}")
def test_secrets(case: Case) -> None:
    """What goes by the name of a secret is blotted out, numbers of tokens and empty fields aside."""
    found = without_secrets({"list": [{case.name: case.value}]})
    assert found == {"list": [{case.name: SECRET if case.secret else case.value}]}


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://user:pa@ss@host/v1", "https://[secret]@host/v1"),
        ("https://host/v1?api_key=abc&model=m", "https://host/v1?api_key=[secret]&model=m"),
        ("https://host?x=1&Access_Token=abc#part", "https://host?x=1&Access_Token=[secret]#part"),
        ("https://host:8080/v1/a@b?model=m", "https://host:8080/v1/a@b?model=m"),
        ("no address: a@b?key=c", "no address: a@b?key=c"),
    ],
)
def test_addresses(address: str, shown: str) -> None:
    """Who signs in, and keys in a query, are blotted out of addresses; the rest of them stays."""
    assert without_secrets({"base_url": address, "more": [address]}) == {"base_url": shown, "more": [shown]}


def test_node(tmp_path: Path) -> None:
    """A message of a conversation is read by its identifier; what is not there is said."""
    folder = tmp_path / "conversations" / "c"
    folder.mkdir(parents=True)
    (folder / "conversation.json").write_text(json.dumps({"nodes": {"n1": {"pid": None, "content": "hi"}}}))
    call, file = call_in(tmp_path), "conversations/c/conversation.json"
    assert node(call, file, "n1") == {
        "success": True,
        "file": f"{PREFIX}/{file}",
        "node_id": "n1",
        "node": {"pid": None, "content": "hi"},
    }
    assert node(call, file, "n2")["error"] == "NODE_NOT_FOUND"
    assert node(call, "conversations/d/conversation.json", "n1") == {
        "success": False,
        "error": "NOT_FOUND",
        "message": "no such file",
    }


_DATA = st.recursive(
    st.integers() | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "key", "max_tokens", "list"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_DATA)
def test_blotting_is_done_once(value: Any) -> None:
    """A copy without secrets has none to take, and the original is as it was."""
    before = json.dumps(value)
    once = without_secrets(value)
    assert without_secrets(once) == once
    assert json.dumps(value) == before
