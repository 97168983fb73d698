"""``innkeeper diff``: two prompts from two files, all else the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
CARD = str(EXAMPLES / "wenna.png")
OTHER = str(EXAMPLES / "tobin.json")
PRESET = str(EXAMPLES / "skerrow.preset.json")
COMMON = ["--chat", str(EXAMPLES / "wenna.chat.jsonl"), "--message", "Is the reef safe?"]


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> dict[str, Any]:
    """What the command says as JSON."""
    assert main(["diff", *words, "--json"]) == code, capsys.readouterr().err
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_two_cards(capsys: pytest.CaptureFixture[str]) -> None:
    """Cards are compared in the same chat; the code says that something differs."""
    facts = told(capsys, CARD, OTHER, *COMMON, code=1)
    assert {change["slot"] for change in facts["blocks"]} >= {"scenario", "charDescription"}
    assert [flip["title"] for flip in facts["verdicts"]] == ["The Bell Reef", "Skerrow"]


def test_a_recorded_build_is_a_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A recording, and the request in it, give the prompt that was recorded; another preset is seen against it."""
    recorded, request = tmp_path / "turn.json", tmp_path / "request.json"
    assert main(["build", CARD, *COMMON, "--replay-out", str(recorded), "--out", str(tmp_path / "x")]) == 0
    request.write_text(json.dumps(json.loads(recorded.read_bytes())["request"]))
    assert told(capsys, str(recorded), str(request), code=0)["same"]
    assert main(["diff", str(recorded), PRESET, "--card", CARD, *COMMON]) == 1
    shown = capsys.readouterr().out
    assert "{+Wenna Carrow is+}" in shown
    assert "temperature" in shown


def test_a_profile_is_a_side(capsys: pytest.CaptureFixture[str]) -> None:
    """A profile brings all that it has."""
    facts = told(capsys, str(EXAMPLES), CARD, "--message", "Hi", code=1)
    assert "personaDescription" in {change["slot"] for change in facts["blocks"] if change["kind"] == "removed"}


def test_a_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The page is written once, and not over a file."""
    page = tmp_path / "page.html"
    assert main(["diff", CARD, OTHER, *COMMON, "--html", str(page)]) == 1
    assert "<ins>" in page.read_text()
    assert "https" not in page.read_text()
    assert main(["diff", CARD, OTHER, *COMMON, "--html", str(page)]) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("{", ":1:2: not JSON"),
        ('{"innkeeper_replay": 9}', "format 9"),
        ('{"innkeeper_replay": 1}', "must be text"),
        ('{"tavern": 5}', "tavern must be text"),
    ],
    ids=["missing", "no-json", "another-version", "cut", "no-request"],
)
def test_what_is_no_side(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, said: str) -> None:
    """A file that gives no prompt is a typed error that names it."""
    side = tmp_path / "side.json"
    if content is not None:
        side.write_text(content)
    assert main(["diff", CARD, str(side), *COMMON]) in {65, 69}
    shown = capsys.readouterr()
    assert said in shown.err
    assert "side.json" in shown.err
