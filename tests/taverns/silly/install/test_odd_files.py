"""Files of a folder that hold anything: reading them gives a request or a typed error, and never leaves the folder."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import InnkeeperError
from innkeeper.taverns.silly.install import Install
from tests.taverns.silly.install.folders import RECORDED, card, chat, folder, group, persona

_ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "../x", "Mira.png", "openai", "\0"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "id", "a", "global"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(tree: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = [found for key in tree for found in _paths(tree[key], (*path, key))] if isinstance(tree, dict) else []
    return [path, *below] if path else below


_SETTINGS = json.loads((RECORDED / "default-user" / "settings.json").read_bytes())
_PATHS = _paths(_SETTINGS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one of everything."""
    root = folder(tmp_path_factory.mktemp("install"))
    card(root, "Mira", chat="now")
    chat(root, "Mira", "now", "Hello.", "Hi.")
    persona(root, "ilse.png")
    return root


def _changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(json.dumps(_SETTINGS))
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return tree


@given(st.sampled_from(_PATHS), _ODD)
def test_odd_settings(root: Path, path: tuple[str, ...], value: Any) -> None:
    """Whatever stands at a place of the settings."""
    (root / "settings.json").write_text(json.dumps(_changed(path, value)))
    with suppress(InnkeeperError):
        Install.open(root).prepare("Mira", message="Hi").build()


_KEYS = ("note_prompt", "note_depth", "variables", "world_info", "persona", "script_injects", "timedWorldInfo", "scenario",
         "lastInContextMessageId", "chat_id_hash", "main_chat", "innkeeper", "attachments")  # fmt: skip


@given(st.dictionaries(st.sampled_from(_KEYS), _ODD, max_size=4), st.lists(_ODD, max_size=3))
def test_odd_chats(root: Path, metadata: dict[str, Any], lines: list[Any]) -> None:
    """Whatever stands in a chat's header and lines; what the build leaves can be written into it."""
    (root / "settings.json").write_text(json.dumps({"main_api": "openai"}))
    said = [
        json.dumps({"chat_metadata": metadata}),
        json.dumps({"name": "Mira", "mes": "Hello."}),
        *map(json.dumps, lines),
    ]
    (root / "chats" / "Mira" / "now.jsonl").write_text("\n".join(said))
    with suppress(InnkeeperError):
        prepared = Install.open(root).prepare("Mira", message="Hi")
        assert prepared.chat.with_(prepared.build()).to_jsonl()


@given(st.sampled_from(("settings.json", "chats/Mira/now.jsonl", "characters/Mira.png")), st.data())
def test_files_that_are_being_written(root: Path, name: str, data: st.DataObject) -> None:
    """Another process may have written a file by half, or not at all: what is read then is a request or a typed error."""
    (root / "settings.json").write_text(json.dumps(_SETTINGS))
    chat(root, "Mira", "now", "Hello.", "Hi.")
    path = root / name
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        with suppress(InnkeeperError):
            Install.open(root).prepare("Mira", message="Hi").build()
    finally:
        path.write_bytes(whole)


_FIELDS = (
    "name",
    "members",
    "disabled_members",
    "activation_strategy",
    "generation_mode",
    "chat_id",
    "chats",
    "chat_metadata",
)


@given(st.dictionaries(st.sampled_from(_FIELDS), _ODD, max_size=4))
def test_odd_groups(root: Path, fields: dict[str, Any]) -> None:
    """Whatever stands in a group's file."""
    (root / "settings.json").write_text(json.dumps({"main_api": "openai"}))
    group(root, "17", "Inn", "Mira.png")
    path = root / "groups" / "17.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}))
    with suppress(InnkeeperError):
        Install.open(root).prepare(group="17").build()
