"""``innkeeper inspect``: what it opens, and what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main
from innkeeper.service.inspector import server
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.taverns.silly.install import Install
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
NOW = "2026-01-15T12:34:56Z"
INSTALL = Path(__file__).parents[2] / "vectors/silly/folder/data/default-user"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[WorkspaceSession]:
    """The workspaces that would be served, and nothing is."""
    sessions: list[WorkspaceSession] = []

    def serve(session: WorkspaceSession, ready: Callable[[str], None], **_: Any) -> None:
        sessions.append(session)
        ready("http://here/inspector/?token=1")

    monkeypatch.setattr(server, "serve_inspector", serve)
    return sessions


def test_without_words_it_opens_the_example(served: list[WorkspaceSession], capsys: pytest.CaptureFixture[str]) -> None:
    """Which nobody can write to, and in which there is something to see."""
    assert main(["inspect", "--no-browser"]) == 0
    assert "http://here/inspector/?token=1" in capsys.readouterr().out
    session = served[0]
    assert {file.name for file in session.files.values()} >= {"wenna.png", "larks.lorebook.json", "profile.toml"}
    assert {file.path for file in session.files.values()} == {None}
    assert (session.folder, bool(session.settings["message"])) == (None, True)


def test_files_are_used_all_of_them(served: list[WorkspaceSession], capsys: pytest.CaptureFixture[str]) -> None:
    """Each is saved where it lies; programs are told the address as JSON."""
    names = [str(EXAMPLES / name) for name in ("wenna.png", "larks.lorebook.json")]
    assert main(["inspect", "--no-browser", "--json", *names]) == 0
    assert json.loads(capsys.readouterr().out) == {"address": "http://here/inspector/?token=1"}
    session = served[0]
    assert [file.path for file in session.files.values()] == [Path(name).resolve() for name in names]
    assert session.options.every
    assert session.folder == EXAMPLES.resolve()


def test_a_folder_goes_alone(
    served: list[WorkspaceSession], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files are saved in it; beside files it is refused, as is one that is not there."""
    (tmp_path / "card.json").write_bytes((EXAMPLES / "tobin.json").read_bytes())
    assert main(["inspect", "--no-browser", str(tmp_path)]) == 0
    assert [(file.name, file.path) for file in served[0].files.values()] == [("card.json", tmp_path / "card.json")]
    assert main(["inspect", "--no-browser", str(tmp_path), str(tmp_path / "card.json")]) == 2
    assert "folder goes alone" in capsys.readouterr().err
    assert main(["inspect", "--no-browser", str(tmp_path / "none.json")]) == 69


@pytest.mark.parametrize(
    ("words", "character"),
    [((str(INSTALL),), None), (("--sillytavern", str(INSTALL), "--character", "Bram"), "Bram")],
)
def test_a_sillytavern_folder_opens_as_its_next_request(
    served: list[WorkspaceSession], words: tuple[str, ...], character: str | None
) -> None:
    """With the assets that are selected there, as ``build --sillytavern`` reads them."""
    assert main(["inspect", "--no-browser", *words]) == 0
    session, installed = served[0], Install.open(INSTALL).prepare(character)
    names = {file.name: file.path for file in session.files.values()}
    assert names[f"characters/{installed.character}"] == INSTALL / "characters" / installed.character
    assert session.install is not None
    assert session.install.choice.character == character


@pytest.mark.parametrize(
    "words", [("--character", "Bram"), ("--sillytavern", str(INSTALL), "--character", "Nobody"), ("--user", "ilse")]
)
def test_names_need_their_folder(served: list[WorkspaceSession], words: tuple[str, ...]) -> None:
    """And what is not in it is refused before anything is served."""
    assert main(["inspect", "--no-browser", *words]) != 0
    assert not served


def test_a_browser_is_opened_unless_told_otherwise(
    served: list[WorkspaceSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the address that opens once."""
    opened: list[str] = []
    monkeypatch.setattr("innkeeper.cli.app.inspect._show", opened.append)
    assert main(["inspect"]) == 0
    assert main(["inspect", "--no-browser"]) == 0
    assert opened == ["http://here/inspector/?token=1"]
    assert len(served) == 2
