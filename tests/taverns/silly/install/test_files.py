"""A user's folder: it is only read, by names that stay in it, and says what it passed over."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from innkeeper.content.errors import LIMITS, MissingFileError
from innkeeper.prompt import FormatError
from innkeeper.prompt.errors import LimitError, UnknownNameError
from innkeeper.taverns.silly.install import Install
from innkeeper.taverns.silly.install.files import UserFolder, user_folder
from tests.taverns.silly.install.folders import folder

ODD = ["..", ".", "", "../outside.json", "a/b.json", "a\\b.json", "\0.json", "x" * 300, "secrets.json", "Secrets.JSON"]


@pytest.mark.parametrize("name", ODD)
def test_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    """A name is one part of a path, and the keys are never opened: others are not read, which is noted."""
    root = folder(tmp_path / "user")
    (tmp_path / "outside.json").write_text("{}")
    (root / "secrets.json").write_text("{}")
    user = UserFolder(root)
    assert user.path(name) is None
    assert user.json(name) is None
    assert len(user.notes) == 2


def test_media_are_read_from_their_folders_alone(tmp_path: Path) -> None:
    """An address in the application leads to attached pictures and files; nothing else is read for it."""
    root = folder(tmp_path / "user")
    (root / "user" / "images" / "Mara").mkdir(parents=True)
    (root / "user" / "images" / "Mara" / "a b.png").write_bytes(b"picture")
    user = UserFolder(root)
    assert user.media("/user/images/Mara/a%20b.png") == user.media("user/images/Mara/a b.png") == b"picture"
    others = [
        "settings.json",
        "user/images",
        "user/images/../../settings.json",
        "user/images/%2e%2e/x",
        "user/images/no.png",
    ]
    for url in [
        *others,
        "https://example.com/user/images/Mara/a b.png",
        "file:///etc/passwd",
        "http://[",
        "characters/Mara.png",
        "",
    ]:
        assert user.media(url) is None


def test_links_that_lead_out(tmp_path: Path) -> None:
    """What a link leads to has to be in the folder as well."""
    root = folder(tmp_path / "user")
    (tmp_path / "outside.json").write_text("{}")
    (root / "worlds" / "out.json").symlink_to(tmp_path / "outside.json")
    (root / "worlds" / "in.json").symlink_to(root / "settings.json")
    (root / "worlds" / "loop.json").symlink_to(root / "worlds" / "loop.json")
    user = UserFolder(root)
    assert user.json("worlds", "out.json") is None
    assert "leads out of the folder" in user.notes[0].message
    assert user.json("worlds", "in.json") is not None
    assert user.json("worlds", "loop.json") is None


@pytest.mark.parametrize("name", ["w.json", "Secrets.json"])
def test_the_keys_are_not_opened_by_another_name(tmp_path: Path, name: str) -> None:
    """A link to the keys is not followed, whatever it is called."""
    root = folder(tmp_path / "user")
    (root / "secrets.json").write_text("{}")
    (root / "worlds" / name).symlink_to(root / "secrets.json")
    user = UserFolder(root)
    assert user.json("worlds", name) is None
    assert len(user.notes) == 1


def test_folders_outside_are_not_listed(tmp_path: Path) -> None:
    """Of a folder that is a link out no names are read, nor of one whose name leads elsewhere."""
    root = folder(tmp_path / "user")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.png").write_bytes(b"")
    (root / "extensions").symlink_to(tmp_path / "outside")
    user = UserFolder(root)
    assert user.names("extensions", suffix="") == ()
    assert "leads out of the folder" in user.notes[0].message
    assert user.names("..", "outside", suffix="") == ()
    assert len(user.notes) == 2


def test_files_of_other_kinds(tmp_path: Path) -> None:
    """A pipe is not waited for, and a folder is not a file: noted, not read."""
    root = folder(tmp_path / "user")
    os.mkfifo(root / "worlds" / "pipe.json")
    (root / "worlds" / "folder.json").mkdir()
    user = UserFolder(root)
    assert user.json("worlds", "pipe.json") is None
    assert user.json("worlds", "folder.json") is None
    assert [note.message for note in user.notes] == ["this is not a regular file: it is not read"] * 2


@pytest.mark.parametrize("method", ["is_file", "is_dir"])
def test_what_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """What the system refuses to show is noted, or is an error that says so; it is not taken for missing."""
    user = UserFolder(folder(tmp_path / "user"))

    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, method, refuse)
    assert user.path("settings.json") is None or method == "is_dir"
    assert user.names("characters", suffix=".png") == () or method == "is_file"
    assert [note.message for note in user.notes] == ["this cannot be read: Permission denied"]
    if method == "is_dir":
        with pytest.raises(MissingFileError, match="Permission denied"):
            user_folder(tmp_path)


@pytest.mark.parametrize("path", ["x" * 5_000, "~nobody-of-this-name/x", "a\0b", "\ud800"])
def test_paths_that_cannot_be(path: str) -> None:
    """A path that no folder can have is a missing folder."""
    with pytest.raises(MissingFileError):
        user_folder(path)


def test_damaged_json(tmp_path: Path) -> None:
    """A damaged file counts as none, with a note that says where."""
    root = folder(tmp_path)
    (root / "worlds" / "b.json").write_text('{\n "entries": {,}\n}')
    (root / "worlds" / "list.json").write_text("[]")
    user = UserFolder(root)
    assert user.json("worlds", "b.json") is None
    assert user.json("worlds", "list.json") is None
    assert str(user.notes[0]).startswith("worlds/b.json:2: ")
    assert "not a JSON object" in user.notes[1].message


def test_limits(tmp_path: Path) -> None:
    """A file larger than its limit is not read whole."""
    root = folder(tmp_path)
    limits = LIMITS.__replace__(file_bytes=4) if hasattr(LIMITS, "__replace__") else type(LIMITS)(file_bytes=4)
    with pytest.raises(LimitError):
        UserFolder(root, limits).data("settings.json")


@pytest.mark.parametrize("path", ["", "data", "data/default-user"])
def test_where_a_user_is_found(tmp_path: Path, path: str) -> None:
    """The install, its data folder and the user's own folder all mean the user."""
    root = folder(tmp_path / "data" / "default-user")
    folder(tmp_path / "data" / "other")
    assert user_folder(tmp_path / path).root == root


