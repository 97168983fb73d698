"""``innkeeper regress``: a corpus of chats with old and new inputs, against thresholds."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main
from innkeeper.cli.prompt.regress import ChatResult, Regression, Tolerance
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
CARD = ["--card", str(EXAMPLES / "wenna.png")]
PRESET = ["--preset", str(EXAMPLES / "skerrow.preset.json")]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two chats, a recorded build, and a card, which is no chat."""
    folder = tmp_path / "chats"
    folder.mkdir()
    shutil.copy(EXAMPLES / "wenna.chat.jsonl", folder / "long.jsonl")
    lines = (EXAMPLES / "wenna.chat.jsonl").read_text().splitlines()
    (folder / "short.jsonl").write_text("\n".join(lines[:2]))
    record = ["--message", "Hi", "--replay-out", str(folder / "turn.json"), "--out", str(tmp_path / "shown")]
    assert main(["build", CARD[1], *record]) == 0
    shutil.copy(EXAMPLES / "tobin.json", folder)
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> dict[str, Any]:
    """What the command says as JSON."""
    capsys.readouterr()
    assert main(["regress", *words, "--json"]) == code, capsys.readouterr().err
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_a_new_preset(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    """Every chat and recording of a folder is built twice; kinds of change are grouped over all of them."""
    facts = told(capsys, str(corpus), *CARD, *PRESET, code=1)
    assert [Path(chat["chat"]).name for chat in facts["chats"]] == ["long.jsonl", "short.jsonl", "turn.json"]
    assert all(chat["changes"]["changed charPersonality"] == 6 for chat in facts["chats"])
    assert facts["failures"] == ["3 of 3 prompts changed; 0 % may"]
    assert told(capsys, str(corpus), *CARD, *PRESET, "--max-changed", "100", "--max-tokens", "9", code=0)["ok"]


def test_old_inputs_by_name(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    """``--against`` takes the place of new inputs of its kinds, the others are in both; a profile is one, too."""
    same = told(capsys, str(corpus), *CARD, *PRESET, "--against", str(EXAMPLES / "wenna.json"), code=0)
    assert same["changed"] == 0
    other = told(capsys, str(corpus), *CARD, "--against", str(EXAMPLES / "tobin.json"), code=1)
    assert "changed charDescription" in other["chats"][0]["changes"]
    profile = told(capsys, str(corpus / "long.jsonl"), *CARD, "--against", str(EXAMPLES), code=1)
    assert "removed personaDescription" in profile["chats"][0]["changes"]


def test_a_chat_that_cannot_be_built(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    """The run goes on, and fails whatever the thresholds are."""
    (corpus / "cut.json").write_text('{"tavern": "nobody"}')
    words = [str(corpus), *CARD, *PRESET, "--max-changed", "100"]
    facts = told(capsys, *words, code=1)
    assert facts["failures"] == ["1 chat cannot be built"]
    assert main(["regress", *words, "--markdown"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("## 4 of 4 prompts changed")
    assert ":x: 1 chat cannot be built" in shown
    assert "error: unknown tavern" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([str(EXAMPLES / "wenna.chat.jsonl"), *CARD], "the same"),
        ([str(EXAMPLES / "smart"), *CARD, *PRESET], "no chat"),
        ([str(EXAMPLES / "wenna.chat.jsonl"), *CARD, "--preset", "nothing.json"], "nothing.json"),
        ([str(EXAMPLES / "wenna.chat.jsonl"), *CARD, *PRESET, "--against", "nothing.json"], "nothing.json"),
    ],
    ids=["nothing-to-compare", "no-chat", "no-new-file", "no-old-file"],
)
def test_what_is_no_run(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong with every chat is one error, before any is built."""
    assert main(["regress", *words]) in {2, 65, 69}
    assert said in capsys.readouterr().err


def test_thresholds() -> None:
    """Each threshold has its sentence; what is allowed has none."""
    chats = (ChatResult("a", 10, 15, {"changed x": 5}, 2), ChatResult("b", 10, 10))
    assert Regression(chats, Tolerance(50, 5, 2)).failures() == ()
    assert len(Regression(chats, Tolerance(49, 4, 1)).failures()) == 3
    assert Regression(()).failures() == ()
