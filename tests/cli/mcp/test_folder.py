"""The folder of an assistant: nothing beyond it is read, and only so much of it."""

import json
import os
from pathlib import Path

import pytest

from innkeeper.cli.mcp import folder as folder_module
from innkeeper.cli.mcp.folder import Folder
from innkeeper.prompt import InnkeeperError, LimitError, UnavailableError, UsageError
from innkeeper.taverns.profiles.files import FileNameError

CARD = {"name": "Mira", "description": "A ferrywoman.", "first_mes": "Hi."}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder with a card, beside a secret, with links that lead there."""
    inner = tmp_path / "cards"
    (inner / "more").mkdir(parents=True)
    (inner / "mira.json").write_text(json.dumps(CARD))
    (inner / "more" / "mira.json").write_text(json.dumps(CARD))
    (inner / ".env").write_text("KEY=1")
    (tmp_path / "secret.json").write_text(json.dumps(CARD))
    (inner / "link.json").symlink_to(tmp_path / "secret.json")
    (inner / "up").symlink_to(tmp_path)
    os.mkfifo(inner / "pipe.json")
    return Folder(inner)


OUT = ("../secret.json", "/etc/passwd", "more/../../secret.json", "link.json", "up/secret.json", ".env", "pipe.json",
       "more", "C:\\x.json", "a\0b", ".")  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_what_leads_out_is_refused(folder: Folder, name: str) -> None:
    """Absolute names, those that go up, hidden files, links and what is no file are refused, with the name that was given."""
    with pytest.raises(FileNameError) as caught:
        folder.assets([name])
    assert caught.value.where is not None
    assert caught.value.where.asset == name


def test_what_is_there(folder: Folder) -> None:
    """Files are read by their names within the folder, and listed without hidden ones, links and pipes."""
    assert folder.assets(["more/mira.json"]).fields["character"].name == "Mira"
    listed = folder.listed()
    assert [one["file"] for one in listed["files"]] == ["mira.json", "more/mira.json"]
    assert listed["more"] is False


def test_what_is_not_there(folder: Folder, tmp_path: Path) -> None:
    """A file that is missing is named as it was; the folder's own place is not told."""
    with pytest.raises(UnavailableError) as caught:
        folder.read("nobody.json")
    assert caught.value.to_dict()["where"] == {"asset": "nobody.json"}
    assert str(tmp_path) not in str(caught.value.to_dict())
    with pytest.raises(UnavailableError):
        Folder(tmp_path / "nowhere")
    with pytest.raises(UsageError):
        folder.assets([""])


def test_errors_name_the_file(folder: Folder) -> None:
    """What is wrong with a file is told with its name."""
    (folder.path / "broken.json").write_text("{")
    with pytest.raises(InnkeeperError) as caught:
        folder.assets(["mira.json", "broken.json"])
    assert caught.value.where is not None
    assert caught.value.where.asset == "broken.json"


def test_limits(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a call are bounded in number and in size, the list of files in length."""
    monkeypatch.setattr(folder_module, "MAX_CALL_BYTES", 100)
    with pytest.raises(LimitError, match="MAX_CALL_BYTES"):
        folder.assets(["mira.json", "more/mira.json"])
    monkeypatch.setattr(folder_module, "MAX_CALL_BYTES", 200)
    monkeypatch.setattr(folder_module, "MAX_CALL_FILES", 1)
    for read in (folder.assets, lambda names: list(folder.each(names))):
        with pytest.raises(LimitError, match="MAX_CALL_FILES"):
            read(["mira.json", "more/mira.json"])
    monkeypatch.setattr(folder_module, "MAX_LISTED_FILES", 1)
    assert folder.listed() == {"files": [{"file": "mira.json", "bytes": len(json.dumps(CARD))}], "more": True}
