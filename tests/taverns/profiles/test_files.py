"""Files of a profile are read within its folder alone."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.errors import LIMITS
from innkeeper.prompt import LimitError, UnavailableError
from innkeeper.taverns.profiles import files
from innkeeper.taverns.profiles.files import DocumentFiles, FileNameError, FolderFiles, checked_parts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in it, one beside it, and links that lead there."""
    inner = tmp_path / "profile"
    (inner / "lore").mkdir(parents=True)
    (inner / "card.json").write_bytes(b"card")
    (inner / "lore" / "book.json").write_bytes(b"book")
    (tmp_path / "secret.json").write_bytes(b"secret")
    (inner / "link.json").symlink_to(tmp_path / "secret.json")
    (inner / "up").symlink_to(tmp_path)
    (inner / "inside.json").symlink_to(inner / "card.json")
    return inner


@pytest.mark.parametrize(
    ("name", "data"), [("card.json", b"card"), ("lore/book.json", b"book"), ("./card.json", b"card")]
)
def test_reads_what_is_within(folder: Path, name: str, data: bytes) -> None:
    """A file of the folder, or of one below it, is read."""
    assert FolderFiles(folder).read(name) == data


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../secret.json", "lore/../../secret.json", "link.json", "up/secret.json", "inside.json", "lore",
     "C:\\x", "c:x", "lore\\book.json", ".hidden", "lore/.hidden", "a\0b", "."],
)  # fmt: skip
def test_refuses_what_leads_out(folder: Path, name: str) -> None:
    """Names that are absolute, go up, hide, or lead through links are refused, as is what is no file."""
    with pytest.raises(FileNameError):
        FolderFiles(folder).read(name)


def test_refuses_links_everywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a system cannot open from a folder, links are refused all the same."""
    monkeypatch.setattr(os, "supports_dir_fd", set())
    assert FolderFiles(folder).read("lore/book.json") == b"book"
    for name in ("link.json", "up/secret.json"):
        with pytest.raises(FileNameError):
            FolderFiles(folder).read(name)


def test_a_pipe_is_no_file(folder: Path) -> None:
    """A pipe nobody writes to does not keep the reader waiting."""
    os.mkfifo(folder / "pipe")
    with pytest.raises(FileNameError):
        FolderFiles(folder).read("pipe")


def test_a_missing_file(folder: Path) -> None:
    """A file that is not there is unavailable, in memory as well."""
    for place in (FolderFiles(folder), DocumentFiles({"a": b""})):
        with pytest.raises(UnavailableError):
            place.read("none.json")
    assert DocumentFiles({"a": b"x"}).read("a") == b"x"


def test_a_large_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the limit is refused."""
    monkeypatch.setattr(files, "LIMITS", type(LIMITS)(archive_bytes=2))
    with pytest.raises(LimitError, match="archive_bytes"):
        FolderFiles(folder).read("card.json")


def test_a_change_is_seen(folder: Path) -> None:
    """A file that was changed, replaced or removed is not the same."""
    path, new = folder / "card.json", folder / "new.json"
    new.write_bytes(b"card")
    changes: list[Callable[[], object]] = [
        lambda: path.write_bytes(b"other card"),
        lambda: new.replace(path),
        path.unlink,
    ]
    for change in changes:
        place = FolderFiles(folder)
        place.read("card.json")
        assert place.is_same()
        change()
        assert not place.is_same()


@given(st.text(max_size=30))
def test_any_name_stays_within(name: str) -> None:
    """Whatever a name is, its parts stay below the folder, or it is refused."""
    try:
        parts = checked_parts(name)
    except FileNameError:
        return
    assert parts
    assert not {"..", "/", "."} & set(parts)
