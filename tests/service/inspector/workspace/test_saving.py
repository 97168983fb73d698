"""Files on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from innkeeper.content.errors import OutputExistsError
from innkeeper.prompt.errors import UsageError
from innkeeper.service.inspector.workspace.disk import ChangedFileError, save_new, save_over
from innkeeper.taverns.profiles.files import FileNameError


def test_what_was_there_is_kept_beside(tmp_path: Path) -> None:
    """Each save keeps what it replaces, under a name that nobody has."""
    path = tmp_path / "card.json"
    path.write_bytes(b"1")
    assert save_over(path, b"1", b"2") == "card.json.bak"
    assert save_over(path, b"2", b"3") == "card.json.2.bak"
    assert save_over(path, b"3", b"3") is None
    assert [(tmp_path / name).read_bytes() for name in ("card.json", "card.json.bak", "card.json.2.bak")] == [
        b"3",
        b"1",
        b"2",
    ]


def test_a_file_that_somebody_else_changed_is_left_alone(tmp_path: Path) -> None:
    """So is a link in its place; one that is gone is written anew."""
    path = tmp_path / "card.json"
    path.write_bytes(b"other")
    with pytest.raises(ChangedFileError):
        save_over(path, b"1", b"2")
    assert path.read_bytes() == b"other"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ChangedFileError):
        save_over(path, b"1", b"2")
    assert not (tmp_path / "elsewhere").exists()
    path.unlink()
    assert save_over(path, b"1", b"2") is None
    assert path.read_bytes() == b"2"


@pytest.mark.parametrize(
    "name", ["../a.json", "/etc/a.json", "a/../../b.json", ".hidden", "c:\\a", "a\\b", "a\0b", "x/y.json"]
)
def test_a_new_file_goes_into_the_folder_alone(tmp_path: Path, name: str) -> None:
    """No name leads out of it, or below it."""
    folder = tmp_path / "cards"
    folder.mkdir()
    with pytest.raises((FileNameError, UsageError)):
        save_new(folder, name, b"1")
    assert list(tmp_path.rglob("*")) == [folder]


def test_a_new_file_overwrites_none(tmp_path: Path) -> None:
    """What is there stays."""
    assert save_new(tmp_path, "a.json", b"1").read_bytes() == b"1"
    with pytest.raises(OutputExistsError):
        save_new(tmp_path, "a.json", b"2")
