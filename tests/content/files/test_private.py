"""Files for their owner alone: their mode, and what killed writers leave behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from innkeeper.content.files.private import draft_beside, make_private, write_private


def test_written_whole_and_private(tmp_path: Path) -> None:
    """A file takes its name when it is whole, and nobody else may read it, whatever stood there."""
    path = tmp_path / "new" / "key"
    write_private(path, b"one")
    path.chmod(0o644)
    write_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    make_private(path)
    assert path.read_bytes() == b"two"
    assert [one.name for one in path.parent.iterdir()] == ["key"]


def test_drafts_of_dead_processes_are_removed(tmp_path: Path) -> None:
    """What a killed writer left goes with the next write; the drafts of those who still write stay."""
    path = tmp_path / "key"
    code = (
        "import os, sys; from pathlib import Path; from innkeeper.content.files.private import draft_beside\n"
        "with draft_beside(Path(sys.argv[1])) as draft: draft.write_bytes(b'secret'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 9
    assert len(list(tmp_path.iterdir())) == 1
    with draft_beside(path) as mine:
        old = tmp_path / f".key.{os.getpid()}.00000000.tmp"
        for other in (old, tmp_path / f".key.{10**30}.00000000.tmp", tmp_path / ".key.notes"):
            other.write_bytes(b"")
        os.utime(old, (0, 0))
        write_private(path, b"two")
        assert mine.exists()
    assert {one.name for one in tmp_path.iterdir()} == {"key", ".key.notes", f".key.{10**30}.00000000.tmp"}


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk is full, the old file is whole and no draft stays."""
    path = tmp_path / "key"
    write_private(path, b"one")

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(path, b"two")
    assert path.read_bytes() == b"one"
    assert [one.name for one in tmp_path.iterdir()] == ["key"]
