"""``python -m scripts.parity``: what agrees with the original systems, what differs on purpose, and what disagrees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.parity.__main__ import main
from tests.shared import ROOT

VECTORS = ROOT / "tests" / "vectors"


def parity(*words: str) -> object:
    """Run the command; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_deviations_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that is held to the document instead of the recording is listed below the totals, and in the JSON."""
    gateway = str(VECTORS / "smart" / "gateway.json")
    assert parity(gateway) == 0
    total, deviation, end = capsys.readouterr().out.splitlines()
    assert end.startswith("all agree")
    assert total == "smart/http: 27/27 agreed"
    assert deviation.startswith("not held to the recording: construct_array_world_books: the document takes arrays")
    assert parity(gateway, "--json") == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    assert [case["name"] for case in cases if case["decided"]] == ["construct_array_world_books"]


def test_a_disagreement_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected and found are shown side by side."""
    case = {"name": "wrong", "call": "macro.process_text", "input": {"text": "a"}, "expected": {"text": "b"}}
    (tmp_path / "cases.json").write_text(json.dumps([case]))
    assert parity(str(tmp_path / "cases.json")) == 1
    out = capsys.readouterr().out
    assert "smart/macro.process_text: 0/1 agreed (1 different)" in out
    assert '- "b"' in out
    assert '+ "a"' in out
