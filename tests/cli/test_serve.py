"""``innkeeper serve``: where it listens, and when it does not start."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.cli.root import main
from innkeeper.service import Settings
from tests.service.programs import Service


def test_starts_and_stops(tmp_path: Path) -> None:
    """It says where it listens, answers with its settings, and ends with 0 when told to stop."""
    (tmp_path / "keys").write_text("from-file\n")
    words = ["--data", str(tmp_path), "--profile", "smarttavern", "--no-python", "--key-file", str(tmp_path / "keys")]
    with Service.command(*words, environment={"INNKEEPER_SERVICE_KEY": "from-env"}) as running:
        url = f"{running.url}/api/modules/api_gateway/info"
        assert httpx.get(url).status_code == 401
        for key in ("from-file", "from-env"):
            config = httpx.get(url, headers={"x-api-key": key}).json()["config"]
            facts = {name: config[name] for name in ("profile", "python", "data", "key")}
            assert facts == {"profile": "smarttavern", "python": False, "data": True, "key": True}
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "no key is set"),  # noqa: S104 - to be refused
        (["--profile", "other"], "unknown profile"),
        (["--data", "/no/such/folder"], "is not there"),
        (["--key-file", "/no/such/file"], "cannot be read"),
        (["--port", "70000"], "--port"),
        (["--max-body", "0"], "--max-body"),
    ],
)
def test_does_not_start(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What it cannot serve safely, or at all, is wrong usage, with a hint."""
    assert main(["serve", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "hint:" in error


@pytest.mark.parametrize(("keys", "words"), [("", "open, for this machine only"), ("k", "every call needs a key")])
def test_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keys: str, words: str) -> None:
    """People are told where it listens and who may call."""
    monkeypatch.setenv("INNKEEPER_SERVICE_KEY", keys)
    seen: list[Settings] = []

    def run(settings: Settings, ready: Any) -> None:
        seen.append(settings)
        ready("http://here")

    monkeypatch.setattr("innkeeper.service.serve", run)
    assert main(["serve", "--cors-origin", "https://a.example", "--max-body", "5", "--time-budget", "2"]) == 0
    assert capsys.readouterr().out == f"Innkeeper listens on http://here ({words}). Ctrl-C stops it.\n"
    assert (seen[0].cors_origins, seen[0].max_body, seen[0].time_budget) == (("https://a.example",), 5, 2.0)
    assert main(["serve", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"listening": "http://here", "open": not keys}
