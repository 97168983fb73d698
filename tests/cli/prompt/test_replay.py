"""``innkeeper replay``: a recorded build gives its bytes again, or says that it does not."""

import json
from pathlib import Path

import pytest

from innkeeper.cli import main as cli_main
from innkeeper.cli.app.root import main
from tests.cli.prompt.test_build import ASKED
from tests.shared import VECTORS


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


def test_deviations_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that is held to the document instead of the recording is listed below the totals, and in the JSON."""
    gateway = str(VECTORS / "smart" / "gateway.json")
    assert cli_main(["parity", gateway]) == 0
    total, deviation = capsys.readouterr().out.splitlines()
    assert total == "smart/http: 27/27 agreed"
    assert deviation.startswith("not held to the recording: construct_array_world_books: the document takes arrays")
    assert cli_main(["parity", gateway, "--json"]) == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    assert [case["name"] for case in cases if case["decided"]] == ["construct_array_world_books"]


def test_a_disagreement_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected and found are shown side by side."""
    case = {"name": "wrong", "call": "macro.process_text", "input": {"text": "a"}, "expected": {"text": "b"}}
    (tmp_path / "cases.json").write_text(json.dumps([case]))
    assert cli_main(["parity", str(tmp_path / "cases.json")]) == 1
    out = capsys.readouterr().out
    assert "smart/macro.process_text: 0/1 agreed (1 different)" in out
    assert '- "b"' in out
    assert '+ "a"' in out
