"""``innkeeper examples DIR``: all files of the examples, and never a loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from innkeeper.cli.app.root import main
from tests.shared import ROOT

FILES = sorted(
    str(path.relative_to(ROOT / "examples"))
    for path in (ROOT / "examples").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
)


def test_writes_them_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file is written with its bytes into a folder that is made; it is said where, and how many."""
    folder = tmp_path / "new" / "inn"
    assert main(["examples", str(folder)]) == 0
    assert f"{len(FILES)} files written into {folder}" in capsys.readouterr().out
    for name in FILES:
        assert (folder / name).read_bytes() == (ROOT / "examples" / name).read_bytes()


def test_overwrites_nothing_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that exists stays, and then none is written, unless ``--force`` says so; other files in the folder stay anyway."""
    (tmp_path / "wenna.png").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine too")
    assert main(["examples", str(tmp_path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "wenna.png"]
    assert (tmp_path / "wenna.png").read_text() == "mine"
    assert main(["examples", str(tmp_path), "--force"]) == 0
    assert (tmp_path / "wenna.png").read_bytes() == (ROOT / "examples" / "wenna.png").read_bytes()
    assert (tmp_path / "notes.txt").read_text() == "mine too"


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--json`` the files are listed."""
    assert main(["examples", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": str(tmp_path), "files": FILES}


def test_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no folder can be made, the error says so in plain words."""
    (tmp_path / "file").write_text("")
    assert main(["examples", str(tmp_path / "file" / "inn")]) == 69
    assert "cannot write" in capsys.readouterr().err
