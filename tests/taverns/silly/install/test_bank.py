"""The data bank's files of a folder, as the vector storage searches them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from innkeeper.taverns.silly.install.bank import data_bank
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.names import find_card
from innkeeper.taverns.silly.install.selected import Selected
from tests.taverns.silly.install.folders import folder


def file(name: str) -> dict[str, Any]:
    """A file of the data bank, as it is stored."""
    return {"url": f"/user/files/{name}", "name": name, "size": 3}


STORED = {
    "vectors": {"enabled_files": True},
    "attachments": [file("a.txt"), file("off.txt")],
    "character_attachments": {"Mira.png": [file("c.txt")], "Bo.png": [file("d.txt")]},
    "disabled_attachments": ["/user/files/off.txt"],
}


@pytest.fixture
def user(tmp_path: Path) -> UserFolder:
    """A folder with some files."""
    root = folder(tmp_path)
    (root / "user" / "files").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "c.txt", "off.txt"):
        (root / "user" / "files" / name).write_text(f"text of {name}")
    return UserFolder(root)


def texts(user: UserFolder, metadata: dict[str, Any], **changes: Any) -> list[Any]:
    """The texts of the files that are searched."""
    selected = Selected(user, {"extension_settings": {**STORED, **changes}})
    found = data_bank(user, selected, metadata, find_card(user, "Mira"))
    return [item["text"] for item in found.get("attachments", ())]


def test_whose_files(user: UserFolder) -> None:
    """Everybody's, the chat's and the character's, in this order, without those that are off."""
    assert texts(user, {"attachments": [file("b.txt")]}) == ["text of a.txt", "text of b.txt", "text of c.txt"]


@pytest.mark.parametrize("changes", [{"vectors": {}}, {"disabledExtensions": ["vectors"]}])
def test_not_searched(user: UserFolder, changes: dict[str, Any]) -> None:
    """Without a search of files none is read."""
    assert texts(user, {}, **changes) == []


@pytest.mark.parametrize("url", ["/user/files/../../settings.json", "/user/files/missing.txt", "https://x/a", "", 5])
def test_addresses_that_lead_nowhere(user: UserFolder, url: Any) -> None:
    """An address that is not that of a file in the folder has no text."""
    assert texts(user, {}, attachments=[{"url": url, "name": "x"}], character_attachments={}) == [None]
