"""Completion: a shell gets files, taverns, models, dialects, settings and cards, and nothing heavy is loaded for it."""

import io
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from innkeeper.cli import main
from innkeeper.cli.settings.completion import DIALECT_NAMES, TAVERN_NAMES
from innkeeper.dialects import DIALECTS
from innkeeper.taverns import TAVERNS
from tests.cli.running import Run

CODE = "import sys; sys.argv = ['innkeeper']; from innkeeper.cli import main; sys.exit(main())"


def asked(*words: str) -> dict[str, str]:
    """What a shell puts into the environment to complete the last of these words."""
    return {
        "_INNKEEPER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("innkeeper", *words)),
        "COMP_CWORD": str(len(words)),
    }


def completed(*words: str) -> list[str]:
    """What a shell is offered for the last of these words."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["innkeeper"])
        for name, value in asked(*words).items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    assert (ended.value.code, err.getvalue()) == (0, "")
    out.seek(0)
    return out.read().split()


def test_a_process() -> None:
    """What is asked so is what a shell gets from the program."""
    words = ("build", "--dialect", "open")
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=os.environ | asked(*words), check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.split() == completed(*words) != []


@pytest.fixture
def settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration with names of its own, and a model that is installed."""
    path = tmp_path / "config.toml"
    path.write_text(
        "[aliases.models]\nfast = 'm'\n[aliases.cards]\nwenna = '/w.png'\n[providers]\nmine = 'http://localhost:1'\n"
    )
    (tmp_path / "home" / "models").mkdir(parents=True)
    (tmp_path / "home" / "models" / "tiny.gguf").touch()
    monkeypatch.setenv("INNKEEPER_CONFIG", str(path))
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (("as",), ["plain,ask"]),
        (("ask", "--tav"), ["plain,--tavern"]),
        (("ask", "--tavern", "s"), ["plain,silly", "plain,smart"]),
        (("build", "--dialect", "open"), ["plain,openai", "plain,openai-compatible", "plain,openrouter"]),
        (("ask", "--model", "local:"), ["plain,local:tiny"]),
        (("chat", "--model", "fa"), ["plain,fast"]),
        (("chat", "--model", "mi"), ["plain,mistral:", "plain,mine:"]),
        (("ask", "--base-url", "ol"), ["plain,ollama"]),
        (("ask", "we"), ["file,we", "plain,wenna"]),
        (("build", "--persona", "x"), ["file,x"]),
        (("chat", "--sillytavern", "x"), ["dir,x"]),
        (("config", "set", "tav"), ["plain,tavern"]),
        (("config", "set", "tavern", "s"), ["plain,silly", "plain,smart"]),
        (("config", "set", "dialect", "co"), ["plain,cohere"]),
        (("config", "set", "base_url", "vl"), ["plain,vllm"]),
        (("config", "set", "logging", ""), ["plain,true", "plain,false"]),
        (("config", "set", "persona", "a"), ["file,a"]),
        (("config", "set", "reserve", "1"), []),
        (("config", "set", "nothing", "1"), []),
        (("keys", "set", "op"), ["plain,openai", "plain,openai-responses", "plain,openrouter"]),
        (("completion", "f"), ["plain,fish"]),
        (("library", "te"), ["plain,template"]),
    ],
    ids=" ".join,
)
def test_words(words: tuple[str, ...], offers: list[str]) -> None:
    """A word is completed by what may stand there."""
    assert completed(*words) == offers


@pytest.mark.parametrize("below", ["", "data", "data/default-user"], ids=["the install", "the data", "the user"])
def test_names_in_a_folder(tmp_path: Path, below: str) -> None:
    """What lies in the SillyTavern folder that was named before: presets of all kinds, characters, users."""
    for name in (
        "settings.json",
        "OpenAI Settings/Quiet.json",
        "instruct/Quick.json",
        "characters/Mira.png",
        "QuickReplies/Qx.json",
    ):
        path = tmp_path / "data" / "default-user" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    folder = ("build", "--sillytavern", str(tmp_path / below))
    assert completed(*folder, "--preset", "Q") == ["file,Q", "plain,Quick", "plain,Quiet"]
    assert completed(*folder, "--character", "M") == ["plain,Mira"]
    assert completed(*folder, "--user", "d") == ([] if below.endswith("user") else ["plain,default-user"])
    assert completed("build", "--preset", "Q") == ["file,Q"]
    assert completed("build", "--character", "M") == []


def test_names_are_those_that_there_are() -> None:
    """The names that are listed for completion are those of the registries."""
    assert sorted(TAVERN_NAMES) == sorted(TAVERNS)
    assert sorted(DIALECT_NAMES) == sorted(DIALECTS)


def test_a_broken_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration that cannot be read stops no completion."""
    path = tmp_path / "config.toml"
    path.write_text("[")
    monkeypatch.setenv("INNKEEPER_CONFIG", str(path))
    assert completed("ask", "we") == ["file,we"]


@pytest.mark.parametrize(
    "words",
    [("--help",), ("ask", "--help"), ("chat", "--help"), ("build", "--help"), ("log", "--help"), ("keys", "--help")],
)
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    """Help, and with it completion, loads neither the engine nor what sends: that is what makes it quick."""
    code = f"import sys; from innkeeper.cli import main; main({list(words)!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stderr.split())
    heavy = {
        "msgspec",
        "httpx",
        "rich",
        "sqlite3",
        "tomlkit",
        "innkeeper.prompt.request",
        "innkeeper.taverns",
        "tiktoken",
    }
    assert not loaded & heavy


@pytest.mark.parametrize(
    ("shell", "begins"), [("bash", "_innkeeper"), ("zsh", "#compdef innkeeper"), ("fish", "function")]
)
def test_scripts(run: Run, shell: str, begins: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a script for each shell; without a name it is that of the shell one is in."""
    if shutil.which("bash") is None:
        pytest.skip("click asks bash for its version")
    out = run("completion", shell).out
    assert out.lstrip().startswith(begins)
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    assert run("completion").out == out


def test_an_unknown_shell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that has no script is refused with those that have one."""
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "bash, zsh or fish" in run("completion").err


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_in_bash(run: Run, tmp_path: Path) -> None:
    """The script of bash is taken by bash."""
    path = tmp_path / "completion.sh"
    path.write_text(run("completion", "bash").out)
    bash = shutil.which("bash") or "bash"
    words = [bash, "-c", f"source {path}; complete -p innkeeper"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "_innkeeper_completion" in done.stdout
