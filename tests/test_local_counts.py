"""Where the model on this machine would answer, every door trims and counts by its vocabulary, and a replay does so, too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.testclient import TestClient

from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.prompt import Plan, ReplayBundle, ReplayError
from innkeeper.service import Settings, create_app
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.surface import Inspector
from innkeeper.taverns import replay
from tests.cli.running import Run, runner
from tests.inference.gguf_files import fact, gguf
from tests.service.inspector.opened import Browser, session_of

NOW: Final = "2026-01-15T12:00:00+00:00"
PROFILE: Final = f"""character = "mira.json"
provider = "local"
model = "tiny"
context_window = 2048
reserve = 60
seed = 7
now = "{NOW}"
"""
MIRA: Final = json.dumps({"name": "Mira", "description": "Mira keeps an inn.", "first_mes": "Hello."})
SAID: Final = tuple(
    {"role": ("assistant", "user")[number % 2], "content": f"Line {number}: " + "fog over the reef, " * 6}
    for number in range(31)
)
"""More than the window holds, by an estimate too; and by the vocabulary, which has bytes alone, several times as much."""

ASKED: Final = {"role": "user", "content": "Is the reef safe?"}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs of the command line, with a model's vocabulary among the installed models, and a profile that it answers."""
    run = runner(monkeypatch, capsys, tmp_path / "home")
    (tmp_path / "home" / "models").mkdir(parents=True)
    facts = {"model": "gpt2", "pre": "smollm", "merges": ["a b"]}
    vocabulary = gguf(fact("general.name", "Tiny"), *(fact(f"tokenizer.ggml.{name}", facts[name]) for name in facts))
    (tmp_path / "home" / "models" / "tiny.gguf").write_bytes(vocabulary)
    (tmp_path / "inn").mkdir()
    (tmp_path / "inn" / "profile.toml").write_text(PROFILE, "utf-8")
    (tmp_path / "inn" / "mira.json").write_text(MIRA, "utf-8")
    lines: list[dict[str, Any]] = [{"user_name": "User", "character_name": "Mira"}]
    lines += [{"name": "Mira", "is_user": said["role"] == "user", "mes": said["content"]} for said in SAID]
    (tmp_path / "evening.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    return run


def command(run: Run, folder: Path) -> Mapping[str, Any]:
    """``innkeeper build``."""
    words = ("--profile", "inn", "--chat", "evening.jsonl", "--message", ASKED["content"])
    facts: Mapping[str, Any] = run("build", *words, "--json").data
    return {**facts["tokens"], "used": facts["tokens"]["total"], "fingerprint": facts["fingerprint"]}


def service(run: Run, folder: Path) -> Mapping[str, Any]:
    """``POST /v1/prompts/build`` of the profile."""
    settings = Settings(profiles=(folder / "inn",), workers=1, grpc_port=None)
    with TestClient(create_app(settings, models=RouteModels(Routes.read())), base_url="http://127.0.0.1") as client:
        facts = client.post("/v1/prompts/build", json={"profile": "inn", "messages": [*SAID, ASKED]}).json()
    assert "tokens" in facts, facts
    return {**facts["tokens"], "fingerprint": facts["fingerprint"]}


def page(run: Run, folder: Path) -> Mapping[str, Any]:
    """The inspector's page, with the profile's files opened."""
    files = {path.name: path.read_bytes() for path in sorted((folder / "inn").iterdir())}
    files["evening.jsonl"] = (folder / "evening.jsonl").read_bytes()
    with Browser(Inspector(session_of(files, settings={"now": NOW, "message": ASKED["content"]}), Access())) as browser:
        facts = browser.json("inspection")
        bundle = ReplayBundle.from_json(browser.get("/v1/inspector/replay").content)
    assert bundle.counter == "local:tiny"
    assert "tokens" in facts, facts
    return {**facts["tokens"], "fingerprint": facts["fingerprint"]}


@pytest.mark.parametrize("door", [command, service, page])
def test_the_models_own_vocabulary_counts(
    run: Run, tmp_path: Path, door: Callable[[Run, Path], Mapping[str, Any]]
) -> None:
    """The sum, the tokenizer's name and the prompt are those of a build that counts by the model's file."""
    wanted, seen = command(run, tmp_path), door(run, tmp_path)
    assert wanted["tokenizer"] == "gguf:tiny"
    assert (seen["used"], seen["reserve" if door is command else "reserved"], seen["window"]) == (
        wanted["total"],
        60,
        2048,
    )
    assert seen["fingerprint"] == wanted["fingerprint"]
    run("config", "set", "model", "openrouter:some/model")
    assert command(run, tmp_path)["fingerprint"] == wanted["fingerprint"]
    (tmp_path / "inn" / "profile.toml").write_text(PROFILE.replace("local", "openrouter"), "utf-8")
    assert command(run, tmp_path)["tokenizer"] != "gguf:tiny"


def test_a_replay_names_its_counter(run: Run, tmp_path: Path) -> None:
    """It gives the same bytes where the model is installed; elsewhere the error says by which counter it was."""
    words = ("--profile", "inn", "--chat", "evening.jsonl", "--message", ASKED["content"])
    assert run("build", *words, "--replay-out", "turn.json").code == 0
    assert run("replay", "turn.json").code == 0
    bundle = ReplayBundle.read("turn.json")
    assert bundle.counter == "local:tiny"
    with pytest.raises(ReplayError) as caught:
        replay(bundle)
    assert "counted by local:tiny" in str(caught.value.hint)
    (tmp_path / "home" / "models" / "tiny.gguf").unlink()
    assert run("replay", "turn.json").code == 65


def test_other_counters_are_no_data() -> None:
    """A program's own counter has no name, and its plan cannot be stored; a usual plan names none."""
    from innkeeper.prompt import BuildRequest, Ports
    from innkeeper.taverns import build
    from innkeeper.tokens.counter import Counter

    request = BuildRequest(message="hi")
    own: Plan = build(request, Ports(token_counter=Counter()))
    assert own.unreplayable == ("token_counter",)
    assert b"counter" not in build(request).replay().to_json()
