"""``innkeeper build``: the same plan as a table, as messages, as a provider's request, as JSON, as a recording."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import main as cli_main
from innkeeper.cli.app.root import main
from innkeeper.cli.prompt import build as build_command
from innkeeper.prompt import BuildRequest
from innkeeper.taverns.silly.install.files import UserFolder
from tests.shared import ROOT, VECTORS
from tests.taverns.silly.install.folders import RECORDED

EXAMPLES = ROOT / "examples"
CARD = str(EXAMPLES / "wenna.png")
PERSONA = str(EXAMPLES / "ansel.persona.json")
CHAT = str(EXAMPLES / "wenna.chat.jsonl")
ASKED = ["build", CARD, PERSONA, CHAT, "--message", "Is the reef safe?", "--now", "2026-10-06T19:05:00Z", "--seed", "1"]


def out(capsys: pytest.CaptureFixture[str], words: list[str], code: int = 0) -> str:
    """What a command prints."""
    assert main(words) == code, capsys.readouterr().err
    return capsys.readouterr().out


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    """For people: each message with its role, its source and its tokens, and the window."""
    shown = out(capsys, [*ASKED, "--model", "gpt-4o", "--context-window", "4000", "--reserve", "300"])
    assert "silly · sillytavern-1.19 · gpt-4o" in shown
    assert "Is the reef safe?" in shown
    assert "reserved 300" in shown
    assert "= 4,000 tokens" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("words", [[], ["--json"], ["--model", "gpt-4o", "--seed", "1"]], ids=str)
def test_nothing_to_build_from(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Without any asset or text there is no prompt to build, and the error says what to give."""
    assert main(["build", *words]) == 2
    told = capsys.readouterr()
    assert "nothing to build a prompt from" in told.out + told.err
    assert "--message" in told.out + told.err


