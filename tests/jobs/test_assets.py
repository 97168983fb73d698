"""Results by the hash of their bytes: whole or not there, in a folder and behind fsspec."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from innkeeper.jobs import assets as module
from innkeeper.jobs.assets import FolderAssets, RemoteAssets, joined, media_type_of, open_assets
from innkeeper.library.errors import NotFoundError
from innkeeper.prompt.errors import FormatError, LimitError
from tests.jobs.fakes import PICTURE


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store of each kind."""
    return open_assets(tmp_path / "a" if request.param == "folder" else f"memory://{tmp_path.name}")


def test_kept(store: Any) -> None:
    """What is put in comes out, under its hash; the same bytes are the same asset."""
    stored = store.put(PICTURE)
    assert (stored.sha256, stored.media_type) == (hashlib.sha256(PICTURE).hexdigest(), "image/png")
    assert store.put(PICTURE) == stored
    assert store.get(stored.name) == PICTURE
    with pytest.raises(NotFoundError):
        store.get("aa/none.png")
    with pytest.raises(FormatError):
        store.put(b"<html>")


def test_kinds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The store that an address or a variable names."""
    assert isinstance(open_assets("memory://x"), RemoteAssets)
    monkeypatch.setenv("INNKEEPER_ASSETS", str(tmp_path / "named"))
    assert isinstance(open_assets(), FolderAssets)
    assert media_type_of(b"\x00\x00\x00\x18ftypmp42") == ("video/mp4", ".mp4")


def test_no_way_out(tmp_path: Path) -> None:
    """A name does not lead out of the folder, and what a killed process was writing is removed."""
    (tmp_path / "secret").write_text("x")
    folder = FolderAssets(tmp_path / "a")
    with pytest.raises(NotFoundError):
        folder.get("../secret")
    folder.put(PICTURE)
    (tmp_path / "a" / "ab").mkdir()
    (tmp_path / "a" / "ab" / ".half").write_bytes(b"x")
    assert (folder.remove_unfinished(), folder.remove_unfinished()) == (1, 0)


@pytest.mark.parametrize("error", [RuntimeError("a key: abc"), OSError("full")])
def test_store_fails(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Whatever a library that reaches a store raises is an error of a disk, without its words where they may hold a key."""
    store = open_assets("memory://failing")
    assert isinstance(store, RemoteAssets)

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(store._files, "pipe_file", fail)
    with pytest.raises(OSError, match=r"^(?!.*abc)"):
        store.put(PICTURE)
    with pytest.raises(NotFoundError):
        store.get("../a")


def test_too_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A result that is too large is refused as soon as that is known."""
    with pytest.raises(LimitError):
        joined((b"x" * 10 for _ in range(10**9)), 100)
    monkeypatch.setattr(module, "MAX_RESULT_BYTES", 10)
    with pytest.raises(LimitError):
        FolderAssets(tmp_path).put(PICTURE)
