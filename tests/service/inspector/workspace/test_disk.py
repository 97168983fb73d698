"""Files of a workspace from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from innkeeper.prompt.errors import LimitError, UnavailableError
from innkeeper.service.inspector.workspace import workspace
from innkeeper.service.inspector.workspace.disk import read_files, read_folder


def test_a_folder_gives_what_can_be_opened(tmp_path: Path) -> None:
    """By names in it; hidden files, links and what has another ending are left out."""
    outside = tmp_path / "outside.json"
    outside.write_bytes(b"{}")
    folder = tmp_path / "cards"
    (folder / "books").mkdir(parents=True)
    (folder / ".git").mkdir()
    for name in ("a.png", "books/b.json", ".hidden.json", ".git/c.json", "notes.txt"):
        (folder / name).write_bytes(b"x")
    (folder / "link.json").symlink_to(outside)
    (folder / "linked").symlink_to(tmp_path)
    read = read_folder(folder)
    assert [(name, data) for name, data, _ in read] == [("a.png", b"x"), ("books/b.json", b"x")]
    assert [path for _, _, path in read] == [folder / "a.png", folder / "books" / "b.json"]
    assert {path for _, _, path in read_folder(folder, writable=False)} == {None}


def test_files_are_called_by_their_names(tmp_path: Path) -> None:
    """With their folder's where two have one name."""
    for name in ("a/card.json", "b/card.json", "b/book.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")
    read = read_files([tmp_path / "a/card.json", tmp_path / "b/card.json", tmp_path / "b/book.json"])
    assert [name for name, _, _ in read] == ["a/card.json", "b/card.json", "book.json"]
    with pytest.raises(UnavailableError):
        read_files([tmp_path / "none.json"])


def test_there_are_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On their number and their bytes, for folders and files alike."""
    for number in range(3):
        (tmp_path / f"{number}.json").write_bytes(b"12345")
    paths = sorted(tmp_path.iterdir())
    for name in ("MAX_FILES", "MAX_FILE_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(workspace, name, 2)
            with pytest.raises(LimitError):
                read_folder(tmp_path)
            with pytest.raises(LimitError):
                read_files(paths)