def test_a_message_alone_is_something(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody needs a card to see what becomes of a text."""
    assert "Hello there." in out(capsys, ["build", "--message", "Hello there."])


def test_explain_has_every_entry(capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--explain`` each lorebook entry has its reason, those left out as well."""
    shown = out(capsys, [*ASKED, "--explain"])
    assert "in  The Bell Reef [Skerrow]" in shown
    assert "out Alderman [Skerrow]" in shown


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini"])
def test_dialects(capsys: pytest.CaptureFixture[str], dialect: str) -> None:
    """With a dialect: the whole request of that provider; or its messages alone."""
    body = json.loads(out(capsys, [*ASKED, "--dialect", dialect, "--model", "m"]))
    assert isinstance(body, dict)
    assert "Is the reef safe?" in json.dumps(body)
    messages = json.loads(out(capsys, [*ASKED, "--dialect", dialect, "--messages"]))
    assert "Is the reef safe?" in json.dumps(messages)


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """For programs: messages, tokens, fingerprint; with ``--explain`` blocks, lore and the rest."""
    facts = json.loads(out(capsys, [*ASKED, "--json"]))
    assert facts["messages"][-1]["role"] in {"user", "system"}
    assert facts["tokens"]["total"] > 100
    assert facts["findings"] == []
    assert "blocks" not in facts
    more = json.loads(out(capsys, [*ASKED, "--json", "--explain"]))
    assert more["fingerprint"] == facts["fingerprint"]
    assert {"blocks", "lore"} <= more.keys()


def test_same_inputs_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """The same files, clock and seed give the same bytes, whether as options or as files."""
    first = out(capsys, [*ASKED, "--dialect", "openai"])
    named = ["build", "--card", CARD, "--persona", PERSONA, "--chat", CHAT, *ASKED[4:]]
    assert out(capsys, [*named, "--dialect", "openai"]) == first


def test_request_by_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A stored request comes by the standard input; what the command line says goes over it."""
    raw = BuildRequest(message="Hello", tavern="vibe").to_json()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert "Hello" in out(capsys, ["build", "-", "--messages"])


def test_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With ``--out`` the same goes to a file, whole."""
    path = tmp_path / "request.json"
    assert out(capsys, [*ASKED, "--dialect", "openai", "--out", str(path)]) == ""
    assert path.read_text("utf-8") == out(capsys, [*ASKED, "--dialect", "openai"])
    assert [each.name for each in tmp_path.iterdir()] == ["request.json"]


def test_settings(capsys: pytest.CaptureFixture[str]) -> None:
    """Any field of the request can be set."""
    body = json.loads(out(capsys, [*ASKED, "--dialect", "openai", "--set", "options.temperature=0.25"]))
    assert body["temperature"] == 0.25


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["no-such-file.png"], 69, "missing_file"),
        (["--message", "x", "--tavern", "nowhere"], 2, "unknown_name"),
        ([CARD, "--dialect", "klingon"], 2, "unknown_name"),
        (["--set", "nonsense"], 2, "usage"),
        ([CARD, "--now", "tomorrow"], 65, "format"),
        ([str(EXAMPLES / "README.md")], 65, "json"),
        (["--card", CHAT], 65, None),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], words: list[str], code: int, kind: str | None) -> None:
    """What is wrong has its exit code and its kind; nothing is printed to stdout."""
    assert main(["build", *words, "--json"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    error: dict[str, Any] = json.loads(captured.err)["error"]
    assert error["exit_code"] == code
    assert kind is None or error["kind"] == kind


def test_files_are_overwritten_with_force_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is there stays unless one says otherwise, and what was written is said."""
    for option in ("--out", "--replay-out"):
        path = tmp_path / f"kept{option}"
        path.write_text("mine")
        assert main([*ASKED, option, str(path)]) == 2
        assert "exists already" in capsys.readouterr().err
        assert path.read_text() == "mine"
        assert main([*ASKED, option, str(path), "--force"]) == 0
        assert f"wrote {path} ({path.stat().st_size:,} bytes)" in capsys.readouterr().err


def test_a_chat_begins_with_a_greeting(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a chat the character speaks first, macros expanded, as `innkeeper chat` and SillyTavern begin one."""

    def spoken(*words: str) -> list[str]:
        messages = json.loads(out(capsys, ["build", CARD, PERSONA, "--message", "hi", "--messages", *words]))
        return [message["content"] for message in messages if message["role"] == "assistant"]

    first, second = spoken(), spoken("--greeting", "1")
    assert "Come in, Ansel" in first[0]
    assert spoken("--greeting", "0") == first != second
    assert len(first) == len(second) == 1
    assert main(["build", CARD, "--greeting", "9"]) == 2
    assert "numbers go from 0 to 2" in capsys.readouterr().err
    assert main([*ASKED, "--greeting", "1"]) == 2
    assert "the chat has begun" in capsys.readouterr().err


def test_notes_of_a_request_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """What a provider's shape loses or mends is said beside the request, which stays whole on stdout."""
    assert main([*ASKED, "--dialect", "anthropic"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["messages"]
    assert "loss: anthropic: the speaker's name is not sent" in printed.err


def test_findings_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What was not right in a file is said, and the build goes on."""
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "X", "tags": "none"}}))
    assert "finding:" in out(capsys, ["build", str(path), "--message", "Hello"])


def test_the_smart_tavern(capsys: pytest.CaptureFixture[str]) -> None:
    """SmartTavern's own files, told apart by their content; each entry with its reason."""
    files = [str(path) for path in sorted((EXAMPLES / "smart").glob("*.json"))]
    asked = ["build", "--tavern", "smart", *files, PERSONA, "--message", "Is the reef safe?", "--explain"]
    shown = out(capsys, [*asked, "--now", "2026-10-06T19:05:00Z"])
    assert "smart · fixed" in shown
    assert "in  The Bell Reef [Skerrow]: at depth 2, order 100, as system; its condition holds" in shown
    assert "out The log [Wenna's own]: its condition does not hold" in shown
    mixed = [
        "build",
        "--tavern",
        "smart",
        CARD,
        CHAT,
        files[2],
        "--message",
        "A bell?",
        "--messages",
        "--dialect",
        "openai",
    ]
    assert "A bell hangs on the reef" in out(capsys, mixed)


FOLDER = str(RECORDED)
OPENED = ["build", "--sillytavern", FOLDER, "--now", "2026-01-15T12:34:56Z"]


def test_a_sillytavern_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, a character and a chat are enough; the table begins with what was opened, notes of the files come along."""
    shown = out(capsys, [*OPENED, "--character", "Mira", "--chat", "Short", "--message", "Hello."])
    assert shown.startswith("Mira.png and ilse.png in chats/Mira/Short.jsonl\n")
    assert "'No such book' is not there" in shown


@pytest.mark.parametrize("method", ["names", "json", "data"])
def test_interrupted_while_a_folder_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Ctrl-C ends the command quietly, whatever is being read; nothing of it is taken for a damaged file."""

    def interrupted(*_args: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(UserFolder, method, interrupted)
    assert main([*OPENED, "--character", "Mira"]) == 130
    assert capsys.readouterr() == ("", "")


def test_messages_of_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is what SillyTavern sends, in the open chat where none is named."""
    recorded = {case["name"]: case for case in json.loads((RECORDED.parent / "chat.json").read_bytes())}
    asked = [*OPENED, "--seed", "1", "--messages", "--dialect", "openai"]
    case = recorded["plain-second"]
    assert json.loads(out(capsys, [*asked, "--character", "Mira1"])) == case["expected"]["messages"]
    assert json.loads(out(capsys, asked)) == json.loads(out(capsys, [*asked, "--character", "Mira"]))
    grouped = ["--group", "The cellar", "--character", "Bram"]
    assert json.loads(out(capsys, [*asked, *grouped])) == recorded["plain-cellar"]["expected"]["messages"]


def test_a_folder_with_more(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Files and settings of the command line go on top of what the folder has selected."""
    path = tmp_path / "more.json"
    entry = {"uid": 0, "key": [], "content": "One more thing.", "constant": True}
    path.write_text(json.dumps({"entries": {"0": entry}}))
    asked = [
        *OPENED,
        "--character",
        "Mira",
        "--lorebook",
        str(path),
        "--set",
        "options.top_p=0.25",
        "--dialect",
        "openai",
    ]
    body = json.loads(out(capsys, asked))
    assert body["top_p"] == 0.25
    lore = next(message["content"] for message in body["messages"] if "One more thing." in message["content"])
    assert "The town lies at the ford." in lore


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--character", "Mira"], "usage"),
        (["--sillytavern", FOLDER, "--character", "Nobody"], "unknown_name"),
        (["--sillytavern", FOLDER, "--character", "Mira", "--chat", "gone"], "unknown_name"),
        (["--sillytavern", FOLDER, "--group", "gone"], "unknown_name"),
    ],
)
def test_errors_of_folders(capsys: pytest.CaptureFixture[str], words: list[str], kind: str) -> None:
    """Names that are not there, and names without a folder, are wrong usage."""
    assert main(["build", *words, "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == kind


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
    assert cli_main(["admin", "parity", gateway]) == 0
    total, deviation, end = capsys.readouterr().out.splitlines()
    assert end.startswith("all agree")
    assert total == "smart/http: 27/27 agreed"
    assert deviation.startswith("not held to the recording: construct_array_world_books: the document takes arrays")
    assert cli_main(["admin", "parity", gateway, "--json"]) == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    assert [case["name"] for case in cases if case["decided"]] == ["construct_array_world_books"]


def test_a_disagreement_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected and found are shown side by side."""
    case = {"name": "wrong", "call": "macro.process_text", "input": {"text": "a"}, "expected": {"text": "b"}}
    (tmp_path / "cases.json").write_text(json.dumps([case]))
    assert cli_main(["admin", "parity", str(tmp_path / "cases.json")]) == 1
    out = capsys.readouterr().out
    assert "smart/macro.process_text: 0/1 agreed (1 different)" in out
    assert '- "b"' in out
    assert '+ "a"' in out


def test_cases_need_a_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installed package has no runner of golden cases, and says where it is."""
    monkeypatch.setattr(
        build_command, "__file__", str(tmp_path / "site-packages" / "innkeeper" / "cli" / "prompt" / "x.py")
    )
    (tmp_path / "cases.json").write_text("[]")
    assert cli_main(["admin", "parity", str(tmp_path / "cases.json")]) != 0
    assert "checkout" in capsys.readouterr().err


def test_a_preset_of_the_other_tavern(capsys: pytest.CaptureFixture[str]) -> None:
    """What SmartTavern's presets alone have is noted where SillyTavern's rules hold, with the way out."""
    preset = str(EXAMPLES / "smart" / "preset.json")
    assert "preset.api_config has no effect in this tavern" in out(capsys, ["build", CARD, preset, "--message", "hi"])
    assert "api_config" not in out(capsys, ["build", CARD, preset, "--message", "hi", "--tavern", "smart"])


def test_an_error_of_a_step_is_told_without_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    """People read what is wrong; the step is for programs."""
    assert main(["build", CARD, "--profile", "xx"]) == 2
    assert capsys.readouterr().err.startswith("innkeeper: unknown profile 'xx'\nhint: known: ")
    assert main(["build", CARD, "--profile", "xx", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["details"]["step"]


def test_a_card_with_nothing_but_a_name_and_a_description(capsys: pytest.CaptureFixture[str]) -> None:
    """It is used, and what it may be instead is said."""
    assert "is it a card?" in out(capsys, ["build", "--card", PERSONA, "--message", "hi"])
    assert "is it a card?" not in out(capsys, ["build", CARD, "--message", "hi"])


def test_a_file_of_something_else(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """JSON that has a name and a description, too, is taken for a persona, and what it may be instead is said."""
    path = tmp_path / "package.json"
    path.write_text('{"name": "x", "description": "d", "version": "1.0.0", "scripts": {}}')
    printed = out(capsys, ["build", str(path), "--message", "hi"])
    assert "it has fields that no persona has (scripts, version): is it a persona?" in printed
    assert "is it a persona?" not in out(capsys, ["build", PERSONA, CARD, "--message", "hi"])


def test_broken_json_is_shown_at_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file that a command is given without a word what it is: line, column and the line itself."""
    path = tmp_path / "card.json"
    path.write_text('{\n  "name": "A",\n}')
    for command in ("build", "lint"):
        assert main([command, str(path)]) == 65
        assert "card.json:3:1: not JSON: " in capsys.readouterr().err


def test_a_recording_that_is_not_there() -> None:
    """A file that cannot be opened is unavailable, as everywhere."""
    assert main(["replay", "no-such-file"]) == 69


def test_strict(capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--strict`` a warning of the build is an error that names it."""
    words = ["build", "--message", "Hello.", "--set", 'character="Mara"']
    words += ["--set", 'authors_note="{{nobody_knows}}"']
    out(capsys, words)
    assert main([*words, "--strict"]) == 65
    assert "there is no macro {{nobody_knows}}" in capsys.readouterr().err
