"""The workbench of an assistant: results that say all, small ones, or what is left out of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main
from innkeeper.cli.mcp import workbench
from innkeeper.cli.mcp.folder import Folder
from innkeeper.cli.mcp.workbench import TOOLS
from innkeeper.prompt import BuildLimits, LimitError, UnknownNameError, UsageError
from innkeeper.prompt.allowance import AllowanceError
from tests.lore.books import entry
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
FILES = ["wenna.png", "larks.lorebook.json", "skerrow.preset.json"]


@pytest.fixture
def bench(tmp_path: Path) -> Folder:
    """A folder with the example files."""
    for path in EXAMPLES.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path / path.name)
    return Folder(tmp_path)


def ask(bench: Folder, name: str, files: Any = None, **arguments: Any) -> dict[str, Any]:
    """The result of a tool; the first argument is ``files``, or ``file`` where it is one."""
    tool = TOOLS[name]
    first = {} if files is None else {"file" if isinstance(files, str) else "files": files}
    return tool.run(tool.read({**first, **arguments}), bench)


def book(bench: Folder, *entries: dict[str, Any]) -> str:
    """A lorebook file in its folder."""
    path = bench.path / "book.json"
    path.write_text(json.dumps({"entries": {str(item["uid"]): item for item in entries}}))
    return path.name


def test_build_is_the_command(bench: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """An assistant gets the messages and figures that the command prints."""
    built = ask(bench, "build", FILES, message="Is the reef safe?", seed=1, now="2026-01-15T12:00:00Z")
    words = ["--message", "Is the reef safe?", "--seed", "1", "--now", "2026-01-15T12:00:00Z", "--json"]
    assert main(["build", *(str(EXAMPLES / name) for name in FILES), *words]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert built["messages"] == printed["messages"]
    assert built["tokens"]["total"] == printed["tokens"]["total"]
    assert built["tokens"]["total"] + built["tokens"]["reserve"] <= built["tokens"]["window"]


def test_build_in_another_dialect(bench: Folder) -> None:
    """The messages have the shape that is asked for."""
    assert set(ask(bench, "build", ["wenna.png"], message="Hi", dialect="anthropic")["messages"]) >= {
        "system",
        "messages",
    }
    with pytest.raises(UnknownNameError):
        ask(bench, "build", ["wenna.png"], message="Hi", dialect="smoke signals")


def test_what_has_no_room_is_told(bench: Folder) -> None:
    """Each message that was left out stands in the result, with its reason."""
    chat = [{"name": "Mira", "is_user": bool(n % 2), "mes": f"{n} " + "word " * 60} for n in range(40)]
    (bench.path / "long.jsonl").write_text("\n".join(map(json.dumps, chat)))
    built = ask(bench, "build", ["wenna.png", "long.jsonl"], message="Hi", context_window=1500, reserve=100)
    assert built["tokens"]["fits"]
    out = built["left_out"]
    assert out["total"] == len(out["blocks"]) > 0
    assert all(row["status"] == "evicted" and row["reason"] for row in out["blocks"])
    assert out["tokens"] == sum(row["tokens"] for row in out["blocks"])
    listed = {(row["block_id"], row["status"]) for row in everything(bench, ["wenna.png", "long.jsonl"])}
    assert {(row["block_id"], "evicted") for row in out["blocks"]} <= listed


def test_long_lists_say_how_long_they_are(bench: Folder) -> None:
    """Of many blocks that had no room the first are shown, and how many more there are; so of findings."""
    chat = [{"name": "Mira", "is_user": bool(n % 2), "mes": f"{n} " + "word " * 20} for n in range(3000)]
    (bench.path / "long.jsonl").write_text("\n".join(map(json.dumps, chat)))
    out = ask(bench, "build", ["wenna.png", "long.jsonl"], message="Hi", context_window=1500, reserve=100)["left_out"]
    assert len(out["blocks"]) == workbench.MOST
    assert out["total"] == out["more"]["blocks"] + workbench.MOST > 2000


def test_a_cache_keeps_what_comes_again(bench: Folder) -> None:
    """Of a prompt with the one before it; of the first one nothing is there."""
    words = {"message": "Hi", "provider": "openai", "model": "gpt-4o", "now": "2026-01-15T12:00:00Z"}
    said = [{"name": "Mira", "is_user": bool(n % 2), "mes": f"{n} " + "word " * 60} for n in range(40)]
    for name, length in (("old.jsonl", 38), ("new.jsonl", 40)):
        (bench.path / name).write_text("\n".join(map(json.dumps, said[:length])))
    first = ask(bench, "cache", ["wenna.png"], after=["new.jsonl"], **words)
    again = ask(bench, "cache", ["wenna.png"], before=["old.jsonl"], after=["new.jsonl"], **words)
    assert (first["read"], first["total"]) == (0, again["total"])
    assert 0 < again["read"] < again["total"]


def everything(bench: Folder, files: list[str]) -> list[dict[str, Any]]:
    """All blocks of an explanation, page by page."""
    rows: list[dict[str, Any]] = []
    more: int | None = 0
    while more is not None:
        part = ask(bench, "explain", files, message="Hi", context_window=1500, reserve=100, offset=more, limit=7)
        rows += part["blocks"]
        more = part.get("next_offset")
    assert len(rows) == part["total"]
    return rows


def test_explain_one_block(bench: Folder) -> None:
    """Of one block there is all of its text, with where each part is from."""
    rows = ask(bench, "explain", FILES, message="Is the reef safe?")["blocks"]
    row = next(row for row in rows if row["slot"] == "charDescription")
    block = ask(bench, "explain", FILES, message="Is the reef safe?", block=row["block_id"])["block"]
    assert "".join(piece["text"] for piece in block["pieces"]) == block["content"]
    assert block["tokens"] == row["tokens"]
    with pytest.raises(UnknownNameError):
        ask(bench, "explain", FILES, block="nobody")


def test_lore_test_has_every_entry(bench: Folder) -> None:
    """Each entry has its verdict, those that fired first; what stopped one is the first rule that did."""
    name = book(bench, entry(1, "ferry"), entry(2, "inn"), entry(3, "ferry", disable=True))
    result = ask(bench, "lore_test", [name], message="Where is the ferry?")
    assert [(one["uid"], one["reason"]) for one in result["verdicts"]] == [(1, "key"), (2, "no_match"), (3, "disabled")]
    assert (result["fired"], result["entries"], result["total"]) == (1, 3, 3)
    assert [one["uid"] for one in ask(bench, "lore_test", [name], message="ferry", only="stopped")["verdicts"]] == [
        2,
        3,
    ]
    part = ask(bench, "lore_test", [name], message="ferry", limit=2)
    assert (len(part["verdicts"]), part["total"], part["next_offset"]) == (2, 3, 2)


def test_lint(bench: Folder) -> None:
    """What can have no effect is named with its file, its place and its rule."""
    found = ask(bench, "lint", [book(bench, entry(1)), "wenna.png"])
    assert [(one["file"], one["rule"]) for one in found["findings"]] == [("book.json", "dead-entry")]
    with pytest.raises(UsageError):
        ask(bench, "lint", [])


def test_card_show(bench: Folder) -> None:
    """Texts are shown from their beginnings, with how long they are; in full there is all of the card."""
    (bench.path / "long.json").write_text(json.dumps({"name": "Mira", "description": "x" * 500, "first_mes": ""}))
    shown = ask(bench, "card_show", "long.json")
    assert shown["texts"] == [{"field": "description", "characters": 500, "shown": 200, "text": "x" * 200}]
    assert "card" not in shown
    assert ask(bench, "card_show", "long.json", full=True)["card"]["description"] == "x" * 500
    assert ask(bench, "card_show", "wenna.png")["lore_entries"] == 9


def test_card_show_tells_what_is_wrong(bench: Folder) -> None:
    """What breaks the specification stands with the card."""
    bad = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": 7}}
    (bench.path / "bad.json").write_text(json.dumps(bad))
    assert any(finding["level"] != "info" for finding in ask(bench, "card_show", "bad.json")["findings"])


def test_tokens(bench: Folder) -> None:
    """A text or a file is counted for each model; one of the two is wanted."""
    (bench.path / "words.txt").write_text("hello world")
    for counted in (
        ask(bench, "tokens", text="hello world", models=["gpt-4o"]),
        ask(bench, "tokens", file="words.txt", models=["gpt-4o"]),
    ):
        assert (counted["characters"], counted["counts"][0]["tokens"], counted["counts"][0]["exact"]) == (11, 2, True)
    assert len(ask(bench, "tokens", text="a")["counts"]) == 1
    with pytest.raises(UsageError):
        ask(bench, "tokens")
    with pytest.raises(UsageError):
        ask(bench, "tokens", text="a", file="words.txt")


def test_nothing_to_build(bench: Folder) -> None:
    """A prompt of nothing is refused."""
    with pytest.raises(UsageError):
        ask(bench, "build", [])
    assert ask(bench, "build", [], message="Hi")["messages"]


def test_limits(bench: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call works within its allowance, whatever a request in a file asks for; a result that is too large is refused."""
    (bench.path / "request.json").write_text(json.dumps({"tavern": "silly", "limits": {"steps": 10**12}}))
    with monkeypatch.context() as patched:
        patched.setattr(workbench, "CALL_LIMITS", BuildLimits(steps=50))
        with pytest.raises(AllowanceError):
            ask(bench, "lore_test", [book(bench, *(entry(n, f"key{n}") for n in range(200)))], message="Hi")
        with pytest.raises(LimitError):
            ask(bench, "build", ["request.json", "wenna.png"], message="Hi {{char}}" * 50)
    monkeypatch.setattr(workbench, "MAX_RESULT_BYTES", 100)
    with pytest.raises(LimitError, match="MAX_RESULT_BYTES"):
        ask(bench, "card_show", "wenna.png")


@pytest.mark.parametrize(("offset", "limit"), [(-1, 1), (0, 0)])
def test_parts_of_a_list(bench: Folder, offset: int, limit: int) -> None:
    """A part that is none is refused."""
    with pytest.raises(UsageError):
        ask(bench, "lint", ["wenna.png"], offset=offset, limit=limit)


def test_looking_changes_nothing(bench: Folder) -> None:
    """No tool writes a file."""
    before = {path.name: path.read_bytes() for path in bench.path.iterdir()}
    ask(bench, "build", FILES, message="Hi")
    ask(bench, "explain", FILES, message="Hi")
    ask(bench, "lint", FILES)
    ask(bench, "lore_test", FILES, message="Hi")
    ask(bench, "card_show", "wenna.png")
    assert {path.name: path.read_bytes() for path in bench.path.iterdir()} == before
