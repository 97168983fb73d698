"""``innkeeper config``: what is settled is shown with where it comes from, and changed without losing a comment."""

import json
import os
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from innkeeper.cli.settings.config import config
from innkeeper.cli.settings.settings import SETTINGS
from tests.cli.running import Run
from tests.shared import ROOT

CARD = ROOT / "examples" / "wenna.png"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration file of the test's own, which is not there yet."""
    path = tmp_path / "settled" / "config.toml"
    monkeypatch.setenv("INNKEEPER_CONFIG", str(path))
    return path


def test_set_show_get_unset(run: Run, file: Path) -> None:
    """What is set is shown with the file, read back alone, and gone when it is taken out."""
    assert run("config", "set", "tavern", "smart").out == f"tavern = smart  ({file})\n"
    assert run("config", "show", "tavern").out == "smart\n"
    shown = run("config", "show").out
    line = next(line for line in shown.splitlines() if line.startswith("tavern"))
    assert "smart" in line
    assert "file:" in line
    assert run("config", "remove", "tavern").code == 0
    assert run("config", "show", "tavern").out == "silly\n"
    assert run("config", "path").out == f"{file}\n"


def test_comments_stay(run: Run, file: Path) -> None:
    """Everything else in the file stays as it was written: comments, order, quotes, line ends of a file that is a link."""
    text = "# mine\ntavern = 'vibe'  # for now\n\n[aliases.models]\nfast = 'openrouter:x'  # cheap\n"
    real = file.parent.parent / "dotfiles.toml"
    real.write_text(text)
    file.parent.mkdir()
    file.symlink_to(real)
    run("config", "set", "reserve", "300")
    run("config", "set", "aliases.models.gpt-4.1", "openai:gpt-4.1")
    written = real.read_text()
    for line in text.splitlines():
        assert line in written
    assert tomllib.loads(written)["aliases"]["models"]["gpt-4.1"] == "openai:gpt-4.1"
    run("config", "remove", "reserve")
    run("config", "remove", "aliases.models.gpt-4.1")
    assert real.read_text() == text
    assert file.is_symlink()
    assert [path.name for path in real.parent.iterdir() if path.name.endswith(".tmp")] == []


def test_values_are_checked(run: Run, file: Path) -> None:
    """A value that cannot be one is refused, the nearest name offered, and no file is written."""
    for words, code, hint in [
        (("tavern", "smrt"), 2, "did you mean 'smart'"),
        (("dialect", "antropic"), 2, "did you mean 'anthropic'"),
        (("modle", "x"), 2, "did you mean 'model'"),
        (("base_url", "opnrouter"), 2, "did you mean 'openrouter'"),
        (("reserve", "much"), 2, "a whole number"),
        (("persona", "/nowhere/me.json"), 69, "no such file"),
        (("api_key", "sk-secret"), 2, "innkeeper keys set"),
    ]:
        ran = run("config", "set", *words)
        assert ran.code == code
        assert hint in ran.err
    assert "sk-secret" not in ran.err
    assert not file.exists()
    assert run("config", "remove", "reserve").code == 2
    assert run("config", "show", "aliases.models.none").code == 2
    assert run("config", "show", "nothing").code == 2


