"""The command that follows a chat turn by turn: tables, data, a picture, a page."""

from pathlib import Path

from tests.cli.prompt.test_cache import CARD, chat
from tests.cli.running import Run
from tests.shared import ROOT

BOOK = ROOT / "examples" / "larks.lorebook.json"


def test_timeline(run: Run, tmp_path: Path) -> None:
    """Entries with a mark for each turn, tokens by group; the picture and the page are written."""
    words = ("timeline", CARD, BOOK, chat(tmp_path / "chat.jsonl"))
    shown = run(*words, "--svg", str(tmp_path / "a.svg"), "--html", str(tmp_path / "a.html"))
    assert (shown.code, "██████" in shown.out, "history" in shown.out) == (0, True, True)
    assert "<polygon" in (tmp_path / "a.svg").read_text()
    assert "<table>" in (tmp_path / "a.html").read_text()
    assert len(run(*words, "--json").data["turns"]) == 6


def test_a_chat_is_needed(run: Run) -> None:
    """Without one it is an error with a hint."""
    assert run("timeline", CARD).code == 2
