"""The command lint: what people see, what programs see, and the exit code."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from innkeeper.cli.app.render import MOST_ROWS
from innkeeper.cli.app.root import main
from tests.lore.books import entry
from tests.shared import ROOT

Run = Callable[..., tuple[int, str, str]]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run ``innkeeper lint …``: exit code, output, errors."""

    def call(*words: object) -> tuple[int, str, str]:
        code = main(["lint", *map(str, words)])
        return (code, *capfd.readouterr())

    return call


def write(path: Path, value: Any) -> Path:
    """The value as a JSON file."""
    path.write_text(json.dumps(value))
    return path


def book_file(folder: Path, *entries: dict[str, Any]) -> Path:
    """A lorebook file."""
    return write(folder / "book.json", {"entries": {str(item["uid"]): item for item in entries}})


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in {".json", ".png"}))
def test_the_examples_are_sound(run: Run, name: str) -> None:
    """Nothing is wrong with the files that newcomers see first."""
    code, out, err = run(EXAMPLES / name)
    assert (code, out, err) == (0, "0 findings in 1 file\n", "")


def test_warnings_fail(run: Run, tmp_path: Path) -> None:
    """A dead entry is named with its file, place and rule, and the exit code is 1."""
    path = book_file(tmp_path, entry(1, comment="Ghost"), entry(2, "ferry"))
    code, out, _ = run(path)
    assert code == 1
    assert f"{path}: warning: entries[1].key: Ghost: it has no keys and is not constant (dead-entry)" in out
    assert out.endswith("1 finding in 1 file\n")


def test_a_folder(run: Run, tmp_path: Path) -> None:
    """Of a folder every file of a known kind is checked; another one is named, unless it was named itself."""
    (tmp_path / "deep").mkdir()
    book = book_file(tmp_path / "deep", entry(1, comment="Ghost"))
    (tmp_path / "notes.txt").write_text("no asset", "utf-8")
    other = write(tmp_path / "other.json", [1])
    code, out, err = run(tmp_path)
    assert (code, out.splitlines()[-1]) == (1, "1 finding in 1 file")
    assert f"{book}: warning" in out
    assert (f"left out: {other}" in err, "notes.txt" in err) == (True, False)
    assert run(other)[0] == 65


