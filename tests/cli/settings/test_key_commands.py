"""``innkeeper keys``: a key goes in by a prompt or a pipe, and never comes out but to its provider."""

import sys
from pathlib import Path

import pytest

from innkeeper.cli.app.root import main
from innkeeper.inference import EchoServer
from tests.cli.running import Run
from tests.shared import ROOT

KEY = "sk-lantern-0123456789"
CARD = str(ROOT / "examples" / "wenna.png")


def test_set_list_remove(run: Run) -> None:
    """A key is set, listed by name with what it is for, and removed; nothing that is printed has it."""
    ran = [run("keys", "set", "openrouter", input=KEY), run("keys", "list"), run("keys", "list", "--json")]
    assert [each.code for each in ran] == [0, 0, 0]
    assert ran[0].out.endswith("it is used for https://openrouter.ai/api\n")
    assert ran[1].out.startswith("openrouter: in ")
    assert ran[2].data["keys"][0]["used_for"] == "https://openrouter.ai/api"
    assert all(KEY not in each.out + each.err for each in ran)
    assert run("keys", "remove", "openrouter", "--json").data == {"name": "openrouter", "removed": True}
    assert run("keys", "remove", "openrouter").code == 2
    assert run("keys", "list").out == ""


def test_a_name_of_nobody(run: Run) -> None:
    """A key for what is neither a provider nor a host is kept, with the hint how to say where that is."""
    assert "innkeeper config set providers.mine URL" in run("keys", "set", "mine", input=KEY).out
    assert "used for llm.example.org" in run("keys", "set", "llm.example.org", input=KEY).out
    assert run("keys", "set", "mine", "--json", input=KEY).data["used_for"] == "mine"


def test_asked_without_an_echo(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal it is asked for, twice, and not shown."""
    monkeypatch.setattr("innkeeper.cli.keep.vault._is_terminal", lambda: True)
    shown: list[str] = []

    def typed(prompt: str) -> str:
        shown.append(prompt)
        return KEY

    monkeypatch.setattr("click.termui.hidden_prompt_func", typed)
    assert run("keys", "set", "openrouter").code == 0
    assert len(shown) == 2


def test_a_missing_library_is_said_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody types a key twice that cannot be stored."""
    monkeypatch.setattr("innkeeper.cli.keep.vault._is_terminal", lambda: True)
    monkeypatch.setattr("click.termui.hidden_prompt_func", lambda _: pytest.fail("asked"))
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.delitem(sys.modules, "cryptography", raising=False)
    monkeypatch.setattr("innkeeper.lazy.find_spec", lambda _: None)
    ran = run("keys", "set", "openrouter")
    assert (ran.code, "innkeeper[library]" in ran.err or ".[library]" in ran.err) == (69, True)


def test_never_a_word(run: Run) -> None:
    """A key as a word of the command is refused, and not repeated."""
    ran = run("keys", "set", "openrouter", KEY)
    assert ran.code == 2
    assert KEY not in ran.err


def test_found_by_chat(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored key is sent to its own provider, and no error shows it."""
    with EchoServer(api_key=KEY) as server:
        monkeypatch.setenv("INNKEEPER_CONFIG", str(tmp_path / "config.toml"))
        run("config", "set", "providers.mine", server.base_url)
        run("keys", "set", "mine", input=KEY)
        ran = run("chat", CARD, "--model", "mine:m", input="Hello\n")
        assert (ran.code, server.requests[0].headers["authorization"]) == (0, f"Bearer {KEY}")
        run("keys", "set", "mine", input=f"{KEY}-wrong")
        ran = run("chat", CARD, "--model", "mine:m", input="Hello\n")
        assert ran.code == 69
        assert KEY not in ran.out + ran.err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """The help shows how a key is set."""
    assert main(["keys", "--help"]) == 0
    assert "innkeeper keys set openrouter" in capsys.readouterr().out
