"""The command lore test: a table of all entries with their verdicts, JSON for programs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main
from tests.lore.books import entry
from tests.shared import ROOT

Run = Callable[..., tuple[int, str, str]]
BOOK = ROOT / "examples" / "larks.lorebook.json"
CHAT = ROOT / "examples" / "wenna.chat.jsonl"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run ``innkeeper lore test …``: exit code, output, errors."""

    def call(*words: object) -> tuple[int, str, str]:
        code = main(["lore", "test", *map(str, words)])
        return (code, *capfd.readouterr())

    return call


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Two entries that can fire and one that cannot."""
    entries = (
        entry(1, "ferry", comment="Ferry", content="The ferry leaves at dawn."),
        entry(2, "dawn", comment="Dawn"),
        entry(3, "ferry", comment="Off", disable=True),
    )
    path = tmp_path / "book.json"
    path.write_text(json.dumps({"entries": {str(item["uid"]): item for item in entries}}))
    return path


def rows(out: str) -> list[list[str]]:
    """The table's rows as words."""
    return [words for line in out.splitlines() if (words := line.split()) and words[0] in {"in", "out"}]


def test_every_entry_has_a_row(run: Run) -> None:
    """On the examples: all entries of the book are shown, each with a reason."""
    code, out, err = run(BOOK, "--chat", CHAT)
    assert (code, err) == (0, "")
    assert len(rows(out)) == len(json.loads(BOOK.read_text())["entries"])
    assert "lore budget" in out


def test_what_fires_comes_first(run: Run, book: Path) -> None:
    """With the key and where it was found; the others say which rule stopped them."""
    out = run(book, "--message", "Where is the ferry?")[1]
    assert [words[0] for words in rows(out)] == ["in", "out", "out"]
    assert "fired by 'ferry' in message 0 from the end (pass 1)" in out
    assert "the entry is disabled" in out
    assert "1 fired in 1 passes" in out


def test_settings(run: Run, book: Path) -> None:
    """Recursion fires the second entry; a depth of 0 none."""
    assert "2 fired" in run(book, "--message", "the ferry", "--recursive")[1]
    assert "0 fired" in run(book, "--message", "the ferry", "--depth", 0)[1]


def test_only_what_fired(run: Run, book: Path) -> None:
    """``--fired`` leaves the others out."""
    assert len(rows(run(book, "--message", "the ferry", "--fired")[1])) == 1


def test_json(run: Run, book: Path) -> None:
    """All verdicts with their reasons and facts."""
    code, out, _ = run(book, "--message", "the ferry", "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == 0
    assert [item["uid"] for item in found["activated"]] == [1]
    reasons = {item["uid"]: item["reason"] for item in found["verdicts"]}
    assert reasons == {1: "key", 2: "no_match", 3: "disabled"}
    fact = next(item["facts"] for item in found["verdicts"] if item["uid"] == 1)
    assert fact["key"] == "ferry"
    start, end = fact["span"]
    assert "User: the ferry"[start:end] == "ferry"


def test_several_books_and_a_card(run: Run, book: Path) -> None:
    """The books of files and the one inside a card take part together."""
    card = ROOT / "examples" / "wenna.png"
    out = json.loads(run(book, BOOK, "--card", card, "--message", "the ferry", "--json")[1])
    assert len({item["book"] for item in out["verdicts"]}) == 3


def test_titles_cannot_drive_the_terminal(run: Run, tmp_path: Path) -> None:
    """Control characters and markup of a book are shown, not obeyed."""
    path = tmp_path / "evil.json"
    path.write_text(json.dumps({"entries": {"1": entry(1, "x", comment="[red]a\x1b[31m")}}))
    out = run(path, "--message", "x")[1]
    assert "\x1b[31m" not in out
    assert "[red]a" in out


@pytest.mark.parametrize("content", ["{", "[]", "null"])
def test_bad_books(run: Run, tmp_path: Path, content: str) -> None:
    """A file that is no book is an error with its name."""
    path = tmp_path / "bad.json"
    path.write_text(content)
    code, out, err = run(path, "--message", "x")
    assert code != 0
    assert not out
    assert "bad.json" in err


def test_a_bad_chat(run: Run, book: Path, tmp_path: Path) -> None:
    """So is a chat that is none."""
    path = tmp_path / "chat.jsonl"
    path.write_text("{broken\n")
    code, _, err = run(book, "--chat", path)
    assert code != 0
    assert "chat.jsonl" in err
