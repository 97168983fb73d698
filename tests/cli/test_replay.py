"""``innkeeper replay``: a recorded build gives its bytes again, or says that it does not."""

import json
from pathlib import Path

import pytest

from innkeeper.cli.root import main
from tests.cli.test_build import ASKED


@pytest.fixture
def bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A recorded build."""
    path = tmp_path / "bundle.json"
    assert main([*ASKED, "--replay-out", str(path)]) == 0
    capsys.readouterr()
    return path


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str], dialect: str) -> None:
    """A recording of real files, a lorebook among them, gives the same bytes, in each dialect."""
    path = tmp_path / "bundle.json"
    assert main([*ASKED, "--dialect", dialect, "--replay-out", str(path)]) == 0
    capsys.readouterr()
    assert main(["replay", str(path)]) == 0
    assert "same bytes" in capsys.readouterr().out
    assert main(["replay", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["same"], facts["dialect"]) == (True, dialect)


def test_stands_alone(bundle: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A recording needs none of the files it was made from, nor the clock."""
    moved = tmp_path / "elsewhere" / "b.json"
    moved.parent.mkdir()
    bundle.rename(moved)
    assert b"wenna.png" not in moved.read_bytes()
    assert main(["replay", str(moved)]) == 0
    assert "same bytes" in capsys.readouterr().out


def test_other_bytes(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """When the plan is another than the recorded one, the exit code says so, and both fingerprints are there."""
    facts = json.loads(bundle.read_text())
    facts["request"]["message"] = "Is the reef dangerous?"
    bundle.write_text(json.dumps(facts))
    assert main(["replay", str(bundle), "--json"]) == 65
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "replay"
    assert error["details"]["recorded"] == facts["fingerprint"]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"innkeeper_replay": 99}'])
def test_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """A file that is no recording is refused."""
    path = tmp_path / "x.json"
    path.write_text(content)
    assert main(["replay", str(path)]) == 65
    assert "x.json" in capsys.readouterr().err
