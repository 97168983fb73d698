"""``innkeeper profile``, and profiles in ``build``, ``ask`` and ``chat``."""

from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.prompt.assets import find_profile
from tests.cli.running import Run, runner
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
FILES = [EXAMPLES / name for name in ("wenna.png", "ansel.persona.json", "larks.lorebook.json", "skerrow.preset.json")]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs of the command line in a folder of their own."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return runner(monkeypatch, capsys, tmp_path / "home")


@pytest.fixture
def wenna(run: Run) -> Path:
    """A profile made of the examples."""
    words = ("--model", "openrouter:some/model", "--set", "options.temperature=0.4", "--reserve", "99")
    assert run("profile", "new", "wenna", *FILES, *words).code == 0
    return Path("wenna")


def test_new_writes_a_folder(run: Run, wenna: Path) -> None:
    """The files are copied and named by what is in them; what was said is in the document."""
    assert {path.name for path in wenna.iterdir()} == {*(path.name for path in FILES), "profile.toml"}
    facts = run("profile", "show", "wenna", "--json").data
    assert (facts["name"], facts["characters"], facts["user"]) == ("wenna", ["Wenna Carrow"], "Ansel")
    assert facts["lorebooks"] == ["The Lark Islands"]
    assert facts["profile"]["options"] == {"temperature": 0.4}
    assert "characters: " in run("profile", "show", "wenna").out


def test_new_overwrites_only_when_told(run: Run, wenna: Path) -> None:
    """A profile that is there stays as it is, unless the command says otherwise."""
    again = run("profile", "new", "wenna", FILES[0])
    assert again.code != 0
    assert "ansel.persona.json" in (wenna / "profile.toml").read_text()
    assert run("profile", "new", "wenna", FILES[0], "--force", "--json").data["files"] == ["wenna.png", "profile.toml"]
    assert "ansel.persona.json" not in (wenna / "profile.toml").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((EXAMPLES / "wenna.chat.jsonl",), "chat"),
        ((FILES[0], FILES[0]), "two files"),
        ((FILES[0], "--set", "tavren=1"), "did you mean 'tavern'"),
        ((FILES[0], "--system", "nowhere"), "append"),
    ],
)
def test_new_refuses(run: Run, words: tuple[Any, ...], told: str) -> None:
    """What cannot be a profile is refused, and nothing is written."""
    ran = run("profile", "new", "x", *words)
    assert ran.code == 2
    assert told in ran.err
    assert not Path("x").exists()


def test_several_cards_are_a_group(run: Run) -> None:
    """Two cards make a group."""
    assert run("profile", "new", "both", FILES[0], EXAMPLES / "tobin.json").code == 0
    assert run("profile", "show", "both", "--json").data["characters"] == ["Wenna Carrow", "Tobin Ashgrove"]


def test_list(run: Run, wenna: Path, tmp_path: Path) -> None:
    """The profiles here and in Innkeeper's folder are listed, broken ones too; a folder can be named instead."""
    broken = tmp_path / "home" / "profiles" / "broken"
    broken.mkdir(parents=True)
    (broken / "profile.toml").write_text("x = 1")
    rows = run("profile", "list", "--json").data
    assert [row["name"] for row in rows] == ["wenna", "broken"]
    assert rows[0]["model"] == "openrouter:some/model"
    assert "no key 'x'" in rows[1]["error"]
    assert "Wenna Carrow" in run("profile", "list", wenna).out
    assert "there is no profile" in run("profile", "list", tmp_path / "home").err
    assert find_profile("broken") == broken


def test_none_to_list(run: Run) -> None:
    """Without any, the way to make one is told."""
    assert "profile new" in run("profile", "list").err


def test_check_builds_a_turn(run: Run, wenna: Path) -> None:
    """A check says what a turn takes, and with which code it ends is what it found."""
    ran = run("profile", "check", "wenna", "--json")
    assert ran.code == 0
    assert (ran.data["warnings"], ran.data["tokens"]["reserved"]) == ([], 99)
    assert "14 messages" in run("profile", "check", "wenna").out
    (wenna / "profile.toml").write_text('persona = "ansel.persona.json"')
    ran = run("profile", "check", "wenna")
    assert ran.code == 1
    assert "no character is named" in ran.out