def test_paths_are_kept_whole(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is kept from the root on, so that it is found from every folder."""
    monkeypatch.chdir(CARD.parent)
    run("config", "set", "aliases.cards.wenna", "wenna.png")
    assert tomllib.loads(file.read_text()) == {"aliases": {"cards": {"wenna": str(CARD)}}}
    assert run("config", "show", "aliases.cards.wenna").out == f"{CARD}\n"


def test_json(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs get names, values, sources and places."""
    monkeypatch.setenv("INNKEEPER_MODEL", "gpt-4o")
    assert run("config", "set", "logging", "no", "--json").data == {
        "name": "logging",
        "value": False,
        "path": str(file),
    }
    monkeypatch.delenv("INNKEEPER_LOGGING")
    facts = run("config", "show", "--json").data
    assert facts["path"] == str(file)
    values = {each["name"]: each for each in facts["settings"]}
    assert list(values) == list(SETTINGS)
    assert values["model"] == {"name": "model", "value": "gpt-4o", "source": "environment", "place": "INNKEEPER_MODEL"}
    assert values["logging"] == {"name": "logging", "value": False, "source": "file", "place": str(file)}
    assert run("config", "show", "logging", "--json").data == values["logging"]
    assert run("config", "remove", "logging", "--json").data == {"name": "logging", "path": str(file)}


def test_a_broken_file_can_be_edited_only(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not TOML is refused with its line, and never overwritten; the editor opens it and what is left is told."""
    file.parent.mkdir()
    file.write_text("tavern = \n")
    for words in (("show",), ("set", "tavern", "silly"), ("unset", "tavern")):
        ran = run("config", *words)
        assert ran.code == 65
        assert "config.toml:1:10" in ran.err
    assert file.read_text() == "tavern = \n"
    _editor(monkeypatch, "tavern = 'smrt'")
    ran = run("config", "edit")
    assert ran.code == 2
    assert "did you mean 'smart'" in ran.err
    _editor(monkeypatch, "tavern = 'smart'")
    assert run("config", "edit").code == 0


def test_edit_begins_with_all_settings(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file names every setting with what it is, as comments; with their # taken away they are TOML."""
    monkeypatch.setenv("VISUAL", "true")
    assert run("config", "edit").out == f"{file}\n"
    text = file.read_text()
    assert tomllib.loads(text) == {}
    assert all(f"# {name.rpartition('.')[2]} = " in text for name in SETTINGS)


def _editor(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """An editor that writes this."""
    program = f'import sys; open(sys.argv[1], "w").write({text!r})'
    path = Path(os.environ["INNKEEPER_CONFIG"]).with_name("editor.py")
    path.write_text(program)
    monkeypatch.setenv("VISUAL", f"{sys.executable} {path}")


def test_build_uses_what_is_settled(run: Run, file: Path) -> None:
    """Tavern, persona, model, window, limits and aliases count where nothing else is said; a request's file says all itself."""

    def request(*words: object) -> dict[str, Any]:
        path = file.with_name("replay.json")
        path.unlink(missing_ok=True)
        assert run("build", *words, "--replay-out", path).code == 0
        built: dict[str, Any] = json.loads(path.read_text())["request"]
        return built

    for name, value in [
        ("tavern", "vibe"),
        ("persona", ROOT / "examples" / "ansel.persona.json"),
        ("model", "openai:gpt-4o-mini"),
        ("context_window", "4000"),
        ("limits.seconds", "20"),
        ("aliases.cards.wenna", CARD),
        ("aliases.models.big", "openai:gpt-4o"),
    ]:
        assert run("config", "set", name, value).code == 0
    settled = request("wenna", "--message", "Hi")
    assert (settled.get("tavern", "vibe"), settled["model"], settled["context_window"]) == ("vibe", "gpt-4o-mini", 4000)
    assert settled["limits"] == {"seconds": 20.0}
    assert settled["user"]["name"] == "Ansel"
    words = ("--tavern", "silly", "--model", "big", "--limit", "steps=5000000")
    said = request("wenna", "--message", "Hi", *words)
    assert (said["tavern"], said["model"]) == ("silly", "gpt-4o")
    assert said["limits"] == {"seconds": 20.0, "steps": 5_000_000}
    (file.parent / "request.json").write_text(json.dumps({"tavern": "smart", "message": "Hi"}))
    assert request(file.parent / "request.json").keys() == {"tavern", "message", "now"}


def test_every_command_has_help() -> None:
    """Each of the commands says what it does, and the group has examples."""
    assert all(command.help for command in config.commands.values())
    assert "innkeeper config set" in str(config.epilog)


def test_aliases_are_known_everywhere(run: Run, file: Path) -> None:
    """Aliases of cards and models, and the model that is settled, count for commands that look at cards and tokens too."""
    for name, value in [
        ("aliases.cards.wenna", CARD),
        ("aliases.models.big", "openai:gpt-4o"),
        ("model", "openai:gpt-3.5-turbo"),
    ]:
        assert run("config", "set", name, value).code == 0
    assert "Wenna Carrow" in run("card", "show", "wenna").out
    assert run("lint", "wenna").code in (0, 65)
    assert "wenna" not in run("lint", "wenna").err
    assert run("tokens", "--text", "The lamp is lit.", "--json").data["counts"][0]["model"] == "gpt-3.5-turbo"
    assert run("tokens", "--text", "The lamp is lit.", "-m", "big", "--json").data["counts"][0]["model"] == "gpt-4o"


_SET = """
import sys
import tomlkit
from innkeeper.cli.app.root import main
from innkeeper.cli.settings import config
print("ready", flush=True)
sys.stdin.readline()
sys.exit(main(["config", "set", *sys.argv[1:]]))
"""


def test_changes_at_the_same_time(file: Path) -> None:
    """Several processes change the file at once: each change is there."""
    changes = [("tavern", "smart"), ("reserve", "300"), ("model", "m"), ("aliases.models.fast", "x")]
    with ExitStack() as stack:
        command = [sys.executable, "-c", _SET]
        processes = [
            stack.enter_context(subprocess.Popen([*command, *change], stdin=PIPE, stdout=PIPE, text=True))
            for change in changes
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("now\n")
            process.stdin.flush()
        assert [process.wait(60) for process in processes] == [0] * len(changes)
    assert tomllib.loads(file.read_text()) == {
        "tavern": "smart",
        "reserve": 300,
        "model": "m",
        "aliases": {"models": {"fast": "x"}},
    }