def test_the_limit_is_a_files(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files there are, each has all of the allowance, to be read and to be checked."""
    books = [write(tmp_path / f"{name}.json", {"entries": {"1": entry(1, "ferry", "x")}}) for name in range(3)]
    opened = Mock(side_effect=lambda _: nullcontext())
    monkeypatch.setattr("innkeeper.cli.prompt.lint.allowed", opened)
    run(*books)
    assert opened.call_count == 2 * len(books)


def test_a_mend_is_said(run: Run, tmp_path: Path) -> None:
    """What is probably meant stands with the finding, for people as for programs."""
    card = write(tmp_path / "c.json", {"name": "Mira", "description": "{{chra}} waits.", "first_mes": "Hi."})
    assert "did you mean {{char}}?" in run(card)[1]
    assert "did you mean {{char}}?" in run(card, "--json")[1]


def test_facts_fail_only_when_strict(run: Run, tmp_path: Path) -> None:
    """A finding that is only worth knowing passes, unless asked for."""
    path = book_file(tmp_path, entry(1, "ferry", "ferry"))
    assert run(path)[0] == 0
    assert run(path, "--strict")[0] == 1


def test_json(run: Run, tmp_path: Path) -> None:
    """One object a finding, with its file."""
    path = book_file(tmp_path, entry(1, "at", content="{{nobody}}"))
    code, out, _ = run(path, "--json")
    found = json.loads(out)
    assert code == 1
    assert {item["rule"] for item in found} == {"short-key", "unknown-macro"}
    assert {item["file"] for item in found} == {str(path)}


def test_lore_is_judged_by_the_preset_beside_it(run: Run, tmp_path: Path) -> None:
    """Slots and budget come from the preset among the files."""
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    preset = write(
        tmp_path / "preset.json",
        {
            "chat_completion_source": "openai",
            "openai_max_context": 40,
            "prompts": [{"identifier": "main", "name": "Main", "role": "system", "content": "x"}],
            "prompt_order": order,
        },
    )
    path = book_file(tmp_path, entry(1, constant=True, content="lantern " * 40))
    assert run(path)[0] == 0
    code, out, _ = run(preset, path)
    assert code == 1
    assert {"(no-slot)", "(constants-over-budget)", "(no-history)"} <= set(out.split())


def test_a_card_with_its_book(run: Run, tmp_path: Path) -> None:
    """The texts of a card and the book inside it."""
    book = {
        "entries": [{"keys": ["/(a+)+$/"], "content": "x", "enabled": True, "insertion_order": 1, "extensions": {}}]
    }
    data = {"name": "M", "description": "{{usr}} says", "character_book": book}
    path = write(tmp_path / "card.json", {"spec": "chara_card_v2", "spec_version": "2.0", "data": data})
    out = run(path)[1]
    assert "(unknown-macro)" in out
    assert "(slow-regex)" in out


@pytest.mark.parametrize("content", ["{", "", "[1, 2]"], ids=["broken", "empty", "a list"])
def test_bad_files(run: Run, tmp_path: Path, content: str) -> None:
    """A file that is nothing is an error with its name, not a crash."""
    path = tmp_path / "bad.json"
    path.write_text(content)
    code, out, err = run(path)
    assert code == 65
    assert not out
    assert str(path) in err


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    """It is named."""
    code, _, err = run(tmp_path / "none.json")
    assert code != 0
    assert "none.json" in err


def test_scripts(run: Run, tmp_path: Path) -> None:
    """Regex scripts of cards, presets and requests are judged where they stand."""
    script = {"scriptName": "Gone", "findRegex": "(", "replaceString": "", "trimStrings": [], "placement": [2]}
    card = {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {"name": "M", "extensions": {"regex_scripts": [script]}},
    }
    assert "data.extensions.regex_scripts[0]: Gone: JavaScript does not" in run(write(tmp_path / "card.json", card))[1]
    preset = {"prompts": [], "prompt_order": [], "extensions": {"regex_scripts": [{**script, "findRegex": "a\nb"}]}}
    assert "(first-line-only)" in run(write(tmp_path / "preset.json", preset))[1]
    request = {"tavern": "silly", "settings": {"regex": [{**script, "placement": []}]}}
    assert "settings.regex[0]: Gone: none of its placements" in run(write(tmp_path / "request.json", request))[1]


LoreRun = Callable[..., tuple[int, str, str]]
BOOK = ROOT / "examples" / "larks.lorebook.json"
CHAT = ROOT / "examples" / "wenna.chat.jsonl"


@pytest.fixture
def lore_run(capfd: pytest.CaptureFixture[str]) -> LoreRun:
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


def test_every_entry_has_a_row(lore_run: LoreRun) -> None:
    """On the examples: all entries of the book are shown, each with a reason."""
    code, out, err = lore_run(BOOK, "--chat", CHAT)
    assert (code, err) == (0, "")
    assert len(rows(out)) == len(json.loads(BOOK.read_text())["entries"])
    assert "lore budget" in out


def test_lore_by_another_taverns_rules(lore_run: LoreRun, book: Path) -> None:
    """RisuAI fires entries that are switched off, and its budget is in tokens."""
    out = lore_run(book, "--message", "Where is the ferry?", "--tavern", "risu")[1]
    assert [words[0] for words in rows(out)] == ["in", "in", "in"]
    out = lore_run(book, "--message", "Where is the ferry?", "--tavern", "risu", "--budget", 1, "--depth", 1)[1]
    assert "lore budget 1 tokens (used up)" in out
    assert lore_run(book, "--tavern", "smart")[0] == 2


def test_what_fires_comes_first(lore_run: LoreRun, book: Path) -> None:
    """With the key and where it was found; the others say which rule stopped them."""
    out = lore_run(book, "--message", "Where is the ferry?")[1]
    assert [words[0] for words in rows(out)] == ["in", "out", "out"]
    assert "fired by 'ferry' in the last message (pass 1)" in out
    assert "the entry is disabled" in out
    assert "1 fired in 1 pass" in out


def test_without_a_chat(lore_run: LoreRun, book: Path) -> None:
    """An entry says its keys, and that there was no message in which they could be."""
    code, out, _ = lore_run(book)
    assert code == 0
    assert "no key matched in 0 messages: 'ferry'" in out


def test_settings(lore_run: LoreRun, book: Path) -> None:
    """Recursion fires the second entry; a depth of 0 none."""
    assert "2 fired" in lore_run(book, "--message", "the ferry", "--recursive")[1]
    assert "0 fired" in lore_run(book, "--message", "the ferry", "--depth", 0)[1]


def test_only_what_fired(lore_run: LoreRun, book: Path) -> None:
    """``--fired`` leaves the others out."""
    assert len(rows(lore_run(book, "--message", "the ferry", "--fired")[1])) == 1


def test_lore_json(lore_run: LoreRun, book: Path) -> None:
    """All verdicts with their reasons and facts."""
    code, out, _ = lore_run(book, "--message", "the ferry", "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == 0
    assert [item["uid"] for item in found["activated"]] == [1]
    reasons = {item["uid"]: item["reason"] for item in found["verdicts"]}
    assert reasons == {1: "key", 2: "no_match", 3: "disabled"}
    fact = next(item["facts"] for item in found["verdicts"] if item["uid"] == 1)
    assert fact["key"] == "ferry"
    start, end = fact["span"]
    assert "User: the ferry"[start:end] == "ferry"


def test_several_books_and_a_card(lore_run: LoreRun, book: Path) -> None:
    """The books of files and the one inside a card take part together."""
    card = ROOT / "examples" / "wenna.png"
    out = json.loads(lore_run(book, BOOK, "--card", card, "--message", "the ferry", "--json")[1])
    assert len({item["book"] for item in out["verdicts"]}) == 3


def test_titles_cannot_drive_the_terminal(lore_run: LoreRun, tmp_path: Path) -> None:
    """Control characters and markup of a book are shown, not obeyed."""
    path = tmp_path / "evil.json"
    path.write_text(json.dumps({"entries": {"1": entry(1, "x", comment="[red]a\x1b[31m")}}))
    out = lore_run(path, "--message", "x")[1]
    assert "\x1b[31m" not in out
    assert "[red]a" in out


@pytest.mark.parametrize("content", ["{", "[]", "null"])
def test_bad_books(lore_run: LoreRun, tmp_path: Path, content: str) -> None:
    """A file that is no book is an error with its name."""
    path = tmp_path / "bad.json"
    path.write_text(content)
    code, out, err = lore_run(path, "--message", "x")
    assert code != 0
    assert not out
    assert "bad.json" in err


def test_a_bad_chat(lore_run: LoreRun, book: Path, tmp_path: Path) -> None:
    """So is a chat that is none."""
    path = tmp_path / "chat.jsonl"
    path.write_text("{broken\n")
    code, _, err = lore_run(book, "--chat", path)
    assert code != 0
    assert "chat.jsonl" in err


def test_a_long_table_is_cut(lore_run: LoreRun, tmp_path: Path) -> None:
    """Of thousands of entries the first are shown, those that fired among them, and the others counted."""
    path = book_file(tmp_path, *(entry(number, "ferry") for number in range(MOST_ROWS + 5)), entry(9999, "dawn"))
    out = lore_run(path, "--message", "dawn")[1]
    assert len(rows(out)) == MOST_ROWS
    assert rows(out)[0][0] == "in"
    assert "… and 6 more; --json has them all" in out


def test_a_file_that_takes_too_much_work(run: Run, tmp_path: Path) -> None:
    """One with more patterns than a build could compile ends in the error of the allowance."""
    code, _, err = run(book_file(tmp_path, *(entry(number, f"/{number}{'a' * 1800}/") for number in range(1500))))
    assert code == 65
    assert "MAX_BUILD_" in err  # steps, or seconds on a slow machine