def test_check_names_all_that_is_missing(run: Run, wenna: Path) -> None:
    """Each file that is not there is named, at once."""
    for path in FILES[:2]:
        (wenna / path.name).unlink()
    ran = run("profile", "check", "wenna")
    assert ran.code == 69
    assert "wenna.png" in ran.err
    assert "ansel.persona.json" in ran.err
    assert run("profile", "check", "nobody").code == 69


def test_a_prompt_of_a_profile(run: Run, wenna: Path) -> None:
    """Build, ask and chat begin with a profile; what the command line says goes over it."""
    built = run("build", "--profile", "wenna", "--message", "Hello", "--dialect", "openai").data
    assert (built["model"], built["temperature"]) == ("some/model", 0.4)
    asked = run("ask", "--profile", "wenna", "Is", "it", "safe?", "--dry-run").data
    assert asked["url"].startswith("https://openrouter.ai/")
    assert asked["body"]["messages"][-2]["content"] == "Is it safe?"
    assert asked["body"]["max_tokens"] == 99
    assert {value["source"] for value in asked["settings"] if value["name"] == "model"} == {"profile"}
    other = run("ask", "--profile", "wenna", "Hm", "--dry-run", "--model", "ollama:x", "--greeting", "1").data
    assert other["body"]["model"] == "x"
    tobin = run("build", "--profile", "wenna", EXAMPLES / "tobin.json", "--message", "Hi", "--messages").out
    assert "Tobin Ashgrove" in tobin


def test_without_a_greeting(run: Run, wenna: Path) -> None:
    """A profile that wants no greeting begins without one."""
    with (wenna / "profile.toml").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write("greeting = false\n" + text)
    roles = [m["role"] for m in run("ask", "--profile", "wenna", "Hm", "--dry-run").data["body"]["messages"]]
    assert "assistant" not in roles


def test_a_profile_and_something_else(run: Run, wenna: Path, tmp_path: Path) -> None:
    """A build request and a profile are two things to begin with."""
    (tmp_path / "request.json").write_text('{"tavern": "vibe"}')
    assert run("build", tmp_path / "request.json", "--profile", "wenna").code == 2


def test_a_variant_of_the_rules_is_still_one(run: Run) -> None:
    """A name that is no profile is a variant of the tavern's rules, as it was."""
    built = run("build", FILES[0], "--message", "Hi", "--tavern", "smart", "--profile", "smarttavern", "--json").data
    assert built["messages"]


def test_stored(run: Run, wenna: Path, tmp_path: Path) -> None:
    """A folder goes into the library and comes back; what is stored is listed, shown and checked by its name."""
    database = ("--database", tmp_path / "library.db")
    assert "there is no stored profile" in run("profile", "list", *database).err
    assert run("profile", "import", wenna, *database, "--owner", "k1", "--json").data["name"] == "wenna"
    assert run("profile", "import", wenna, *database).code == 2
    assert run("profile", "import", wenna, *database, "--force").code == 0
    (row,) = run("profile", "list", *database, "--json").data
    folder = run("profile", "show", wenna, "--json").data
    assert (row["name"], row["digest"]) == ("wenna", folder["digest"])
    assert run("profile", "show", "wenna", *database, "--json").data == folder
    assert run("profile", "check", "wenna", *database).out.startswith("wenna: ")
    assert run("profile", "export", "wenna", tmp_path / "back", *database).code == 0
    assert (tmp_path / "back" / "profile.toml").read_bytes() == (wenna / "profile.toml").read_bytes()
    assert run("profile", "remove", "wenna", *database).code == 0
    assert run("profile", "show", "wenna", *database).code == 2


def test_new_stored(run: Run, tmp_path: Path) -> None:
    """A profile can be written to the library at once, and no folder is made; its own place is used where none is named."""
    assert run("profile", "new", "tobin", EXAMPLES / "tobin.json", "--stored", "--tenant", "inn").code == 0
    assert not Path("tobin").exists()
    assert "tobin  tenant inn" in run("profile", "list", "--stored").out
    assert run("profile", "show", "tobin", "--stored", "--json").data["characters"] == ["Tobin Ashgrove"]
    assert run("profile", "new", "tobin", EXAMPLES / "tobin.json", "--stored").code == 2
