"""The document's functions as commands: in this process over a database, and at a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import main
from innkeeper.inference.fake import EchoServer, Fault
from tests.service.tasks.served import entered


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """What a command answers as JSON."""
    assert main([*words, "--json"]) == code
    said = capsys.readouterr()
    return json.loads(said.out or said.err)


def test_enhance_here(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The prompt goes to the output, why it is a makeshift to the error stream; with --json all of it."""
    with EchoServer("a red fox in deep snow", "a red fox", Fault.status(500)) as server:
        path = str(entered(tmp_path / "library.db", server))
        assert main(["fn", "enhance-prompt", "a fox", "--database", path]) == 0
        said = capsys.readouterr()
        assert said.out == "a red fox in deep snow\n"
        assert "makeshift: builtin" in said.err
        told = run(capsys, "enhance-prompt", "a fox", "--style", "oil", "--content-mode", "nsfw", "--database", path)
        assert (told["enhanced_prompt"], told["tier"]["effective"]) == ("a red fox", "sfw")
        assert "style" in told["tokens"]["reserved"]
        failed = run(capsys, "enhance-prompt", "a fox", "--database", path, code=69)
        assert failed["error"]["details"]["route_trace"]["steps"]
    run(capsys, "enhance-prompt", "", "--database", path, code=2)
    run(capsys, "enhance-prompt", "a fox", "--strict", "--database", path, code=2)
    modified = run(
        capsys, "enhance-prompt", "in snow", "--reference-mode", "modify", "--base", "a barn", "--database", path
    )
    assert modified["enhanced_prompt"] == "maintain the same subject; in snow"


def test_without_any_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """On a machine without even the embedded model the text stays as it is, flagged; strictly that is an error."""
    path = str(tmp_path / "empty.db")
    told = run(capsys, "enhance-prompt", "a fox", "--database", path)
    assert (told["enhanced_prompt"], told["enhanced"], told["execution"]) == ("a fox", False, "none")
    assert told["enhancement_strategy"] == "no_model_available"
    assert "no_model" in told["reasons"]
    run(capsys, "enhance-prompt", "a fox", "--strict", "--database", path, code=2)


def test_enhance_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A service is asked with the same body; its errors are errors of this house."""
    refused = json.dumps({"success": False, "error": "no", "code": "usage", "hint": "say more"}).encode()
    well = json.dumps({"success": True, "enhanced_prompt": "a red fox", "reasons": []}).encode()
    replies = [(200, well), (400, refused), (502, b"<html>"), (0, b"{}")]
    asked: list[Any] = []

    def exchange(method: str, url: str, headers: Any, **content: Any) -> tuple[int, bytes]:
        asked.append((method, url, content["json"]))
        return replies[len(asked) - 1]

    monkeypatch.setattr("innkeeper.service.client.exchange", exchange)
    words = ("fn", "enhance-prompt", "a fox", "--remote", "http://inn:8050/")
    assert run(capsys, *words)["enhanced_prompt"] == "a red fox"
    sent = {"prompt": "a fox", "jobType": "sdxl_image", "contentType": "sfw"}
    assert asked == [("POST", "http://inn:8050/functions/v1/enhance-prompt", sent)]
    told = run(capsys, *words, code=2)["error"]
    assert (told["message"], told["hint"]) == ("no", "say more")
    run(capsys, *words, code=69)
    run(capsys, *words, code=69)


def test_jobs_and_workers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A picture is queued or made; what fits no model is refused; a worker that is not there is not found."""
    made = run(capsys, "queue-job", "a barn", "--seed", "0", "--width", "64", "--height", "64")
    assert (made["status"], made["seed"], made["model"]) == ("completed", 0, "tiny-seed-picture")
    assert main(["fn", "queue-job", "a barn", "--no-wait", "--input", '{"steps": 3}']) == 0
    assert capsys.readouterr().out.startswith("queued: ")
    run(capsys, "queue-job", "a barn", "--job-type", "odd", code=2)
    run(capsys, "replicate-image", "a barn", code=2)
    run(capsys, "fal-image", "a barn", "--model", "nobody/knows", code=2)
    run(capsys, "fal-image", "a barn", "--input", "[]", code=2)
    run(capsys, "get-active-worker-url", "chat", code=2)
    run(capsys, "get-active-worker-url", "odd", code=2)