def test_users(tmp_path: Path) -> None:
    """Of several users one has to be named; without a default one nobody is guessed."""
    for name in ("anna", "bert"):
        folder(tmp_path / name)
    assert user_folder(tmp_path, "bert").root == tmp_path / "bert"
    with pytest.raises(FormatError, match="several users") as told:
        user_folder(tmp_path)
    assert "anna, bert" in str(told.value.hint)
    with pytest.raises(FormatError, match="no user 'carl'"):
        user_folder(tmp_path, "carl")


def test_no_folder(tmp_path: Path) -> None:
    """A path that is nothing, and a folder of something else, are errors that say what is wanted."""
    with pytest.raises(MissingFileError):
        user_folder(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="not a SillyTavern data folder") as told:
        user_folder(tmp_path)
    assert "settings.json" in str(told.value.hint)


def test_names_in_order(tmp_path: Path) -> None:
    """Names come sorted, and only those with the ending."""
    root = folder(tmp_path)
    for name in ("b.json", "a.json", "c.txt"):
        (root / "worlds" / name).write_text(json.dumps({}))
    assert UserFolder(root).names("worlds", suffix=".json") == ("a.json", "b.json")
    assert UserFolder(root).names("nowhere", suffix=".json") == ()


def test_links_lead_where_the_user_allows_it(tmp_path: Path) -> None:
    """Characters on another disk are read where that folder is named, and there alone; keys are not opened even so."""
    root = folder(tmp_path / "user")
    disk, other = tmp_path / "disk", tmp_path / "other"
    (root / "characters").rename(disk)
    (root / "characters").symlink_to(disk)
    other.mkdir()
    (other / "secrets.json").write_text("{}")
    (disk / "keys.json").symlink_to(other / "secrets.json")
    closed, opened = UserFolder(root), UserFolder(root, linked=(disk,))
    assert closed.names("characters", suffix=".png") == ()
    assert "--linked" in closed.notes[0].message
    assert "Mira.png" in opened.names("characters", suffix=".png")
    assert opened.path("characters", "Mira.png") is not None
    assert opened.path("characters", "keys.json") is None
    assert UserFolder(root, linked=(disk, other)).path("characters", "keys.json") is None
    assert Install.open(root, linked=(disk,)).prepare("Mira").character == "Mira.png"
    with pytest.raises(UnknownNameError):
        Install.open(root).prepare("Mira")
