"""CacheView: what is in memory and beside the database, and that it is built anew whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from innkeeper.content.errors import MissingFileError
from innkeeper.library.catalogue.database_source import DatabaseSnapshots
from innkeeper.library.catalogue.snapshot import SnapshotFile
from innkeeper.library.errors import DatabaseMissingError, DatabaseReadOnlyError
from innkeeper.library.library import Library
from tests.library.opening import opened, published


@pytest.fixture
def library(url: str) -> Iterator[Library]:
    """An open library with one published template."""
    with opened(url) as found:
        published(found)
        yield found


def test_rebuild(library: Library) -> None:
    """A rebuilt snapshot is in its file and in the database, of the revision and the content that is in memory."""
    library.snapshot.unlink()
    assert library.cache.show()["snapshot"]["problem"].startswith("no snapshot")
    made = library.cache.rebuild()
    shown = library.cache.show()
    assert made["problem"] == ""
    assert shown["snapshot"]["content_sha256"] == made["content_sha256"]
    assert shown["snapshot"]["revision"] == shown["revision"] == made["revision"] == library.db.revision()
    assert shown["labels"] == {"production": 1}
    assert shown["problems"] == []
    assert DatabaseSnapshots(library.db).load().labelled == SnapshotFile(library.snapshot).load().labelled


def test_what_stands_in_the_way(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be written is an error; a table that cannot be is told, and the file counts."""
    blocked = library.snapshot.with_name("file")
    blocked.write_text("")
    kept = library.snapshot
    library.snapshot = blocked / "below"
    with pytest.raises(MissingFileError):
        library.cache.rebuild()
    library.snapshot = kept

    def refuse(*_: object) -> None:
        raise DatabaseReadOnlyError("no")

    monkeypatch.setattr(DatabaseSnapshots, "store", refuse)
    assert library.cache.rebuild()["problem"] == "database_read_only"


def test_no_database_no_rebuild(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without the database nothing is built, and the error is the database's."""
    path = tmp_path_factory.mktemp("none") / "x.db"
    with opened(str(path), create=False) as library:
        with pytest.raises(DatabaseMissingError):
            library.cache.rebuild()
        assert library.cache.show()["degraded"] == ["database_missing"]


def test_a_snapshot_that_cannot_be_kept_is_told(url: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where the snapshot cannot be written answers go on, and the view says why."""
    folder = tmp_path_factory.mktemp("snap")
    (folder / "file").write_text("")
    with opened(url, snapshot=folder / "file" / "below") as library:
        published(library)
        assert library.cache.show()["problems"] == ["snapshot:missing_file"]
        assert not library.catalogue.degraded
